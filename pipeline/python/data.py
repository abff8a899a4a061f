"""The argument ``dataset`` of a call: the name of an option, a file, or a table, as words of a command line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.frames import DEFAULT_NAME, FRAMES_FOLDER, FrameFile, join_target, write_frame
from bakeoff.pipeline.stages.dataset.files import READERS
from bakeoff.pipeline.sweep.compose import override_text

FILE_OPTION = "dataset=file"
PASSING_WORDS = ("tracking=none", "dry_run=true")
"""Words of calls after which no stored run refers to the file of a table."""


@dataclass(frozen=True)
class GivenData:
    """The arguments of a call that say what the data are.

    Attributes
    ----------
    dataset : str, path, table, or None
        In a sweep also a list of one kind of these, or a mapping of names to tables.
    target : str, Series, array, list, or None
    name : str or None
        Of the dataset, if it is a table.
    is_sweep : bool
    """

    dataset: Any
    target: Any
    name: str | None
    is_sweep: bool = False

    @property
    def is_named(self) -> bool:
        """Whether the dataset is an option, or is left to the words of the call."""
        return all(item is None or isinstance(item, str) for item in self.items)

    @property
    def items(self) -> list[Any]:
        """The datasets, of which a single run has one."""
        is_list = self.is_sweep and isinstance(self.dataset, list | tuple)
        return list(self.dataset) if is_list else [self.dataset]


@dataclass(frozen=True)
class DataWords:
    """The words that name the data, and what is to be said of them.

    Attributes
    ----------
    words, notes : tuple of str
    """

    words: tuple[str, ...]
    notes: tuple[str, ...] = ()


@contextmanager
def open_data(given: GivenData, words: Sequence[str]) -> Iterator[DataWords]:
    """Yield the words that name the data; tables are written to files first.

    A file that was written for a call that is refused is removed.

    Parameters
    ----------
    given : GivenData
    words : sequence of str
        The other words of the call. With one of `PASSING_WORDS` the files are gone after the block.

    Raises
    ------
    UserError
        The data are given twice, or are no table.
    """
    _require_once(given, words)
    if given.is_named:
        yield DataWords(tuple(_name_option(given)))
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
    """Yield the words of data that are an option, with ``target`` as the command line has it: a transformation."""
    names = [item for item in given.items if item is not None]
    for name in names:
        if Path(name).suffix.lower() in READERS:
            raise UserError(f"dataset={name!r} is not an option; a file is given as pathlib.Path({name!r}).")
    if names:
        yield f"dataset={','.join(names)}"
    if given.target is None:
        return
    if not isinstance(given.target, str):
        raise UserError(f"target is a {type(given.target).__name__}, which needs a table as dataset.")
    yield f"target={given.target}"


def _write_data(given: GivenData, folder: Path, written: list[FrameFile]) -> DataWords:
    """Write each table, collect its file, and return the words that name all of them."""
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
    notes = tuple(dict.fromkeys(note for file in written for note in file.notes))
    return DataWords(tuple(words), notes)


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
