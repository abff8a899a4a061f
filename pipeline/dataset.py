"""Datasets: a table of numeric and nominal columns, a target, and what is to be learned from it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from pipeline.refusal import Refusal, did_you_mean

TABLES = Path(__file__).parent / "tables"
TASKS = ("classification", "regression")
MOST_CLASSES = 20
"""A target of whole numbers with no more distinct values than this is taken for classes."""


@dataclass(frozen=True)
class Dataset:
    """n rows of d features with a target.

    Attributes
    ----------
    name : str
        For a file, its name without the ending.
    X : DataFrame of shape (n, d)
        Numeric columns are float64, nominal columns categorical; a missing cell is NaN in both.
    y : ndarray of shape (n,)
        Class labels, or float64 targets.
    task : {"classification", "regression"}
    target : str
        The target's name.
    positive : object or None
        Of two classes the one that precision, recall and F1 are about; None for more classes and for regression.
    groups : ndarray of shape (n,) or None
        Rows of one group must not be torn between training and test.
    source : str
        Where the rows came from.
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    task: str
    target: str
    positive: object | None = None
    groups: np.ndarray | None = None
    source: str = ""

    @cached_property
    def classes(self) -> np.ndarray:
        """The class labels, sorted: shape (c,)."""
        return np.unique(self.y)

    @property
    def nominal(self) -> list[str]:
        """The names of the nominal columns."""
        return [str(name) for name, dtype in self.X.dtypes.items() if isinstance(dtype, pd.CategoricalDtype)]

    def digest(self) -> str:
        """Fingerprint task, names, kinds, groups and every cell, in order: 16 hexadecimal digits."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        fingerprint = hashlib.blake2b(f"{self.task}\0{self.positive}\0".encode(), digest_size=8)
        groups = [] if self.groups is None else [("groups", self.groups)]  # they decide the splits
        columns: list[tuple[Any, Any]] = [*self.X.items(), (self.target, self.y), *groups]
        for name, column in columns:
            fingerprint.update(f"{name}\0{column.dtype.kind if hasattr(column.dtype, 'kind') else ''}\0".encode())
            for cells in _cells(column):
                fingerprint.update(cells)
        return fingerprint.hexdigest()

    def describe(self) -> str:
        """Say size, kinds of columns and target in a line."""
        n, d = self.X.shape
        counts = ((d - len(self.nominal), "numeric"), (len(self.nominal), "nominal"))
        kinds = " and ".join(f"{count} {kind}" for count, kind in counts if count)
        goal = f"{len(self.classes)} classes" if self.task == "classification" else "regression"
        positive = "" if self.positive is None else f" (positive: {self.positive})"
        return f"{self.name}: {n} rows, {kinds} column{'s' if d > 1 else ''}, {goal} of {self.target}{positive}"


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
        raise Refusal(f"dataset.name={name!r} is not bundled. {did_you_mean(str(name), loaders)}")
    bunch: dict[str, np.ndarray] = loaders[name]()  # type: ignore[assignment]
    X = pd.DataFrame(bunch["data"], columns=[str(column) for column in bunch["feature_names"]], dtype=np.float64)
    if name == "diabetes":
        y, task = bunch["target"].astype(np.float64), "regression"
    else:
        y, task = bunch["target_names"].astype(str)[bunch["target"]], "classification"
    return Dataset(name, X, y, task, "target", positive=_positive(positive, y, task), source=f"scikit-learn: {name}")


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
        raise Refusal(f"dataset.name={name!r} is not made here. {did_you_mean(str(name), makers)}")
    table, codes = makers[name]()
    y = np.array(["A", "B", "C"])[codes]
    return Dataset(
        name, pd.DataFrame(table, columns=["x1", "x2"]), y, "classification", "class",
        positive=_positive(None, y, "classification"), source=f"scikit-learn: make_{name}",
    )  # fmt: skip


def read_table(
    path: str,
    target: str,
    task: str | None = None,
    positive: str | None = None,
    numeric: Sequence[str] = (),
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    groups: str | None = None,
    separator: str = ",",
) -> Dataset:
    """Read a CSV or Parquet file; the kind of each column is inferred unless it is named.

    Parameters
    ----------
    path : str
        A file ending in ``.parquet``, else text with one row of column names.
    target : str
        The column to predict.
    task : {"classification", "regression"}, optional
        Else text, truth values and whole numbers of at most 20 distinct values are classes.
    positive : str, optional
        The positive one of two classes; else the last in sorted order.
    numeric, nominal, drop : sequence of str
        Columns whose kind is other than it looks, and columns to leave out.
    groups : str, optional
        The column that says which rows belong together; it is not a feature.
    separator : str
        Between cells of a text file.

    Raises
    ------
    Refusal
        No such file, no rows, no such column, missing targets, or one class only.
    """
    file = Path(path).expanduser()
    frame = read_file(file, separator, nominal)
    for key, names in {"numeric": numeric, "nominal": nominal, "drop": drop}.items():
        if isinstance(names, str):
            raise Refusal(f"dataset.{key}={names!r} must be a list of columns: dataset.{key}=[{names}].")
        _require_columns(frame, key, names)
    _require_columns(frame, "target", [target])
    if groups is not None:
        _require_columns(frame, "groups", [groups])
    if target in drop or target == groups or groups in drop:
        raise Refusal(
            f"dataset.target={target!r}, dataset.groups={groups!r} and dataset.drop={list(drop)} name a column twice; "
            "each may have one part only."
        )
    if task not in TASKS and task is not None:
        raise Refusal(f"dataset.task={task!r} is not a task. {did_you_mean(str(task), TASKS)}")
    y = frame.pop(target)
    if y.isna().any():
        raise Refusal(
            f"dataset.target={target!r} has {int(y.isna().sum())} missing cells in {file.name}; remove those rows."
        )
    group_of = _groups(frame.pop(groups)) if groups is not None else None
    X = with_kinds(frame.drop(columns=list(drop)), numeric, nominal)
    if X.shape[1] == 0:
        raise Refusal(f"dataset.path={file.name} has no column left to learn from beside {target!r}.")
    task = task or ("classification" if _looks_like_classes(y) else "regression")
    values = _labels(y) if task == "classification" else _targets(y, target)
    return Dataset(
        file.stem, X, values, task, target,
        positive=_positive(positive, values, task), groups=group_of, source=str(file.resolve()),
    )  # fmt: skip


def read_file(file: Path, separator: str = ",", nominal: Sequence[str] = ()) -> pd.DataFrame:
    """Read a Parquet file, or text with one row of column names.

    Parameters
    ----------
    file : Path
        Ending in ``.parquet``, else text.
    separator : str
        Between cells of a text file.
    nominal : sequence of str
        Columns whose cells stay text as the file spells them: 007 is not 7.

    Raises
    ------
    Refusal
        There is no table in the file.
    """
    require_file(file)
    try:
        frame = pd.read_parquet(file) if file.suffix == ".parquet" else _read_text(file, separator, nominal)
    except pd.errors.EmptyDataError:
        raise Refusal(
            f"dataset.path={str(file)!r} is empty; it needs a row of column names and rows of data."
        ) from None
    except (pd.errors.ParserError, UnicodeDecodeError, ValueError, OSError) as error:
        raise Refusal(f"dataset.path={str(file)!r} cannot be read as a table: {error}") from error
    if frame.empty:
        raise Refusal(f"dataset.path={str(file)!r} has column names but no rows.")
    return frame


def require_file(file: Path) -> None:
    """Refuse a path that is not a file's."""
    if not file.is_file():
        raise Refusal(
            f"dataset.path={str(file)!r} is not a file (looked in {Path.cwd()}); give the path of a CSV file."
        )


