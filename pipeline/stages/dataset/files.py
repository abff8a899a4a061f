"""Files of the user's: CSV and Parquet, with a column to predict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.kinds import labels, looks_like_classes, targets, with_kinds
from bakeoff.pipeline.stages.dataset.table import Dataset, positive_class

TASKS = ("classification", "regression")


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
    UserError
        No such file, no rows, no such column, missing targets, or one class only.
    """
    file = Path(path).expanduser()
    frame = read_file(file, separator, nominal)
    for key, names in {"numeric": numeric, "nominal": nominal, "drop": drop}.items():
        if isinstance(names, str):
            raise UserError(f"dataset.{key}={names!r} must be a list of columns: dataset.{key}=[{names}].")
        _require_columns(frame, key, names)
    _require_columns(frame, "target", [target])
    if groups is not None:
        _require_columns(frame, "groups", [groups])
    if target in drop or target == groups or groups in drop:
        raise UserError(
            f"dataset.target={target!r}, dataset.groups={groups!r} and dataset.drop={list(drop)} name a column twice; "
            "each may have one part only."
        )
    if task not in TASKS and task is not None:
        raise UserError(f"dataset.task={task!r} is not a task. {did_you_mean(str(task), TASKS)}")
    y = frame.pop(target)
    if y.isna().any():
        raise UserError(
            f"dataset.target={target!r} has {int(y.isna().sum())} missing cells in {file.name}; remove those rows."
        )
    group_of = _groups(frame.pop(groups)) if groups is not None else None
    X = with_kinds(frame.drop(columns=list(drop)), numeric, nominal)
    if X.shape[1] == 0:
        raise UserError(f"dataset.path={file.name} has no column left to learn from beside {target!r}.")
    task = task or ("classification" if looks_like_classes(y) else "regression")
    values = labels(y) if task == "classification" else targets(y, target)
    return Dataset(
        file.stem, X, values, task, target,
        positive=positive_class(positive, values, task), groups=group_of, source=str(file.resolve()),
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
    UserError
        There is no table in the file.
    """
    require_file(file)
    try:
        frame = pd.read_parquet(file) if file.suffix == ".parquet" else _read_text(file, separator, nominal)
    except pd.errors.EmptyDataError:
        raise UserError(
            f"dataset.path={str(file)!r} is empty; it needs a row of column names and rows of data."
        ) from None
    except (pd.errors.ParserError, UnicodeDecodeError, ValueError, OSError) as error:
        raise UserError(f"dataset.path={str(file)!r} cannot be read as a table: {error}") from error
    if frame.empty:
        raise UserError(f"dataset.path={str(file)!r} has column names but no rows.")
    return frame


def require_file(file: Path) -> None:
    """Refuse a path that is not a file's."""
    if not file.is_file():
        raise UserError(
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
            raise UserError(f"dataset.{key}={name!r} is not a column of the file. {did_you_mean(str(name), columns)}")


def _groups(column: pd.Series) -> np.ndarray:
    if column.isna().any():
        raise UserError(
            f"dataset.groups={str(column.name)!r} has {int(column.isna().sum())} missing cells; each row needs a group."
        )
    return np.unique(column.astype(str), return_inverse=True)[1]
