"""Output files of commands: format by extension, written completely or not at all, never over an input."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.table_formats import ESCAPED_FORMATS, WRITERS, describe_escapes
from bakeoff.pipeline.text.wording import expand_home

if TYPE_CHECKING:
    import pandas as pd

MAX_NAME_LETTERS = 60
"""Of the name of a file that bakeoff chooses: with an extension, file systems take 255 bytes."""
MAX_STEM_BYTES = 200
"""Of the name of a temporary file: names of 255 bytes are the longest that file systems take."""


def require_output(given: str | Path, inputs: Iterable[Path] = (), store: Sequence[Path] = ()) -> Path:
    """Return the path of a file to write; reject one that cannot be written, before work is done for it.

    Parameters
    ----------
    given : str or Path
        As the user names it.
    inputs : iterable of Path
        Files that the command reads.
    store : sequence of Path
        The database of the store of the command, and what else is a part of it.

    Raises
    ------
    UserError
        The path is that of a folder, an input or a part of the store, or its folder does not exist or is read-only.
    """
    path = expand_home(given)
    _require_writable(path)
    for each in inputs:
        if _is_same(path, each):
            raise UserError(f"output={str(path)!r} is the file {each}, which is an input; name another file.")
    require_apart_from_store(path, store)
    return path


def require_table_output(given: str | Path, inputs: Iterable[Path] = (), store: Sequence[Path] = ()) -> Path:
    """Return the path of a table to write; reject one that cannot be written, before work is done for it.

    Parameters
    ----------
    given, inputs, store
        As for `require_output`.

    Raises
    ------
    UserError
        No format has the extension, or as for `require_output`.
    """
    path = expand_home(given)
    extension = path.suffix.lower()
    if extension not in WRITERS:
        found = f"the extension {path.suffix!r}" if path.suffix else "no extension"
        raise UserError(f"output={str(path)!r} has {found}. Allowed: {', '.join(WRITERS)}.")
    return require_output(path, inputs, store)


def require_apart_from_store(path: Path, store: Sequence[Path]) -> None:
    """Reject an output that is a part of a store: its database, a file beside it, or among the artifacts of its runs.

    Parameters
    ----------
    path : Path
        A file or a folder.
    store : sequence of Path
        As for `require_output`.

    Raises
    ------
    UserError
    """
    target = path.resolve()
    for part in store:
        if _is_same(path, part) or target == part or part in target.parents:
            raise UserError(
                f"output={str(path)!r} is a part of the store {store[0]}, which holds your runs; name another file."
            )


def name_file(name: str) -> str:
    """Return the name of a dataset or model as that of a file, which may hold no slash and not be too long.

    Examples
    --------
    >>> name_file("a/b"), name_file("wine")
    ('a-b', 'wine')
    """
    return name.replace("/", "-").replace("\\", "-").replace("\0", "")[:MAX_NAME_LETTERS]


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table in the format of the extension.

    Floats are written so that reading them gives the same floats.

    Parameters
    ----------
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
    with replace_file(path) as temporary:
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
def replace_whole(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that takes the place of another one if the block succeeds.

    If it does not, because a disk is full for example, nothing is left of the temporary file, and an earlier file
    remains as it was.

    Parameters
    ----------
    path : Path
        A link is followed, and its target is replaced; the new file has the permissions of the earlier one.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    target = path.resolve()
    # In the same folder, because a file cannot be moved between file systems at once; the extension is kept.
    stem = target.stem.encode()[:MAX_STEM_BYTES].decode(errors="ignore")
    temporary = target.with_name(f".{stem}-{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        with suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that takes the place of another one if the block succeeds.

    Parameters
    ----------
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
        raise UserError(f"output={str(path)!r} cannot be written: {reason}") from error


def _require_writable(path: Path) -> None:
    folder = path.resolve().parent
    # A device such as /dev/null would be replaced by a file.
    is_other = path.exists() and not path.is_file()
    if is_other or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"output={str(path)!r} cannot be written; name a file in a folder that you can write.")


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths, which may be links or spelled in other ways, lead to one file that is there."""
    return path.exists() and other.exists() and path.samefile(other)
