"""Datasets that need no file from the user: scikit-learn's, the tables of the lectures, and generated points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.table import Dataset, find_positive_class

TABLES = Path(__file__).parent / "tables"
BUNDLED = ("iris", "wine", "breast_cancer", "digits", "diabetes")


def load_bundled(name: str, positive: str | None = None) -> Dataset:
    """Load a dataset that comes with scikit-learn; codes of classes are replaced by the names of the classes.

    Parameters
    ----------
    name : {"iris", "wine", "breast_cancer", "digits", "diabetes"}
    positive : str, optional
        The positive one of two classes; by default the last in sorted order.
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


def load_lecture_table(name: str, target: str, task: str = "classification", positive: str | None = None) -> Dataset:
    """Load one of the small worked examples that come with bakeoff.

    Parameters
    ----------
    name : str
        Of a file in ``pipeline/stages/dataset/tables``, without its ending.
    target : str
        The column to predict.
    task : {"classification", "regression"}
    positive : str, optional
        The positive one of two classes; by default the last in sorted order.
    """
    names = sorted(table.stem for table in TABLES.glob("*.csv"))
    if name not in names:
        raise UserError(f"dataset.name={name!r} is not a table of the lecture. {did_you_mean(str(name), names)}")
    from bakeoff.pipeline.stages.dataset.loaders import read_table  # what reads files is large

    dataset = read_table(str(TABLES / f"{name}.csv"), target, task=task, positive=positive)
    # These tables are known to be correct, so a run reports nothing about their columns.
    return replace(dataset, columns=(), notes=())


def make_points(name: str, rows: int, noise: float, seed: int) -> Dataset:
    """Generate points in the plane, with columns x1 and x2, of classes that no line separates.

    Parameters
    ----------
    name : {"moons", "circles", "blobs"}
        Two half moons, a ring around a disc, or three round clouds.
    rows : int
    noise : float
        Standard deviation around the shape.
    seed : int
        Of the points alone: the experiment's seed does not change them.
    """
    from sklearn import datasets

    shared = {"shuffle": True, "random_state": seed}
    centers = [(-1.5, 0.0), (1.5, 0.0), (0.0, 2.0)]
    generators: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
        "moons": lambda: datasets.make_moons(rows, noise=noise, **shared),
        "circles": lambda: datasets.make_circles(rows, noise=noise, factor=0.4, **shared),
        "blobs": lambda: datasets.make_blobs(rows, centers=centers, cluster_std=noise, **shared),
    }
    if str(name) not in generators:
        raise UserError(f"dataset.name={name!r} cannot be generated. {did_you_mean(str(name), generators)}")
    is_number = isinstance(noise, int | float) and not isinstance(noise, bool)
    if not is_number or not 0 <= noise < math.inf:
        raise UserError(f"dataset.noise={noise!r} must be a number from 0, the standard deviation of the noise.")
    points, codes = generators[name]()  # (n, 2), (n,)
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
