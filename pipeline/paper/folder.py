"""The folder of a verification: the files of one capsule, and a store that a command of this user began.

A folder may come from anybody, as a capsule may, and a store in it may have runs that no job made. It is used again
only if it has the mark of an earlier verification in this place. The mark contains the time at which another file of
the folder was created, as the system recorded it, which no archive and no repository can restore.
"""

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.paper.capsule import MAX_TEXT_BYTES, Files, compute_digest
from bakeoff.pipeline.tables.output_file import write_whole

MARK = "verification.json"
ORIGIN = ".verification"
"""An empty file, which is created with the folder and never changed."""
STORE = "mlflow.db"
STORE_BYTES = 8
"""The length of the random number in the name of the folder of the store, which nobody can know in advance."""


def open_folder(folder: Path, digest: str, files: Files) -> Path:
    """Write the files of a capsule into the folder of its verification, and return the path of its store.

    The files that an earlier verification wrote are replaced. Its store is used again if the capsule is the same.

    Parameters
    ----------
    folder : Path
        An absolute path without links.
    digest : str
        The SHA-256 of the capsule.
    files : mapping of str to bytes

    Raises
    ------
    UserError
        `verify` did not make the folder, or a file in it is not as it was written; nothing is changed.
    """
    mark = _read_mark(folder) if os.path.lexists(folder) else _make_folder(folder)
    earlier = mark["files"]
    for name in {**earlier, **files}:
        _require_replaceable(folder / name, earlier.get(name))
    for name in earlier:
        (folder / name).unlink(missing_ok=True)
    if mark["capsule"] != digest:
        mark |= {"capsule": digest, "store": f"runs-{secrets.token_hex(STORE_BYTES)}"}
    mark["files"] = {name: compute_digest(content) for name, content in files.items()}
    # The files are listed first, because this may be interrupted.
    write_whole(folder / MARK, json.dumps(mark, indent=1))
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / name, content)
    return folder / mark["store"] / STORE


def _make_folder(folder: Path) -> dict[str, Any]:
    folder.mkdir()
    (folder / ORIGIN).touch()
    return {"origin": _describe_origin(folder), "capsule": "", "files": {}}


def _read_mark(folder: Path) -> dict[str, Any]:
    """Return the mark of the folder of an earlier verification; reject other folders."""
    with suppress(Exception):  # the folder of somebody else may contain anything
        if _is_plain(folder / MARK):
            with (folder / MARK).open("rb") as file:
                mark: dict[str, Any] = json.loads(file.read(MAX_TEXT_BYTES))
            if mark["origin"] == _describe_origin(folder) and mark["origin"][0] == os.getuid():
                return mark
    raise UserError(
        f"{folder.name} was not made here by `verify` of this user: its files may be yours, and its runs may be made "
        "up; move it away, or verify in another folder."
    )


def _require_replaceable(file: Path, digest: str | None) -> None:
    """Reject a file that `verify` did not write, or that was changed since."""
    place = next(path for path in (file, *file.parents) if os.path.lexists(path))
    is_as_written = _is_plain(file) and compute_digest(file.read_bytes()) == digest
    if not is_as_written and (place == file or not place.is_dir() or not _has_no_links(place)):
        raise UserError(f"{file} is a link, or not as `verify` wrote it; move it away, so that it is not replaced.")


def _describe_origin(folder: Path) -> list[int]:
    """Return the owner of a file, its number and its time of change, which only the system sets."""
    found = (folder / ORIGIN).lstat()
    return [found.st_uid, found.st_ino, found.st_ctime_ns]


def _has_no_links(path: Path) -> bool:
    return os.path.realpath(path) == str(path)


def _is_plain(path: Path) -> bool:
    """Whether there is a regular file, which is not reached by a link."""
    return _has_no_links(path) and path.is_file()
