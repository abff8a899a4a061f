"""Files that commands write: in the format of the extension, whole or not at all, and never onto an input."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.cli.table_formats import ESCAPED_FORMATS, WRITERS
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.paths import expand_home
from bakeoff.pipeline.tables.csv import describe_escapes
from bakeoff.pipeline.whole_file import replace_whole

if TYPE_CHECKING:
    import pandas as pd

MAX_NAME_LETTERS = 60
"""Of the name of a file that bakeoff chooses: with an extension, file systems take 255 bytes."""


def require_output(verb: str, given: str | Path, inputs: Iterable[Path] = (), store: str | None = None) -> Path:
    """Return the path of a file to write; reject one that cannot be written, before work is done for it.

    Parameters
    ----------
    verb : str
        Begins the error message.
    given : str or Path
        As on the command line.
    inputs : iterable of Path
        Files that the command reads.
    store : str or None
        The store of the command, as on the command line.

    Raises
    ------
    UserError
        The path is that of a folder, an input or a part of the store, or its folder does not exist or is read-only.
    """
    path = expand_home(given)
    _require_writable(verb, path)
    _require_no_input(verb, path, inputs)
    require_apart_from_store(verb, path, store)
    return path


def require_table_output(verb: str, given: str | Path, inputs: Iterable[Path] = (), store: str | None = None) -> Path:
    """Return the path of a table to write; reject one that cannot be written, before work is done for it.

    Parameters
    ----------
    verb : str
        Begins each error message.
    given : str or Path
        As on the command line.
    inputs : iterable of Path
        Files that the command reads.
    store : str or None
        The store of the command, as on the command line.

    Raises
    ------
    UserError
        No format has the extension, its package is missing, the path cannot be written, or it is that of an input
        or of a part of the store.
    """
    path = expand_home(given)
    extension = path.suffix.lower()
    if extension not in WRITERS:
        found = f"the extension {path.suffix!r}" if path.suffix else "no extension"
        raise UserError(f"{verb}: output={str(path)!r} has {found}. Allowed: {', '.join(WRITERS)}.")
    if extension == ".xlsx" and importlib.util.find_spec("openpyxl") is None:
        raise UserError(
            f"{verb}: output={str(path)!r} is an Excel workbook, which needs the package openpyxl: "
            'pip install "bakeoff[excel]".'
        )
    return require_output(verb, path, inputs, store)


def name_file(name: str) -> str:
    """Return the name of a dataset or model as that of a file, which may hold no slash and not be too long.

    Examples
    --------
    >>> name_file("a/b"), name_file("wine")
    ('a-b', 'wine')
    """
    return name.replace("/", "-").replace("\\", "-").replace("\0", "")[:MAX_NAME_LETTERS]


def write_table(verb: str, table: pd.DataFrame, path: Path) -> None:
    """Write a table in the format of the extension.

    Floats are written so that reading them gives the same floats; a workbook keeps 16 digits.

    Parameters
    ----------
    verb : str
        Begins the error message.
    table : DataFrame of shape (m, k)
        Its index is left out.
    path : Path
        Of `require_table_output`; a file that exists is replaced.

    Raises
    ------
    UserError
        The file cannot be written, or its format does not hold a cell.
    """
    write = WRITERS[path.suffix.lower()]
    with replace_file(verb, path) as temporary:
        write(table, temporary)


def describe_escaped_text(table: pd.DataFrame, path: Path) -> str:
    """Return a sentence about the text that `write_table` marks as text; empty if the format needs no marks.

    Parameters
    ----------
    table : DataFrame of shape (m, k)
    path : Path
    """
    return describe_escapes(table) if path.suffix.lower() in ESCAPED_FORMATS else ""


@contextmanager
def replace_file(verb: str, path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that takes the place of another one if the block succeeds.

    Parameters
    ----------
    verb : str
        Begins the error message.
    path : Path
        A link is followed, and its target is replaced.

    Raises
    ------
    UserError
        The file cannot be written; an earlier one remains as it was.
    """
    try:
        with replace_whole(path) as temporary:
            yield temporary
    except (OSError, ValueError) as error:
        # The reason of an OSError names the temporary file, which nobody has asked for.
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(f"{verb}: output={str(path)!r} cannot be written: {reason}") from error


def require_apart_from_store(verb: str, path: Path, store: str | None) -> None:
    """Reject an output that is the database of a store, a file beside it, or among the artifacts of its runs.

    Parameters
    ----------
    verb : str
        Begins the error message.
    path : Path
        A file or a folder.
    store : str or None
        As on the command line.

    Raises
    ------
    UserError
    """
    from bakeoff.pipeline.tracking.addresses import LOCAL_FOLDERS
    from bakeoff.pipeline.tracking.sqlite_file import SQLITE_PREFIX, sqlite_path
    from bakeoff.pipeline.tracking.store import store_uri

    uri = store_uri(store)
    if not uri.startswith(SQLITE_PREFIX):
        return
    database = sqlite_path(uri).resolve()
    target = path.resolve()
    is_beside = target.parent == database.parent and target.name.startswith(database.name)
    is_same = path.exists() and database.exists() and path.samefile(database)
    folders = [database.parent / name for name in LOCAL_FOLDERS]
    is_inside = any(target == folder or folder in target.parents for folder in folders)
    if is_beside or is_same or is_inside:
        raise UserError(
            f"{verb}: output={str(path)!r} is a part of the store {database}, which holds your runs; name another file."
        )


def list_dataset_files(node: Mapping[str, Any]) -> list[Path]:
    """Return the files that a dataset is read from, as far as they are on this machine.

    Parameters
    ----------
    node : mapping
        The configuration of the dataset.
    """
    from bakeoff.pipeline.stages.dataset.reading.query import find_database
    from bakeoff.pipeline.stages.dataset.reading.several_files import find_files

    files: list[Path] = []
    for key in ("path", "test_path"):
        with suppress(UserError, TypeError):
            files += find_files(key, node.get(key) or [])
    with suppress(UserError):
        files += find_database(str(node.get("url") or ""))
    return files


def _require_writable(verb: str, path: Path) -> None:
    folder = path.resolve().parent
    # A device such as /dev/null would be replaced by a file.
    is_other = path.exists() and not path.is_file()
    if is_other or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"{verb}: output={str(path)!r} cannot be written; name a file in a folder that you can write.")


def _require_no_input(verb: str, path: Path, inputs: Iterable[Path]) -> None:
    if not path.exists():
        return
    for each in inputs:
        # Links and other spellings of a path lead to the same file.
        if each.exists() and path.samefile(each):
            raise UserError(f"{verb}: output={str(path)!r} is the file {each}, which is an input; name another file.")
