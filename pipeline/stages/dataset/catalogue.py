"""Datasets of openml.org, by name or number, fetched and cached by scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
    bunch, notes = _fetch(query)
    details = bunch["details"]
    frame = bunch["frame"]
    if frame is None:
        raise UserError(f"the dataset {details['name']!r} of OpenML is sparse, which is not read.")
    known = bunch["target_names"]
    target = _choose_target(known, target)
    others = [each for each in known if each != target] if target in known else []
    if others:
        # The other targets would reveal the chosen one.
        frame = frame.drop(columns=others)
        notes.append(f"The other targets that OpenML names are left out: {', '.join(map(repr, others))}.")
    name, version = details["name"], details["version"]
    origin = f"OpenML: {name}, version {version}, id {details['id']}"
    return make_source(frame, str(name), origin, [f"Version {version} is read.", *notes]), target


def _choose_target(known: Sequence[str], wanted: str | None) -> str:
    """Return the column to predict; raises UserError if OpenML names no target or several, and the user none."""
    if wanted is None and len(known) != 1:
        named = f"{len(known)} targets: {', '.join(known)}" if known else "no target"
        raise UserError(f"OpenML names {named}; choose a column with dataset.target=NAME.")
    return known[0] if wanted is None else wanted


def _fetch(query: OpenmlQuery) -> tuple[Any, list[str]]:
    """Return the response of OpenML, and its warnings."""
    from sklearn.datasets import fetch_openml

    version = "active" if query.version is None else query.version
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            # The other parser of scikit-learn cuts cells at a % and fails on values such as 0 and 1 with pandas 3.
            bunch = fetch_openml(
                query.name, version=version, data_id=query.id, data_home=query.data_home, parser="liac-arff",
                as_frame="auto",
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            given = f"dataset.name={query.name!r}" if query.id is None else f"dataset.id={query.id!r}"
            raise UserError(
                f"{given} cannot be read from OpenML: {reason}. A file that was downloaded before is read with "
                "dataset=file."
            ) from error
    return bunch, [" ".join(str(warning.message).split()) for warning in caught]
