"""Preprocessing tried on made tables: the columns that it returns, its rows, its file, and its own steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import clone

from bakeoff.pipeline.config.targets import KNOWN_PACKAGES
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.part_check.conformance import check_conformance
from bakeoff.pipeline.part_check.finding import NOTE, OK, WRONG, Finding, describe_error
from bakeoff.pipeline.part_check.made_tables import (
    CLASSIFICATION,
    MadeTable,
    leave_cells_out,
    make_mixed,
    make_numbers,
)
from bakeoff.pipeline.part_check.part import Part

FURTHER_SEED = 1
N_FEW_ROWS = 7
NEW_VALUE = "violet"
MAKERS: Mapping[str, Callable[..., MadeTable]] = {
    "numeric": make_numbers,
    "mixed": make_mixed,
}
"""Each kind of table -> the function that makes one of a task."""


@dataclass(frozen=True)
class Tried:
    """A transformer that was fitted on a table, and what it makes of further rows.

    Attributes
    ----------
    made : MadeTable
    fitted : transformer
    further : DataFrame of shape (m, d)
        Rows that it was not fitted on.
    prepared : DataFrame of shape (m, k)
        The same, transformed.
    """

    made: MadeTable
    fitted: Any
    further: pd.DataFrame
    prepared: pd.DataFrame


def check_tables(part: Part) -> list[Finding]:
    """Require that it takes one of the made tables, and say what it returns for each."""
    findings = []
    first_error = None
    for name, make in MAKERS.items():
        try:
            tried = _try_table(part, make(CLASSIFICATION), make(CLASSIFICATION, seed=FURTHER_SEED).X)
        except Exception as error:  # the code is the user's
            first_error = first_error or error
            findings.append(Finding(NOTE, name, f"refused: {describe_error(error)}"))
            continue
        text = f"{tried.further.shape[1]} columns become {tried.prepared.shape[1]}"
        findings.append(Finding(OK, name, text))
    if not any(finding.status == OK for finding in findings):
        assert first_error is not None
        raise first_error
    return findings


def check_rows(part: Part) -> list[Finding]:
    """Require that a row is transformed alike alone and among others, and after each fit."""
    tried = _try_any(part)
    few = tried.fitted.transform(tried.further.iloc[:N_FEW_ROWS])
    whole = tried.prepared.iloc[:N_FEW_ROWS]
    if list(few.columns) != list(whole.columns) or not _are_equal(few, whole):
        text = "a row is transformed differently alone and among others, so that test rows would depend on each other"
        return [Finding(WRONG, "rows", f"{text}; learn whatever rows share in fit")]
    again = clone(part.build()).fit(tried.made.X, tried.made.y).transform(tried.further)
    if not _are_equal(again, tried.prepared):
        text = "two fits on the same rows transform differently; draw from random_state alone, and write ${seed}"
        return [Finding(WRONG, "rows", text)]
    return [Finding(OK, "rows", "a row is transformed alike alone and among others, and after each fit")]


def check_cells(part: Part) -> list[Finding]:
    """Say what it makes of missing cells, and of a value that training did not have."""
    made = _try_any(part).made
    gaps = leave_cells_out(made)
    findings = [_describe_attempt(part, gaps, gaps.X, "missing cells")]
    if "colour" in made.X:
        unseen = made.X.copy()
        unseen["colour"] = pd.Categorical([NEW_VALUE] * len(unseen))
        findings.append(_describe_attempt(part, made, unseen, "new values"))
    return findings


def check_saving(part: Part) -> list[Finding]:
    """Require that it can be stored without pickle, and transforms the same when it is read."""
    import skops.io

    from bakeoff.pipeline.model.allowed_types import trusted_types

    tried = _try_any(part)
    dumped = skops.io.dumps(tried.fitted)
    read = skops.io.loads(dumped, trusted=trusted_types(dumped, part.trust))
    if not _are_equal(read.transform(tried.further), tried.prepared):
        return [Finding(WRONG, "saving", "what was stored and read transforms differently")]
    return [Finding(OK, "saving", f"{len(dumped):,} bytes in the skops format, which transform the same")]


def check_own_steps(part: Part) -> list[Finding]:
    """Run scikit-learn's checks on each step that comes neither with bakeoff nor with scikit-learn."""
    findings: list[Finding] = []
    for step in _iterate_own_steps(part.build()):
        findings += check_conformance(clone(step), type(step).__name__)
    return findings


def _iterate_own_steps(transformer: Any) -> Iterator[Any]:
    """Yield the transformers of the user, at any depth, one of each class."""
    nested = [transformer, *transformer.get_params(deep=True).values()]
    by_type = {type(step): step for step in nested if hasattr(step, "fit") and not isinstance(step, type)}
    for kind, step in by_type.items():
        if kind.__module__.split(".")[0] not in KNOWN_PACKAGES:
            yield step


def _try_any(part: Part) -> Tried:
    """Return the transformer fitted on a table of mixed columns, or else on numbers; raises the error of the latter."""
    try:
        return _try_table(part, make_mixed(CLASSIFICATION), make_mixed(CLASSIFICATION, seed=FURTHER_SEED).X)
    except Exception:  # numbers alone may be what it is for
        return _try_table(part, make_numbers(CLASSIFICATION), make_numbers(CLASSIFICATION, seed=FURTHER_SEED).X)


def _try_table(part: Part, made: MadeTable, further: pd.DataFrame) -> Tried:
    """Fit it on a table, and transform rows of another one; raises UserError if what it returns is no such table."""
    transformer = part.build()
    if transformer is None:
        raise UserError("the file has no steps, so that it is preprocessing=none.")
    if not hasattr(transformer, "transform"):
        raise UserError(f"{type(transformer).__name__} has no method transform.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = further.copy()
        fitted = clone(transformer).fit(made.X, made.y)
        prepared = fitted.transform(given)
    if not given.equals(further):
        raise UserError(f"{part.target} changes the table that it is given; work on a copy in transform.")
    if not isinstance(prepared, pd.DataFrame):
        raise UserError(
            f"{part.target} returns {type(prepared).__name__} instead of a table; name it as a step of "
            "bakeoff.pipeline.stages.preprocessing.make_preprocessing."
        )
    if len(prepared) != len(further) or not prepared.index.equals(further.index):
        raise UserError(f"{len(further)} rows became {len(prepared)}, or their index changed.")
    return Tried(made, fitted, further, prepared)


def _describe_attempt(part: Part, made: MadeTable, X: pd.DataFrame, subject: str) -> Finding:
    try:
        prepared = _try_table(part, made, X).prepared
    except Exception as error:  # the code is the user's
        return Finding(NOTE, subject, f"refused: {describe_error(error)}")
    n_missing = int(prepared.isna().to_numpy().sum())
    return Finding(NOTE, subject, f"taken; {n_missing} of {prepared.size} cells are missing afterwards")


def _are_equal(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    try:
        pd.testing.assert_frame_equal(first, second, check_exact=True)
    except AssertionError:
        return False
    return True
