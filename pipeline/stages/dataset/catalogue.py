"""Datasets of openml.org, by name or number, fetched and cached by scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.source import Source, make_source


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


def read_openml(query: OpenmlQuery, target: str | None = None) -> tuple[Source, str]:
    """Read a dataset of OpenML.

    Parameters
    ----------
    query : OpenmlQuery
    target : str, optional
        The column to predict; by default the one that OpenML names.

    Returns
    -------
    source : Source
    target : str

    Raises
    ------
    UserError
        There is no such dataset, it is sparse, OpenML cannot be reached, or the target is to be chosen.
    """
    bunch, warned = _fetch(query)
    details = bunch["details"]
    name, version = details["name"], details["version"]
    frame = bunch["frame"]
    if frame is None:
        raise UserError(f"the dataset {name!r} of OpenML is sparse, which is not read.")
    notes = [*warned, *_describe_ignored(details)]
    if query.id is None and query.version is None:
        notes.insert(0, f"Version {version} is read, the oldest active one; dataset.version={version} keeps it.")
    known = bunch["target_names"]
    target = _choose_target(known, target)
    others = [each for each in known if each != target]
    if others:
        listed = ", ".join(map(repr, others))
        is_known = target in known
        # The other targets would reveal the chosen one.
        frame = frame.drop(columns=others) if is_known else frame
        left_out = f"The other targets that OpenML names are left out: {listed}."
        notes.append(left_out if is_known else f"The target that OpenML names is a column like the others: {listed}.")
    origin = f"OpenML: {name}, version {version}, id {details['id']}"
    return make_source(_restore_integers(frame), str(name), origin, notes), target


def _choose_target(known: Sequence[str], wanted: str | None) -> str:
    """Return the column to predict; raises UserError if OpenML names no target or several, and the user none."""
    if wanted is None and len(known) != 1:
        named = f"{len(known)} targets: {', '.join(known)}" if known else "no target"
        raise UserError(f"OpenML names {named}; choose a column with dataset.target=NAME.")
    return known[0] if wanted is None else wanted


def _fetch(query: OpenmlQuery) -> tuple[Any, list[str]]:
    """Return the response of OpenML, and its warnings."""
    from sklearn.datasets import fetch_openml

    given = {key: value for key in ("name", "version", "id") if (value := getattr(query, key)) is not None}
    chosen = {"data_id" if key == "id" else key: value for key, value in given.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            # The other parser of scikit-learn cuts cells at a % and fails on values such as 0 and 1 with pandas 3.
            bunch = fetch_openml(**chosen, data_home=query.data_home, parser="liac-arff", as_frame="auto")
        except (OSError, ValueError) as error:
            said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            keys = ", ".join(f"dataset.{key}={value!r}" for key, value in given.items())
            raise UserError(
                f"{keys} cannot be read from OpenML: {said}. A file that was downloaded before is read with "
                "dataset=file."
            ) from error
    sentences = (" ".join(str(warning.message).split()) for warning in caught)
    return bunch, list(dict.fromkeys(sentence.partition(" Available versions")[0] for sentence in sentences))


def _restore_integers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which whole numbers are integers again; the parser makes all numbers floats."""
    floats = frame.select_dtypes("float64")
    whole = [name for name, column in floats.items() if (column.dropna() % 1 == 0).all() and column.notna().any()]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _describe_ignored(details: Any) -> list[str]:
    """Return a sentence about columns that OpenML leaves out."""
    given = [details.get(key) or [] for key in ("row_id_attribute", "ignore_attribute")]
    names = [repr(name) for each in given for name in ([each] if isinstance(each, str) else each)]
    if not names:
        return []
    return [f"OpenML leaves out the columns {', '.join(names)}, which it calls identifiers or to be ignored."]
