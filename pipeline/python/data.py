"""The argument ``dataset`` of a call as words; tables are written to files, so that they are datasets like others."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.files import FORMATS
from bakeoff.pipeline.stages.dataset.typed_table import read_frame, require_table
from bakeoff.pipeline.sweep.compose import override_text

FILE_OPTION = "dataset=file"
PASSING_WORDS = ("tracking=none", "dry_run=true")
"""Words of calls that store no reference to the file of a table."""


@dataclass(frozen=True)
class GivenData:
    """The arguments of a call that specify the data.

    Attributes
    ----------
    dataset : str, path, table, or None
        In a sweep also a list of items of one kind, or a mapping of names to tables.
    target : str, Series, array, list, or None
    name : str or None
        The name of the dataset, if it is a table.
    is_sweep : bool
    """

    dataset: Any
    target: Any
    name: str | None
    is_sweep: bool = False

    @property
    def is_named(self) -> bool:
        """Whether the dataset is an option, or is specified by the words of the call."""
        return all(item is None or isinstance(item, str) for item in self.items)

    @property
    def items(self) -> list[Any]:
        """The datasets; a single run has one."""
        is_list = self.is_sweep and isinstance(self.dataset, list | tuple)
        return list(self.dataset) if is_list else [self.dataset]


DataWords = tuple[Sequence[str], Sequence[str]]
"""The words that specify the data, and notes on them."""


@contextmanager
def open_data(given: GivenData, words: Sequence[str]) -> Iterator[DataWords]:
    """Yield the words that specify the data, and notes on them; tables are written to files first.

    A file written for a refused call is removed.

    Parameters
    ----------
    given : GivenData
    words : sequence of str
        The other words of the call. With one of `PASSING_WORDS` the files are deleted after the block.

    Raises
    ------
    UserError
        The data are given twice, or are not a table.
    """
    _require_once(given, words)
    if given.is_named:
        yield list(_name_option(given)), ()
        return
    with ExitStack() as stack:
        folder = FRAMES_FOLDER
        if any(word.lower() in PASSING_WORDS for word in words):
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="bakeoff-")))
        written: list[FrameFile] = []
        try:
            yield _write_data(given, folder, written)
        except UserError:
            for file in written:
                file.discard()
            raise


def _require_once(given: GivenData, words: Sequence[str]) -> None:
    keys = {word.lstrip("+~").split("=")[0] for word in words}
    if given.dataset is not None and "dataset" in keys:
        raise UserError("dataset is given twice, as a word and as an argument; give one of them.")
    if given.target is not None and "dataset.target" in keys:
        raise UserError("target is given twice, as dataset.target and as an argument; give one of them.")
    if given.name is not None and given.is_named:
        raise UserError(f"dataset_name={given.name!r} names a table, and no table was given as dataset.")
    has_target = given.target is not None or "dataset.target" in keys
    if not given.is_named and not has_target:
        raise UserError("target must be given: the column of the table to predict, as in target='y'.")


def _name_option(given: GivenData) -> Iterator[str]:
    """Yield the words of data that are an option; ``target`` is a transformation, as on the command line."""
    names = [item for item in given.items if item is not None]
    for name in names:
        if Path(name).suffix.lower() in FORMATS:
            raise UserError(f"dataset={name!r} is not an option; a file is given as pathlib.Path({name!r}).")
    if names:
        yield f"dataset={','.join(names)}"
    if given.target is None:
        return
    if not isinstance(given.target, str):
        raise UserError(f"target is a {type(given.target).__name__}, which needs a table as dataset.")
    yield f"target={given.target}"


def _write_data(given: GivenData, folder: Path, written: list[FrameFile]) -> DataWords:
    """Write each table, collect its file, and return the words for all of them."""
    paths = []
    target = given.target
    for name, table in _list_tables(given):
        if isinstance(table, os.PathLike):
            paths.append(str(table))
            continue
        if given.target is not None:
            table, target = join_target(table, given.target)
        file = write_frame(table, name, folder)
        written.append(file)
        paths.append(str(file.path))
    words = [FILE_OPTION, f"dataset.path={','.join(map(override_text, paths))}"]
    if target is not None:
        words.append(f"dataset.target={override_text(_require_text(target))}")
    return words, list(dict.fromkeys(note for file in written for note in file.notes))


def _list_tables(given: GivenData) -> list[tuple[str, Any]]:
    """Return the tables and files with their names."""
    name = DEFAULT_NAME if given.name is None else given.name
    if given.is_sweep and isinstance(given.dataset, Mapping):
        return [(str(key), table) for key, table in given.dataset.items()]
    if any(isinstance(item, str) for item in given.items):
        raise UserError(
            "dataset lists names of options and tables, which have different keys; give one kind, and run the others "
            "in a call of their own."
        )
    return [(name if number == 0 else f"{name}_{number + 1}", item) for number, item in enumerate(given.items)]


def _require_text(target: Any) -> str:
    if isinstance(target, str):
        return target
    raise UserError(f"target is a {type(target).__name__}, which needs a DataFrame as dataset; name a column.")


FRAMES_FOLDER = Path("outputs") / "frames"
DIGEST_BYTES = 8
DEFAULT_NAME = "frame"
DEFAULT_TARGET = "target"
REJECTED_CHARACTERS = "/\\*?[]:\"'"
MAX_SHOWN_NAMES = 3


@dataclass(frozen=True)
class FrameFile:
    """A table written to a file.

    Attributes
    ----------
    path : Path
        ``<folder>/<digest>/<name>.parquet``, so that an equal table has the same path.
    notes : tuple of str
        A sentence for each part of the table that the file lacks.
    is_new : bool
        Whether the file did not exist before.
    """

    path: Path
    notes: tuple[str, ...]
    is_new: bool

    def discard(self) -> None:
        """Remove the file if it is new, and folders that become empty."""
        if not self.is_new:
            return
        self.path.unlink(missing_ok=True)
        with suppress(OSError):  # other files are there
            for folder in (self.path.parent, *list(self.path.parents)[1:3]):
                folder.rmdir()


def write_frame(table: Any, name: str, folder: Path) -> FrameFile:
    """Write a table as a Parquet file below a folder.

    Parameters
    ----------
    table : DataFrame of shape (n, d), or a table of Arrow or polars
        The table, which is not modified.
    name : str
        The name of the dataset.
    folder : Path

    Raises
    ------
    UserError
        The data are not a table, have no rows, or have column names that are not text or not unique, or the folder
        cannot be written.
    """
    _require_name(name)
    if isinstance(table, pd.DataFrame):
        require_text_names(table)
    raw = read_frame(table, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".writing-") as temporary:
            written = Path(temporary) / f"{name}.parquet"
            raw.frame.to_parquet(written, index=False)
            path, is_new = _move_file(written, folder)
    except OSError as error:
        raise UserError(f"the table cannot be written to {folder}: {error}") from error
    return FrameFile(path, (*raw.notes, *_note_index(table)), is_new)


def _move_file(written: Path, folder: Path) -> tuple[Path, bool]:
    """Move a file into the folder of its digest, and return its path and whether it is new."""
    with written.open("rb") as stream:
        digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).hexdigest()
    path = folder / digest / written.name
    if path.exists():
        return path, False
    path.parent.mkdir(exist_ok=True)
    os.replace(written, path)
    return path, True


def join_target(table: Any, target: Any) -> tuple[Any, str]:
    """Return a table with a target, and the name of its column.

    Parameters
    ----------
    table : DataFrame of shape (n, d)
    target : str, or Series, array or list of shape (n,)
        The name of a column, or the targets of the rows in order.

    Raises
    ------
    UserError
        The table is not a DataFrame with one target per row, the index of a Series differs from the table, or a column
        has the same name.
    """
    if isinstance(target, str):
        return table, target
    require_table(table)
    if not isinstance(table, pd.DataFrame):
        raise UserError(
            f"target is a {type(target).__name__}, which can be joined to a DataFrame of pandas only; name a column of "
            "the table."
        )
    values = _require_targets(table, target)
    own_name = getattr(target, "name", None)
    name = DEFAULT_TARGET if own_name is None else str(own_name)
    if name in table.columns:
        raise UserError(
            f"target has the name {name!r}, which is also a column of the table; give target={name!r} if it is that "
            "column, or rename one of them."
        )
    return table.assign(**{name: values}), name


def _require_targets(table: pd.DataFrame, target: Any) -> Any:
    """Return the targets without an index, and require one value per row."""
    is_series = isinstance(target, pd.Series)
    if not is_series and not isinstance(target, list | tuple | np.ndarray):
        raise UserError(
            f"target is a {type(target).__name__}; give the name of a column, or a Series, an array or a list."
        )
    if np.ndim(target) != 1:
        shape = " × ".join(map(str, np.shape(target)))
        raise UserError(f"target has the shape {shape}, and the table has {len(table)} rows; give one value for each.")
    if len(target) != len(table):
        raise UserError(f"target has {len(target)} values, and the table has {len(table)} rows; give one for each.")
    if is_series and not target.index.equals(table.index):
        raise UserError(
            "target has another index than the table, so that its values may belong to other rows; give "
            "target.to_numpy() if the rows are in the same order, or target.loc[frame.index]."
        )
    return target.array if is_series else list(target)


def _require_name(name: str) -> None:
    is_file_name = isinstance(name, str) and name.strip() == name and name not in ("", ".", "..")
    if not is_file_name or any(letter in REJECTED_CHARACTERS for letter in name):
        raise UserError(
            f"dataset_name={name!r} must be a text without spaces around it, and without the letters "
            f"{' '.join(REJECTED_CHARACTERS)}"
        )


def require_text_names(table: pd.DataFrame) -> None:
    """Reject a table with column names that are not text."""
    strange = [name for name in table.columns if not isinstance(name, str)]
    if strange:
        shown = ", ".join(map(repr, strange[:MAX_SHOWN_NAMES]))
        more = ", …" if len(strange) > MAX_SHOWN_NAMES else ""
        cure = "set frame.columns to a list of texts"
        if not isinstance(table.columns, pd.MultiIndex):
            cure = "frame.rename(columns=str) makes texts of them"
        raise UserError(f"the table has names of columns that are not text ({shown}{more}); {cure}.")


def _note_index(table: Any) -> tuple[str, ...]:
    """Return a sentence if the index contains information missing in the columns; a named index already has one."""
    if not isinstance(table, pd.DataFrame) or any(level is not None for level in table.index.names):
        return ()
    is_numbers = table.index.nlevels == 1 and pd.api.types.is_integer_dtype(table.index.dtype)
    if is_numbers:
        return ()
    return ("The index is left out; frame.reset_index() makes it a column.",)
