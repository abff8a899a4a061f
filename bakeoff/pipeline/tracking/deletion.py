"""Deletion of files and of models of a store.

The addresses of files come from the rows of a store, which somebody else may have written. Before any files are
deleted, `find_own_folder` therefore checks their address.
"""

import re
import shutil
from contextlib import suppress
from pathlib import Path

from bakeoff.pipeline.tracking.sqlite_file import resolve_below
from bakeoff.pipeline.tracking.store import Store

OWNER_ID = re.compile(r"(m-)?[0-9a-f]{32}")
"""The id of a run or of a logged model."""
FILES_FOLDER = "artifacts"
"""The only content of the folder of a run or a model."""
REMOVED_PREFIX = "removed."
"""The prefix of a tag of a seal, before the ``config_hash`` of a job that lost a run."""


def find_own_folder(store: Store, address: str, owner: str) -> Path | None:
    """Return the folder with the files of a run or a model, if bakeoff wrote it below the folder of the store.

    Parameters
    ----------
    store : Store
        A store in a SQLite file on this machine; no other store has a folder.
    address : str
        The address recorded in the store.
    owner : str
        The id of the run or the model, which names the folder around its files.

    Returns
    -------
    Path or None
        The folder with links resolved, so that it can be deleted.
    """
    folder = None if store.folder is None else resolve_below(store.folder, address)
    is_written = folder is not None and folder.parts[-2:] == (owner, FILES_FOLDER)
    return folder if is_written and OWNER_ID.fullmatch(owner) else None


def delete_folder(folder: Path) -> None:
    """Delete a folder that `find_own_folder` has found, and the one around it if it is empty."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # it contains other files
        folder.parent.rmdir()


def delete_model(store: Store, model_id: str) -> None:
    """Delete a logged model, and its files if they are below the folder of the store; other files are kept.

    Parameters
    ----------
    store : Store
    model_id : str
    """
    location = store.client.get_logged_model(model_id).artifact_location
    store.client.delete_logged_model(model_id)
    folder = find_own_folder(store, location, model_id)
    if folder is not None:
        delete_folder(folder)
