"""Results that could not be stored: they stay on this machine, and the next run of the same job stores them.

A result is a folder whose name is the ``config_hash`` of its job, below the user's cache: ``run.json`` with metrics,
params and tags, ``artifacts`` and ``model``. Only its owner can read it. It is moved into place when it is complete,
and a job whose code, data or configuration has changed has another hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

CACHE_VARIABLE = "XDG_CACHE_HOME"
DEFAULT_CACHE = "~/.cache"
OWN_CACHE = "bakeoff"
FOLDER = "unstored"
RUN_FILE = "run.json"
ARTIFACTS = "artifacts"
MODEL = "model"
HASH_TAG = "config_hash"
NO_HASH = "unknown"
"""In place of the hash of a run that has none."""
OWNER_FOLDER = 0o700
OWNER_FILE = 0o600
DIGEST_BYTES = 8


@dataclass(frozen=True)
class KeptRun:
    """The values of a run that could not be stored.

    Attributes
    ----------
    run_id : str
        The run exists, but may lack values, and did not end.
    ended : int
        Milliseconds since 1970.
    metrics : sequence of (str, float, int, int)
        Name, value, milliseconds since 1970, and step.
    params, tags : mapping of str to str
    """

    run_id: str
    ended: int
    metrics: Sequence[tuple[str, float, int, int]]
    params: Mapping[str, str]
    tags: Mapping[str, str]


def find_cache() -> Path:
    """Return the folder of the user in which bakeoff keeps what no store holds."""
    return Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE).expanduser() / OWN_CACHE


def find_kept_folder(uri: str, tags: Mapping[str, str]) -> Path:
    """Return the folder of the result of a job, whether there is one or not.

    Parameters
    ----------
    uri : str
        Of the store.
    tags : mapping of str to str
        Of the run, with the hash of its job.
    """
    store = hashlib.blake2b(uri.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return find_cache() / FOLDER / store / tags.get(HASH_TAG, NO_HASH)


def keep_result(folder: Path, run: KeptRun, write_files: Callable[[Path], None]) -> None:
    """Write a result, in place of an earlier one of the same job; in full or not at all.

    Parameters
    ----------
    folder : Path
        From `find_kept_folder`.
    run : KeptRun
    write_files : callable
        Writes the artifacts and the model into folders of a folder.

    Raises
    ------
    OSError
        There is no place for it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True, mode=OWNER_FOLDER)
    draft = Path(mkdtemp(dir=folder.parent, prefix=".writing-"))
    try:
        write_files(draft)
        (draft / RUN_FILE).write_text(json.dumps(asdict(run)))
        for path in draft.rglob("*"):
            path.chmod(OWNER_FOLDER if path.is_dir() else OWNER_FILE)
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def read_kept_run(folder: Path) -> KeptRun | None:
    """Return the values of a result; None if there is none that this user has written."""
    try:
        # A folder of another user, or a link, may hold anything.
        found = folder.lstat()
        is_own = found.st_uid == os.getuid() and found.st_mode & 0o777 == OWNER_FOLDER and not folder.is_symlink()
        stored: dict[str, Any] = json.loads((folder / RUN_FILE).read_text()) if is_own else {}
        return KeptRun(**stored) if stored else None
    except (OSError, ValueError, TypeError):
        return None


def discard_kept(folder: Path) -> None:
    """Delete a result."""
    shutil.rmtree(folder, ignore_errors=True)
