"""Datasets from the user's files: CSV and Parquet, with a column to predict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.column_types import looks_like_classes, set_column_types, to_labels, to_targets
from bakeoff.pipeline.stages.dataset.table import Dataset, find_positive_class
from bakeoff.pipeline.stages.dataset.text_file import TextLayout, read_text

TASKS = ("classification", "regression")
LAST = "last"
"""The word for the last column of a file, as a target."""
PLAIN_TEXT = TextLayout()
"""Cells between commas, below a row of names."""


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
    header: bool | None = None,
    names: Sequence[str] = (),
    strip: bool = False,
) -> Dataset:
    """Read a dataset from a CSV or Parquet file; the type of each column is inferred unless it is given.

    Parameters
    ----------
    path : str
        A file whose name ends in ``.parquet``, else text.
    target : str
        The column to predict; ``last`` is the last one, unless a column has that name.
    task : {"classification", "regression"}, optional
        By default, text, Booleans and integers with at most 20 distinct values are classes.
    positive : str, optional
        The positive one of two classes; by default the last in sorted order.
    numeric, nominal : sequence of str
        Columns of which the type is given.
    drop : sequence of str
        Columns to leave out.
    groups : str, optional
        The column that says which rows belong together; it is not a feature.
    separator, header, names, strip
        How a text file holds its table; see `TextLayout`.

    Raises
    ------
    UserError
        The file or a column does not exist, there are no rows, or a target is missing.
    """
    file = Path(path).expanduser()
    frame = read_file(file, TextLayout(separator, header, names, strip), nominal)
    target = _find_target(frame, target)
    _require_listed_columns(frame, {"numeric": numeric, "nominal": nominal, "drop": drop})
    _require_column(frame, "target", target)
    if groups is not None:
        _require_column(frame, "groups", groups)
    if target in drop or target == groups or groups in drop:
        raise UserError(
            f"dataset.target={target!r}, dataset.groups={groups!r} and dataset.drop={list(drop)} name a column twice; "
            "each column may have one role only."
        )
    if task not in TASKS and task is not None:
        raise UserError(f"dataset.task={task!r} is not a task. {did_you_mean(str(task), TASKS)}")
    target_column = frame.pop(target)
    _require_full_target(target_column, target, file)
    group_codes = None if groups is None else _encode_groups(frame.pop(groups))
    X = set_column_types(frame.drop(columns=list(drop)), numeric, nominal)
    if X.shape[1] == 0:
        raise UserError(f"dataset.path={file.name} has no column left to learn from besides {target!r}.")
    if task is None:
        task = "classification" if looks_like_classes(target_column) else "regression"
    y = to_labels(target_column) if task == "classification" else to_targets(target_column, target)
    return Dataset(
        name=file.stem,
        X=X,
        y=y,
        task=task,
        target=target,
        positive=find_positive_class(positive, y, task),
        groups=group_codes,
        source=str(file.resolve()),
    )


def read_file(file: Path, layout: TextLayout = PLAIN_TEXT, nominal: Sequence[str] = ()) -> pd.DataFrame:
    """Read a Parquet file, or a text file.

    Parameters
    ----------
    file : Path
        A name that ends in ``.parquet``, else text.
    layout : TextLayout
        How a text file holds its table.
    nominal : sequence of str
        Columns whose cells remain text as the file spells them: 007 is not 7.

    Raises
    ------
    UserError
        The file does not exist, or holds no table.
    """
    require_file(file)
    is_text = file.suffix != ".parquet"
    if not is_text and not layout.has_names:
        raise UserError(f"dataset.header=false is for text, but dataset.path={str(file)!r} is Parquet and has names.")
    try:
        frame = read_text(file, layout, nominal) if is_text else pd.read_parquet(file)
    except pd.errors.EmptyDataError:
        needed = "a row of column names and rows of data" if layout.has_names else "rows of data"
        raise UserError(f"dataset.path={str(file)!r} is empty; it needs {needed}.") from None
    except (pd.errors.ParserError, UnicodeDecodeError, ValueError, OSError) as error:
        raise UserError(f"dataset.path={str(file)!r} cannot be read as a table: {error}") from error
    if frame.empty:
        raise UserError(f"dataset.path={str(file)!r} has column names but no rows.")
    return frame


def require_file(file: Path) -> None:
    """Raise UserError for a path at which there is no file."""
    if not file.is_file():
        raise UserError(
            f"dataset.path={str(file)!r} is not a file (looked in {Path.cwd()}); give the path of a CSV file."
        )


def _find_target(frame: pd.DataFrame, target: str) -> str:
    """Return the name of the target's column."""
    columns = [str(column) for column in frame.columns]
    return columns[-1] if target == LAST and LAST not in columns else target


def _require_listed_columns(frame: pd.DataFrame, lists: dict[str, Sequence[str]]) -> None:
    for key, names in lists.items():
        if isinstance(names, str):
            raise UserError(f"dataset.{key}={names!r} must be a list of columns: dataset.{key}=[{names}].")
        for name in names:
            _require_column(frame, key, name)


def _require_column(frame: pd.DataFrame, key: str, name: str) -> None:
    columns = [str(column) for column in frame.columns]
    if name not in columns:
        raise UserError(f"dataset.{key}={name!r} is not a column of the file. {did_you_mean(str(name), columns)}")


def _require_full_target(column: pd.Series, name: str, file: Path) -> None:
    n_missing = int(column.isna().sum())
    if n_missing:
        raise UserError(f"dataset.target={name!r} has {n_missing} missing cells in {file.name}; remove those rows.")


def _encode_groups(column: pd.Series) -> np.ndarray:
    """Return the code of each row's group, shape (n,)."""
    n_missing = int(column.isna().sum())
    if n_missing:
        raise UserError(f"dataset.groups={str(column.name)!r} has {n_missing} missing cells; each row needs a group.")
    return np.unique(column.astype(str), return_inverse=True)[1]
