"""Read files by the function for their format, and combine several files of the same form into one table."""

import glob
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.content import DECOMPRESSORS, make_empty_error, strip_compression
from bakeoff.pipeline.stages.dataset.database import find_database
from bakeoff.pipeline.stages.dataset.keys import SIGN_KEYS, FileLayout
from bakeoff.pipeline.stages.dataset.source import Source
from bakeoff.pipeline.stages.dataset.text_file import (
    TEXT_EXTENSIONS,
    TEXT_KEYS,
    read_arff,
    read_text,
    require_several_columns,
)
from bakeoff.pipeline.stages.dataset.typed_table import SHEET_KEYS, read_arrow, read_excel, read_json, read_parquet
from bakeoff.pipeline.text.wording import expand_home, name_first


class Format(NamedTuple):
    """A file format.

    Attributes
    ----------
    name : str
    read : callable
        The function that returns the cells of a file; its `ValueError` becomes part of the error message.
    keys : collection of str
        The keys of a layout that apply to it.
    extensions : tuple of str
    """

    name: str
    read: Callable[[Path, FileLayout], Source]
    keys: Collection[str]
    extensions: tuple[str, ...]


FORMATS: Mapping[str, Format] = {
    extension: each
    for each in (
        Format("a text", read_text, TEXT_KEYS, TEXT_EXTENSIONS),
        Format("Parquet", read_parquet, (), (".parquet", ".pq")),
        Format("Arrow", read_arrow, (), (".arrow", ".feather")),
        Format("ARFF", read_arff, ("encoding",), (".arff",)),
        Format("JSON", read_json, ("encoding",), (".jsonl", ".ndjson", ".json")),
        Format("an Excel workbook", read_excel, SHEET_KEYS, (".xlsx", ".xlsm")),
    )
    for extension in each.extensions
}
"""Extension -> format; extensions of compressed files, such as .gz, are stripped first."""
WILDCARDS = "*?["


def read_file(file: Path, layout: FileLayout) -> Source:
    """Read a file with the function for its extension.

    Parameters
    ----------
    file : Path
    layout : FileLayout

    Raises
    ------
    UserError
        The file does not exist, has another extension, or holds no table; a key does not apply to its format; or two of
        its columns have the same name.
    """
    require_file(file)
    found = find_format(file)
    layout.reject_keys(f"dataset.path={str(file)!r}, which is {found.name}", {*found.keys, *SIGN_KEYS})
    if file.stat().st_size == 0:
        raise make_empty_error(file)
    try:
        source = found.read(file, layout)
    except UserError:
        raise
    except Exception as error:  # damaged files raise errors of many types, some without a message
        reason = str(error) or repr(error)
        raise UserError(
            f"dataset.path={str(file)!r} cannot be read as a table: {reason}; correct the file, or its extension."
        ) from error
    if source.frame.empty:
        raise UserError(
            f"dataset.path={str(file)!r} has column names but no rows; add rows. {' '.join(source.notes)}".rstrip()
        )
    return replace(source, name=strip_compression(file).stem, origin=str(file.resolve()))


def find_format(file: Path) -> Format:
    """Return the file format of an extension; raise UserError if there is none."""
    found = FORMATS.get(strip_compression(file).suffix.lower())
    if found is None:
        extension = f"the extension {file.suffix!r}" if file.suffix else "no extension"
        raise UserError(
            f"dataset.path={str(file)!r}: files with {extension} are not supported. Allowed: {', '.join(FORMATS)}, and "
            f"{', '.join(DECOMPRESSORS)} after one of them; save the table as .csv in the program that reads it, or "
            "with pandas, as in pandas.read_stata('table.dta').to_csv('table.csv', index=False)."
        )
    return found


def require_file(file: Path, key: str = "path") -> None:
    """Raise UserError if there is no file at the path in a key of the dataset."""
    if not file.is_file():
        raise UserError(
            f"dataset.{key}={str(file)!r} is not a file (looked in {Path.cwd()}); give the path of a file with a table."
        )


