"""The rows of a file that is read as the one of the training rows was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.requests import LAYOUT_KINDS
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset import ColumnRules, FileLayout, Source, count_columns, read_file
from bakeoff.pipeline.stages.dataset.files import find_reader

NA_VALUES = "na_values"
LAYOUT_KEYS = tuple(key for key in LAYOUT_KINDS if key != NA_VALUES)


@contextmanager
def hiding_groups() -> Iterator[None]:
    """Write keys of a dataset without its group in the errors of the user in the block, as they are given here."""
    try:
        yield
    except UserError as error:
        raise UserError(str(error).replace("dataset.", "")) from None


def read_rows(file: Path, layout: Mapping[str, Any], record: TrainingRecord) -> Source:
    """Read the rows of a file.

    Parameters
    ----------
    file : Path
    layout : mapping of str to object
        Keys of the file, which count before those of the training file.
    record : TrainingRecord

    Raises
    ------
    UserError
        The file holds no table, or a key is wrong.
    """
    settled = _make_layout(file, layout, record.dataset_config)
    return read_file(file, settled if settled.has_names or "names" in layout else _name_columns(settled, file, record))


def make_rules(layout: Mapping[str, Any], dataset: Mapping[str, Any]) -> ColumnRules:
    """Return which spellings count as missing cells: those that are given, else those of training.

    Parameters
    ----------
    layout : mapping of str to object
        As for `read_rows`.
    dataset : mapping
        The configuration of the dataset of the training rows.
    """
    return ColumnRules(na_values=layout.get(NA_VALUES, dataset.get(NA_VALUES)))


def _make_layout(file: Path, layout: Mapping[str, Any], dataset: Mapping[str, Any]) -> FileLayout:
    known = {field.name for field in fields(FileLayout)}
    stored = {key: dataset[key] for key in LAYOUT_KEYS if key in dataset and key in known}
    # What was said of a text file does not apply to rows that arrive as Parquet.
    layout_of_training = stored if _has_format_of_training(file, dataset) else {}
    given = {key: value for key, value in layout.items() if key != NA_VALUES}
    return FileLayout(**{**layout_of_training, **given})


def _has_format_of_training(file: Path, dataset: Mapping[str, Any]) -> bool:
    paths = dataset.get("path")
    path = paths[0] if isinstance(paths, list) and paths else paths
    if not isinstance(path, str):
        return False
    try:
        return find_reader(Path(path)) is find_reader(file)
    except UserError:  # the path of somebody's own dataset may be a folder
        return False


def _name_columns(layout: FileLayout, file: Path, record: TrainingRecord) -> FileLayout:
    """Return the layout of a file without names, with the names that its columns had in training.

    By their number they are all columns of the training file, all but the target, or the features alone, in order.

    Raises
    ------
    UserError
        They are none of these, so that it is not known which is which.
    """
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