def _read_text(file: Path, separator: str, nominal: Sequence[str]) -> pd.DataFrame:
    """Read numbers as numbers and all else as it is spelled; pandas alone would make True of true in some files."""
    frame = pd.read_csv(file, sep=separator, dtype=dict.fromkeys(nominal, str), low_memory=False)
    truths = [i for i, (_, column) in enumerate(frame.items()) if is_bool_dtype(column) or column.dtype == object]
    if truths:
        plain = isinstance(frame.index, pd.RangeIndex)  # else pandas took the first column, which has no name, as index
        again = pd.read_csv(file, sep=separator, dtype=str, usecols=truths if plain else None)
        for name in frame.columns[truths]:
            frame[name] = again[name]
    return frame


def _require_columns(frame: pd.DataFrame, key: str, names: Sequence[str]) -> None:
    columns = [str(column) for column in frame.columns]
    for name in names:
        if name not in columns:
            raise Refusal(f"dataset.{key}={name!r} is not a column of the file. {did_you_mean(str(name), columns)}")


def with_kinds(frame: pd.DataFrame, numeric: Sequence[str] = (), nominal: Sequence[str] = ()) -> pd.DataFrame:
    """Return a table of float64 and categorical columns; kinds are inferred unless a column is named.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
    numeric, nominal : sequence of str
        Columns whose kind is other than it looks.

    Raises
    ------
    Refusal
        A column is said to be numeric and is not.
    """
    columns: dict[str, np.ndarray | pd.Categorical] = {}
    for name, column in frame.items():
        looks_numeric = is_numeric_dtype(column) and not is_bool_dtype(column)
        if name in numeric or (looks_numeric and name not in nominal):
            columns[str(name)] = _as_numbers(column, str(name))
        else:
            columns[str(name)] = _as_category(column)
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def _as_numbers(column: pd.Series, name: str) -> np.ndarray:
    try:
        return np.asarray(pd.to_numeric(column), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise Refusal(f"dataset.numeric names {name!r}, but {error}; correct the cell or take the name out.") from error


def _as_category(column: pd.Series) -> pd.Categorical:
    """Nominal values are text: 1 and "1" in two files must be the same value."""
    text = column.astype("string").astype(object)
    return pd.Categorical(text, categories=sorted(text.dropna().unique()))


def _looks_like_classes(y: pd.Series) -> bool:
    if not is_numeric_dtype(y) or is_bool_dtype(y):
        return True
    return y.nunique() <= MOST_CLASSES and bool((y == y.round()).all())


def _labels(y: pd.Series) -> np.ndarray:
    if is_integer_dtype(y):
        return y.to_numpy(dtype=np.int64)
    return y.astype(str).to_numpy(dtype=str)


def _targets(y: pd.Series, target: str) -> np.ndarray:
    try:
        return y.to_numpy(dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise Refusal(f"dataset.task=regression, but the target {target!r} is not numeric: {error}.") from error


def _groups(column: pd.Series) -> np.ndarray:
    if column.isna().any():
        raise Refusal(
            f"dataset.groups={str(column.name)!r} has {int(column.isna().sum())} missing cells; each row needs a group."
        )
    return np.unique(column.astype(str), return_inverse=True)[1]


def _positive(positive: str | None, y: np.ndarray, task: str) -> object | None:
    if task != "classification":
        return None
    classes = np.unique(y)
    if positive is None:
        return classes[-1] if len(classes) == 2 else None
    named = {str(label): label for label in classes}
    if str(positive) not in named:
        raise Refusal(f"dataset.positive={positive!r} is no class of the target. {did_you_mean(str(positive), named)}")
    return named[str(positive)]


def _cells(column: pd.Series | np.ndarray) -> list[bytes]:
    """Return the bytes of a column of X, or of the array of targets or groups; of nominal cells codes and values."""
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.CategoricalDtype):
        return [column.cat.codes.to_numpy().tobytes(), "\0".join(map(str, column.cat.categories)).encode()]
    cells = np.ascontiguousarray(column)
    if cells.dtype.kind in "fiubU":
        return [cells.dtype.str.encode(), cells.tobytes()]
    return ["\0".join(map(str, column)).encode()]
