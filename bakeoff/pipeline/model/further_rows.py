"""Further rows, read like the training file and converted to the form that a model requires."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bakeoff.pipeline.config.requests import LAYOUT_KINDS
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset import Column, convert, files, numerals, spelling, table
from bakeoff.pipeline.stages.dataset.keys import SIGN_KEYS, ColumnRules, FileLayout
from bakeoff.pipeline.stages.dataset.source import Source


def restore_codes(frame: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    """Return rows in which numbers are replaced by the training codes, such as 007, from which they were read.

    A number is a code if exactly one training value converts to it, and the number itself is not a training value.

    Parameters
    ----------
    frame : DataFrame of shape (m, at least d)
    columns : sequence of Column, of length d
        The columns as described in training.
    """
    for column in columns:
        numbers = {value: str(int(value)) for value in column.values if value.isdecimal()}
        counts = Counter(numbers.values())
        code_of = {number: value for value, number in numbers.items() if counts[number] == 1 and number != value}
        if not code_of:
            continue
        cells = frame[column.name]
        if is_numeric_dtype(cells.dtype) and not is_bool_dtype(cells.dtype):
            spelled = [None if pd.isna(cell) else spelling.spell_cell(cell) for cell in cells]
            codes = [code_of.get(str(cell), cell) for cell in spelled]
            frame = frame.assign(**{column.name: pd.Series(codes, frame.index, dtype=object)})
    return frame


NA_VALUES = "na_values"
LAYOUT_KEYS = tuple(key for key in LAYOUT_KINDS if key != NA_VALUES)


@contextmanager
def hiding_groups() -> Iterator[None]:
    """Omit the group from dataset keys in user errors raised in the block, as the keys are given without it here."""
    try:
        yield
    except UserError as error:
        raise UserError(str(error).replace("dataset.", "")) from None


def read_rows(file: Path, layout: Mapping[str, Any], record: TrainingRecord) -> Source:
    """Read the rows of a file.

    Unnamed columns are matched by position to all training columns, to all but the target, or to the features alone.

    Parameters
    ----------
    file : Path
    layout : mapping of str to object
        Keys of the file, which override those of the training file.
    record : TrainingRecord

    Raises
    ------
    UserError
        The file holds no table, or a key is wrong.
    """
    settled = _make_layout(file, layout, record.dataset_config)
    source = files.read_file(file, settled)
    if settled.has_names:
        return source
    n_columns = source.frame.shape[1]
    everything = [column.name for column in record.columns]
    if n_columns == len(everything):
        return source
    without_target = [column.name for column in record.columns if column.role != table.TARGET]
    for names in (without_target, list(record.features)):
        if n_columns == len(names) and record.dataset_config.get("header") is False:
            return replace(source, frame=source.frame.set_axis(names, axis=1))
    raise UserError(
        f"{file.name} has {n_columns} columns and no header, but the training file has {len(everything)}; add "
        "the other columns, or a header."
    )


def _make_layout(file: Path, layout: Mapping[str, Any], dataset: Mapping[str, Any]) -> FileLayout:
    known = {field.name for field in fields(FileLayout)}
    stored = {key: dataset[key] for key in LAYOUT_KEYS if key in dataset and key in known}
    # Settings for a text file do not apply to rows that arrive as Parquet.
    layout_of_training = stored if _has_format_of_training(file, dataset) else {}
    given = {key: value for key, value in layout.items() if key != NA_VALUES}
    return FileLayout(**{**layout_of_training, **given})


def _has_format_of_training(file: Path, dataset: Mapping[str, Any]) -> bool:
    paths = dataset.get("path")
    path = paths[0] if isinstance(paths, list) and paths else paths
    if not isinstance(path, str):
        return False
    try:
        return files.find_format(Path(path)) is files.find_format(file)
    except UserError:  # the path of a user-defined dataset may be a folder
        return False


def convert_rows(
    record: TrainingRecord, rows: pd.DataFrame, rules: ColumnRules | None = None
) -> convert.ConvertedTable:
    """Convert the columns that a model requires to the kinds that they had in training.

    Parameters
    ----------
    record : TrainingRecord
    rows : DataFrame of shape (m, at least d)
        Text as spelled in a file, or numbers, Booleans, dates and categories. Additional columns are ignored.
    rules : ColumnRules, optional
        The spellings of missing cells and numbers; by default those of training.

    Raises
    ------
    UserError
        There are no rows, or a column is missing, occurs twice, or contains a cell of another kind.
    """
    if not len(rows):
        raise UserError("there are no rows to predict.")
    given = [str(column) for column in rows.columns]
    _require_features(record, given)
    columns = record.feature_columns
    named = restore_codes(rows.set_axis(given, axis=1), columns)
    numbers = {column.name for column in columns if column.kind == table.NUMERIC}
    texts = [name for name in named.select_dtypes(["object", "string"]) if name in numbers]
    known_rules = rules or make_rules(record, {})
    if not texts:
        return convert.convert_like(named, columns, known_rules)
    settled = numerals.settle_numerals(named[texts], known_rules, "the rows")
    return replace(convert.convert_like(named, columns, settled.rules), notes=tuple(settled.notes))


def make_rules(record: TrainingRecord, layout: Mapping[str, Any]) -> ColumnRules:
    """Return the spellings of missing cells and numbers, which default to those of the training rows."""
    keys = {key: layout.get(key, record.dataset_config.get(key)) for key in (NA_VALUES, *SIGN_KEYS)}
    return ColumnRules(**keys, units={column.name: column.unit for column in record.columns if column.unit})


def _require_features(record: TrainingRecord, given: list[str]) -> None:
    counts = Counter(given)
    for name in record.features:
        if counts[name] > 1:
            raise UserError(f"the rows have {counts[name]} columns named {name!r}; the model needs one.")
        if not counts[name]:
            found = did_you_mean(name, given).replace("Allowed:", "The columns are")
            raise UserError(f"the rows have no column {name!r}, which the model needs. {found}")
