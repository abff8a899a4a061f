"""The folder of a verification: the files of one capsule, and a store that a command of this user began.

A folder may come from anybody, as a capsule may, and a store in it may have runs that no job made. It is used again
only if it has the mark of an earlier verification in this place: the name of the mark contains the time at which
another file of the folder was created, as the system recorded it, which no archive and no repository can restore.
"""

import json
import os
import secrets
from pathlib import Path
from typing import Any

from bakeoff.pipeline.commands.paper.capsule import Files, compute_digest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import write_whole

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
        An absolute path.
    digest : str
        The SHA-256 of the capsule.
    files : mapping of str to bytes

    Raises
    ------
    UserError
        `verify` did not make the folder, or a file in it is not as it was written; nothing is changed.
    """
    origin = folder / ORIGIN
    earlier: dict[str, Any] = {"capsule": "", "files": {}}
    if os.path.lexists(folder):
        if not (_is_plain(origin) and _find_mark(origin).is_file()):
            raise UserError(
                f"{folder.name} was not made here by `verify` of this user: its files may be yours, and its runs may "
                "be made up; move it away, or verify in another folder."
            )
        earlier = json.loads(_find_mark(origin).read_bytes())
    for name in {**earlier["files"], **files}:
        _require_replaceable(folder / name, earlier["files"].get(name))
    folder.mkdir(exist_ok=True)
    origin.open("a").close()
    for name in earlier["files"]:
        (folder / name).unlink(missing_ok=True)
    is_new = earlier["capsule"] != digest
    store = f"runs-{secrets.token_hex(STORE_BYTES)}" if is_new else earlier["store"]
    digests = {name: compute_digest(content) for name, content in files.items()}
    # The mark is written first, because an interruption may leave any of the files.
    write_whole(_find_mark(origin), json.dumps({"capsule": digest, "store": store, "files": digests}))
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / name, content)
    return folder / store / STORE


def _find_mark(origin: Path) -> Path:
    """Return the path of the mark of a folder, given a file whose time only the system sets."""
    found = origin.stat()
    return origin.with_name(f"{ORIGIN}-{found.st_ino}-{found.st_ctime_ns}.json")


def _require_replaceable(file: Path, digest: str | None) -> None:
    """Reject a file that `verify` did not write, or that was changed since."""
    place = next(path for path in (file, *file.parents) if os.path.lexists(path))
    is_free = place != file and place.is_dir() and _has_no_links(place)
    if not is_free and not (_is_plain(file) and compute_digest(file.read_bytes()) == digest):
        raise UserError(f"{file} is a link, or not as `verify` wrote it; move it away, so that it is not replaced.")


def _has_no_links(path: Path) -> bool:
    return os.path.realpath(path) == str(path)


def _is_plain(file: Path) -> bool:
    """Whether a file is a regular one of this user, which is not reached by a link."""
    return _has_no_links(file) and file.is_file() and file.stat().st_uid == os.getuid()
