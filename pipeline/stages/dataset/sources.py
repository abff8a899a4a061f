"""Rows that need no file of the user's: scikit-learn's, the lectures' tables, and rows that are made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.files import read_table
from bakeoff.pipeline.stages.dataset.table import Dataset, positive_class

TABLES = Path(__file__).parent / "tables"


def bundled(name: str, positive: str | None = None) -> Dataset:
    """Load a dataset that comes with scikit-learn; class codes are replaced by the classes' names.

    Parameters
    ----------
    name : {"iris", "wine", "breast_cancer", "digits", "diabetes"}
    positive : str, optional
        The positive one of two classes; else the last in sorted order.
    """
    from sklearn import datasets

    loaders: dict[str, Callable[..., object]] = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast_cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
        "diabetes": datasets.load_diabetes,
    }
    if name not in loaders:
        raise UserError(f"dataset.name={name!r} is not bundled. {did_you_mean(str(name), loaders)}")
    bunch: dict[str, np.ndarray] = loaders[name]()  # type: ignore[assignment]
    X = pd.DataFrame(bunch["data"], columns=[str(column) for column in bunch["feature_names"]], dtype=np.float64)
    if name == "diabetes":
        y, task = bunch["target"].astype(np.float64), "regression"
    else:
        y, task = bunch["target_names"].astype(str)[bunch["target"]], "classification"
    return Dataset(
        name, X, y, task, "target", positive=positive_class(positive, y, task), source=f"scikit-learn: {name}"
    )


def lecture_table(name: str, target: str, task: str = "classification", positive: str | None = None) -> Dataset:
    """Load one of the small worked tables that come with bakeoff (``pipeline/tables/<name>.csv``)."""
    return read_table(str(TABLES / f"{name}.csv"), target, task=task, positive=positive)


def made(name: str, rows: int, noise: float, seed: int) -> Dataset:
    """Make rows in the plane, columns x1 and x2, of classes that no line separates.

    Parameters
    ----------
    name : {"moons", "circles", "blobs"}
        Two half moons, a ring around a disc, or three round clouds.
    rows : int
    noise : float
        Standard deviation around the shape.
    seed : int
        Of the rows alone: the experiment's seed changes none of them.
    """
    from sklearn import datasets

    spread = {"shuffle": True, "random_state": seed}
    makers: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
        "moons": lambda: datasets.make_moons(rows, noise=noise, **spread),
        "circles": lambda: datasets.make_circles(rows, noise=noise, factor=0.4, **spread),
        "blobs": lambda: datasets.make_blobs(
            rows, centers=[(-1.5, 0.0), (1.5, 0.0), (0.0, 2.0)], cluster_std=noise, **spread
        ),
    }
    if name not in makers:
        raise UserError(f"dataset.name={name!r} is not made here. {did_you_mean(str(name), makers)}")
    table, codes = makers[name]()
    y = np.array(["A", "B", "C"])[codes]
    return Dataset(
        name, pd.DataFrame(table, columns=["x1", "x2"]), y, "classification", "class",
        positive=positive_class(None, y, "classification"), source=f"scikit-learn: make_{name}",
    )  # fmt: skip
