"""The target of a source that knows its own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.source import RawTable, unify_types
from bakeoff.pipeline.stages.dataset.typed_table import find_categories


def choose_target(
    frame: pd.DataFrame, known: Sequence[str], wanted: str | None, owner: str
) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Choose the column to predict of a table whose source names one or several targets.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        With the targets among its columns.
    known : sequence of str
        The targets that the source names.
    wanted : str or None
        The column that the user names.
    owner : str
        The source, in a sentence.

    Returns
    -------
    frame : DataFrame of shape (n, d')
        Without the other targets, of which each would give the chosen one away.
    target : str
    notes : tuple of str

    Raises
    ------
    UserError
        The source names no target or several, and the user none.
    """
    if wanted is None and len(known) != 1:
        named = f"{len(known)} targets: {', '.join(known)}" if known else "no target"
        raise UserError(f"{owner} names {named}; choose a column with dataset.target=NAME.")
    target = known[0] if wanted is None else wanted
    if target not in known:
        others = ", ".join(map(repr, known))
        note = (f"The target that {owner} names is a column like the others: {others}.",) if known else ()
        return frame, target, note
    left_out = [name for name in known if name != target]
    if not left_out:
        return frame, target, ()
    note = (f"The other targets that {owner} names are left out: {', '.join(map(repr, left_out))}.",)
    return frame.drop(columns=left_out), target, note


@dataclass(frozen=True)
class OpenmlQuery:
    """A dataset of OpenML.

    Parameters
    ----------
    name : str, optional
        Its name; several versions may have one.
    version : int, optional
        By default the oldest version that is active.
    id : int, optional
        Its number, instead of name and version.
    data_home : str, optional
        The folder of the cache; by default that of scikit-learn.
    """

    name: str | None = None
    version: int | None = None
    id: int | None = None
    data_home: str | None = None

    def __post_init__(self) -> None:
        if (self.name is None) == (self.id is None):
            raise UserError("dataset=openml needs dataset.name or dataset.id, one of them: dataset.id=40945.")
        if self.id is not None and self.version is not None:
            raise UserError(f"dataset.version={self.version} is for dataset.name; dataset.id={self.id} is one version.")
        for key in ("version", "id"):
            value = getattr(self, key)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
                raise UserError(f"dataset.{key}={value!r} must be a whole number.")


def read_openml(query: OpenmlQuery, target: str | None = None) -> tuple[RawTable, str]:
    """Read a dataset of OpenML.

    Parameters
    ----------
    query : OpenmlQuery
    target : str, optional
        The column to predict; by default the one that OpenML names.

    Returns
    -------
    raw : RawTable
    target : str

    Raises
    ------
    UserError
        There is no such dataset, it is sparse, OpenML cannot be reached, or the target is to be chosen.
    """
    bunch, warned = _fetch(query)
    details = bunch["details"]
    if bunch["frame"] is None:
        raise UserError(f"the dataset {details['name']!r} of OpenML is sparse, which is not read.")
    frame, target, target_notes = choose_target(bunch["frame"], bunch["target_names"], target, "OpenML")
    unified, notes = unify_types(_restore_integers(frame))
    name = f"{details['name']}, version {details['version']}, id {details['id']}"
    all_notes = (*_describe_version(query, details), *warned, *_describe_ignored(details), *target_notes, *notes)
    raw = RawTable(unified, str(details["name"]), f"OpenML: {name}", all_notes, find_categories(unified))
    return raw, target


def _describe_version(query: OpenmlQuery, details: Any) -> tuple[str, ...]:
    """Return a sentence about a version that was not asked for by number."""
    if query.id is not None or query.version is not None:
        return ()
    version = details["version"]
    return (f"Version {version} is read, the oldest active one; dataset.version={version} keeps it.",)


def _fetch(query: OpenmlQuery) -> tuple[Any, tuple[str, ...]]:
    """Return the answer of OpenML, and what it warns of."""
    from sklearn.datasets import fetch_openml

    chosen: dict[str, Any] = {"data_id": query.id} if query.id is not None else {"name": query.name}
    if query.version is not None:
        chosen["version"] = query.version
    given = ", ".join(f"dataset.{key}={value!r}" for key in ("name", "version", "id") if (value := getattr(query, key)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            # The other parser of scikit-learn cuts cells at a % and fails on values such as 0 and 1 with pandas 3.
            bunch = fetch_openml(**chosen, data_home=query.data_home, parser="liac-arff", as_frame="auto")
        except (OSError, ValueError) as error:
            said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise UserError(
                f"{given} cannot be read from OpenML: {said}. A file that was downloaded before is read with "
                "dataset=file."
            ) from error
    sentences = (" ".join(str(warning.message).split()) for warning in caught)
    return bunch, tuple(dict.fromkeys(sentence.partition(" Available versions")[0] for sentence in sentences))


def _restore_integers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which whole numbers are integers again; the parser makes all numbers floats."""
    floats = frame.select_dtypes("float64")
    whole = [name for name, column in floats.items() if (column.dropna() % 1 == 0).all() and column.notna().any()]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _describe_ignored(details: Any) -> tuple[str, ...]:
    """Return a sentence about columns that OpenML leaves out."""
    listed: list[str] = []
    for key in ("row_id_attribute", "ignore_attribute"):
        names = details.get(key) or []
        listed.extend([names] if isinstance(names, str) else names)
    if not listed:
        return ()
    return (
        f"OpenML leaves out the columns {', '.join(map(repr, listed))}, which it calls identifiers or to be ignored.",
    )