def read_files(path: str | Sequence[str], test_path: str | Sequence[str] | None, layout: FileLayout) -> Source:
    """Read one file, or several of the same form, with the rows in the order of the files.

    Parameters
    ----------
    path : str or sequence of str
        Paths, or patterns such as ``data/*.csv``, whose files are sorted by name.
    test_path : str or sequence of str, optional
        Paths or patterns of the files with the test rows.
    layout : FileLayout
        The layout of each file.

    Returns
    -------
    Source
        The cells, with the parts of the rows if `test_path` is given.

    Raises
    ------
    UserError
        There is no such file, a file is named twice, or files have different columns or formats.
    """
    train_files = find_files("path", path)
    test_files = [] if test_path is None else find_files("test_path", test_path)
    files = [*train_files, *test_files]
    _require_alike(files)
    tables = [read_file(file, layout) for file in files]
    for table, file in zip(tables, files, strict=True):
        require_several_columns(table, file, layout)
    if len(tables) == 1:
        return tables[0]
    n_more = len(train_files) - 1
    name = f"{tables[0].name}+{n_more}" if n_more > 0 else tables[0].name
    parts = None
    if test_files:
        of_files = ["train"] * len(train_files) + ["test"] * len(test_files)
        parts = np.repeat(of_files, [len(table.frame) for table in tables])  # (n,)
    return replace(_join_tables(tables, files), name=name, parts=parts)


def list_dataset_files(node: Mapping[str, Any]) -> list[Path]:
    """Return the files from which a dataset is read, if they are on this machine.

    Parameters
    ----------
    node : mapping
        The configuration of the dataset.
    """
    files: list[Path] = []
    for key in ("path", "test_path"):
        with suppress(UserError, TypeError):
            files += find_files(key, node.get(key) or [])
    with suppress(UserError):
        files += find_database(str(node.get("url") or ""))
    return files


def find_files(key: str, path: str | Sequence[str]) -> list[Path]:
    """Return the files of a path, a pattern, or a list of both.

    Parameters
    ----------
    key : str
        The key of the dataset, for messages.
    path : str or sequence of str

    Raises
    ------
    UserError
        There is no such file, no file matches the pattern, or the list is empty.
    """
    given = list(path) if isinstance(path, list | tuple) else [path]
    if not given:
        raise UserError(
            f"dataset.{key}=[] names no file; give a path, a pattern such as data/*.csv, or a list of them."
        )
    files = [file for each in given for file in _expand_pattern(key, str(each))]
    for file in files:
        require_file(file, key)
    return files


def _expand_pattern(key: str, text: str) -> list[Path]:
    """Return the file at a path, or the files that match a pattern, sorted by name."""
    file = expand_home(text)
    if file.exists() or {*WILDCARDS}.isdisjoint(text):
        return [file]
    files = sorted(each for each in map(Path, glob.glob(str(file), recursive=True)) if each.is_file())
    if not files:
        raise UserError(f"dataset.{key}={text!r} matches no file (looked in {Path.cwd()}); correct the pattern.")
    return files


def _require_alike(files: Sequence[Path]) -> None:
    """Reject files of different formats, and files named twice, whose rows could be in both training and test."""
    resolved = [file.resolve() for file in files]
    for file, real in zip(files, resolved, strict=True):
        if resolved.count(real) > 1:
            raise UserError(f"{str(file)!r} is named twice by dataset.path and dataset.test_path; name each file once.")
    # Text and typed cells in the same column would not be of the same kind.
    formats = {find_format(file): file for file in files}
    if len(formats) > 1:
        first, second, *_ = formats.values()
        raise UserError(
            f"{first.name} and {second.name} have different formats; save all files of a dataset in one format."
        )


def _join_tables(tables: Sequence[Source], files: Sequence[Path]) -> Source:
    """Return the rows of all tables, with the columns in the order of the first one."""
    names = list(tables[0].frame.columns)
    for table, file in zip(tables, files, strict=True):
        if different := sorted({*names} ^ {*table.frame.columns}):
            raise UserError(
                f"{file.name} does not have the columns of {files[0].name}: only one of them has "
                f"{name_first([*map(repr, different)])}; files of one dataset must have the same columns, in any order."
            )
    frame = pd.DataFrame({name: _join_columns([table.frame[name] for table in tables]) for name in names})
    sizes = ", ".join(f"{file.name} ({len(table.frame)})" for table, file in zip(tables, files, strict=True))
    notes = [f"{len(frame)} rows of {len(files)} files: {sizes}."]
    for table, file in zip(tables, files, strict=True):
        notes += [f"{file.name}: {note}" for note in table.notes]
    origin = ", ".join(table.origin for table in tables)
    in_all = set.intersection(*({*table.declared} for table in tables))
    # All values that any file declares for a column, in the order of their first declaration.
    declared = {name: tuple(dict.fromkeys(chain(*(table.declared[name] for table in tables)))) for name in in_all}
    return replace(tables[0], frame=frame, origin=origin, notes=tuple(notes), declared=declared, characters=None)


def _join_columns(columns: Sequence[pd.Series]) -> pd.Series:
    """Return the cells of all columns; those of different types become objects, because floats would merge codes."""
    is_mixed = len({column.dtype for column in columns}) > 1
    return pd.concat([column.astype(object) if is_mixed else column for column in columns], ignore_index=True)
