"""Datasets by name: scikit-learn's datasets, generated points, and datasets from openml.org."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.table import Dataset, find_positive_class

if TYPE_CHECKING:
    from bakeoff.pipeline.stages.dataset.source import Source

BUNDLED = ("iris", "wine", "breast_cancer", "digits", "diabetes")


def load_bundled(name: str, positive: str | None = None) -> Dataset:
    """Load a dataset that comes with scikit-learn; codes of classes are replaced by the names of the classes.

    Parameters
    ----------
    name : {"iris", "wine", "breast_cancer", "digits", "diabetes"}
    positive : str, optional
        The positive class if there are two; by default the last in sorted order.
    """
    from sklearn import datasets

    if name not in BUNDLED:
        raise UserError(f"dataset.name={name!r} is not bundled. {did_you_mean(str(name), BUNDLED)}")
    bunch: dict[str, np.ndarray] = getattr(datasets, f"load_{name}")()
    features = [str(feature) for feature in bunch["feature_names"]]
    if name == "diabetes":
        task = "regression"
        y = bunch["target"].astype(np.float64)  # (n,)
    else:
        task = "classification"
        y = bunch["target_names"].astype(str)[bunch["target"]]  # (n,)
    return Dataset(
        name=name,
        X=pd.DataFrame(bunch["data"], columns=features, dtype=np.float64),
        y=y,
        task=task,
        target="target",
        positive=find_positive_class(positive, y, task),
        source=f"scikit-learn: {name}",
    )


SHAPES: Mapping[str, Mapping[str, Any]] = {
    "moons": {},
    "circles": {"factor": 0.4},
    "blobs": {"centers": [(-1.5, 0.0), (1.5, 0.0), (0.0, 2.0)]},
}
"""Name of generated points -> options of scikit-learn's function, which shuffles the rows."""


def make_points(name: str, rows: int, noise: float, seed: int) -> Dataset:
    """Generate points in the plane, with columns x1 and x2, in classes that no line separates.

    Parameters
    ----------
    name : {"moons", "circles", "blobs"}
        Two half moons, a ring around a disc, or three round clouds.
    rows : int
    noise : float
        Standard deviation around the shape.
    seed : int
        The seed of the points, which do not depend on the experiment's seed.
    """
    from sklearn import datasets

    if str(name) not in SHAPES:
        raise UserError(f"dataset.name={name!r} cannot be generated. {did_you_mean(str(name), SHAPES)}")
    spread = "cluster_std" if name == "blobs" else "noise"
    make = getattr(datasets, f"make_{name}")
    points, codes = make(rows, random_state=seed, **{spread: noise}, **SHAPES[name])  # (n, 2), (n,)
    y = np.array(["A", "B", "C"])[codes]
    return Dataset(
        name=name,
        X=pd.DataFrame(points, columns=["x1", "x2"]),
        y=y,
        task="classification",
        target="class",
        positive=find_positive_class(None, y, "classification"),
        source=f"scikit-learn: make_{name}",
    )


@dataclass(frozen=True)
class OpenmlQuery:
    """A dataset on OpenML.

    Parameters
    ----------
    id : int
        Its number, which identifies a single version.
    data_home : str, optional
        The folder of the cache; by default that of scikit-learn.
    """

    id: int
    data_home: str | None = None


def read_openml(query: OpenmlQuery, target: str | None = None) -> tuple[Source, str]:
    """Read a dataset from OpenML.

    Parameters
    ----------
    query : OpenmlQuery
    target : str, optional
        The column to predict; by default the one specified by OpenML.

    Returns
    -------
    source : Source
    target : str

    Raises
    ------
    UserError
        There is no such dataset, it is sparse, OpenML cannot be reached, or a target must be chosen.
    """
    from bakeoff.pipeline.stages.dataset.source import make_source  # other datasets of this module need no source

    bunch, notes = _fetch(query)
    details = bunch["details"]
    frame = bunch["frame"]
    if frame is None:
        raise UserError(f"the dataset {details['name']!r} of OpenML is sparse, which is not supported.")
    known = bunch["target_names"]
    target = _choose_target(known, target)
    others = [each for each in known if each != target] if target in known else []
    if others:
        # The other targets would reveal the chosen one.
        frame = frame.drop(columns=others)
        notes.append(f"The other targets in OpenML are left out: {', '.join(map(repr, others))}.")
    origin = f"OpenML: {details['name']}, version {details['version']}, id {details['id']}"
    return make_source(frame, str(details["name"]), origin, notes), target


def _choose_target(known: Sequence[str], wanted: str | None) -> str:
    """Return the column to predict; raise UserError if the user names none and OpenML does not name exactly one."""
    if wanted is None and len(known) != 1:
        named = f"{len(known)} targets: {', '.join(known)}" if known else "no target"
        raise UserError(f"OpenML names {named}; choose a column with dataset.target=NAME.")
    return known[0] if wanted is None else wanted


def _fetch(query: OpenmlQuery) -> tuple[Any, list[str]]:
    """Return the response of OpenML, and its warnings."""
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            # scikit-learn's other parser truncates cells at a % and fails on values such as 0 and 1 with pandas 3.
            bunch = fetch_openml(data_id=query.id, data_home=query.data_home, parser="liac-arff", as_frame="auto")
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise UserError(
                f"dataset.id={query.id!r} cannot be read from OpenML: {reason}. Check the id and the connection, or "
                "read a downloaded file with dataset=file."
            ) from error
    return bunch, [" ".join(str(warning.message).split()) for warning in caught]
