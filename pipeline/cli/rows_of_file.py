"""The rows that ``bakeoff predict`` reads: from a file that is read as the one of the training rows was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.config.booleans import read_boolean
from bakeoff.pipeline.errors import UserError

if TYPE_CHECKING:
    from bakeoff.pipeline.model import TrainingRecord
    from bakeoff.pipeline.stages.dataset import ColumnRules, FileLayout, RawTable

LAYOUT_KEYS = (
    "separator",
    "header",
    "names",
    "strip",
    "encoding",
    "decimal",
    "thousands",
    "quote",
    "comment",
    "skip_rows",
    "sheet",
)
"""Keys of a file, as in ``conf/dataset/file.yaml``. Ragged rows are refused, since each row needs its prediction."""
NA_VALUES = "na_values"


def read_rows(file: Path, values: Mapping[str, str], record: TrainingRecord) -> RawTable:
    """Read the rows of a file.

    Parameters
    ----------
    file : Path
    values : mapping of str to str
        Keys of the command line, which count before those of the training file.
    record : TrainingRecord

    Raises
    ------
    UserError
        The file holds no table, or a key is wrong.
    """
    from bakeoff.pipeline.stages.dataset import read_file

    layout = _make_layout(file, values, record.dataset_config)
    return read_file(file, layout if layout.has_names or "names" in values else _name_columns(layout, file, record))


def make_rules(values: Mapping[str, str], dataset: Mapping[str, Any]) -> ColumnRules:
    """Return which spellings count as missing cells: those of the command line, else those of training.

    Parameters
    ----------
    values : mapping of str to str
    dataset : mapping
    """
    from bakeoff.pipeline.stages.dataset import ColumnRules

    given = read_list(values[NA_VALUES]) if NA_VALUES in values else dataset.get(NA_VALUES)
    return ColumnRules(na_values=given)


def _make_layout(file: Path, values: Mapping[str, str], dataset: Mapping[str, Any]) -> FileLayout:
    from bakeoff.pipeline.stages.dataset import FileLayout

    known = {field.name for field in fields(FileLayout)}
    stored = {key: dataset[key] for key in LAYOUT_KEYS if key in dataset and key in known}
    # What was said of a text file does not apply to rows that arrive as Parquet.
    layout_of_training = stored if _has_format_of_training(file, dataset) else {}
    given = {key: _read_value(key, values[key]) for key in LAYOUT_KEYS if key in values}
    return FileLayout(**{**layout_of_training, **given})


def _has_format_of_training(file: Path, dataset: Mapping[str, Any]) -> bool:
    from bakeoff.pipeline.stages.dataset.reading.formats import find_reader

    paths = dataset.get("path")
    path = paths[0] if isinstance(paths, list) and paths else paths
    if not isinstance(path, str):
        return False
    try:
        return find_reader(Path(path)) is find_reader(file)
    except UserError:  # an earlier version read a file of any extension as text
        return False


def _name_columns(layout: FileLayout, file: Path, record: TrainingRecord) -> FileLayout:
    """Return the layout of a file without names, with the names that its columns had in training.

    By their number they are all columns of the training file, all but the target, or the features alone, in order.

    Raises
    ------
    UserError
        They are none of these, so that it is not known which is which.
    """
    from bakeoff.pipeline.stages.dataset import count_columns

    n_columns = count_columns(file, layout)
    features = list(record.features)
    everything = [column.name for column in record.columns]
    without_target = [column.name for column in record.columns if column.role != "target"]
    for names in (everything, without_target, features):
        if len(names) == n_columns:
            return replace(layout, names=names)
    raise UserError(
        f"{file.name} has no row of names and {n_columns} columns; it needs the {len(everything)} columns of the "
        f"training file, the {len(without_target)} without the target, or the features alone ({', '.join(features)}), "
        "or names=[…]."
    )


def _read_value(key: str, text: str) -> Any:
    if text == "null":
        return None
    if key == "names":
        return read_list(text)
    if key in ("header", "strip"):
        return read_boolean(key, text)
    if key == "skip_rows" and text.isdigit():
        return int(text)
    return text


def read_list(text: str) -> list[str]:
    """Return the items between brackets and commas, without quotation marks around them."""
    items = [item.strip() for item in text.strip().removeprefix("[").removesuffix("]").split(",")]
    return [item.strip("'\"") for item in items if item]
