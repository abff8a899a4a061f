"""Deleting what is stored: the files of runs and models, their rows, a logged model, and a registered version.

The addresses of files come from the rows of a store, which somebody else may have written. So one question is asked
before any of them is deleted: `find_own_folder`.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path

from bakeoff.pipeline.tracking.addresses import local_path
from bakeoff.pipeline.tracking.mlflow_tables import LOCAL_FOLDERS
from bakeoff.pipeline.tracking.registry import RegisteredVersion, list_versions, open_registry
from bakeoff.pipeline.tracking.store import Store

OWNER_ID = re.compile(r"(m-)?[0-9a-f]{32}")
"""The id of a run or of a logged model."""
FILES_FOLDER = "artifacts"
"""In the folder of a run or a model; the folder has no other content."""
SWEEPS_FOLDER = "sweeps"
"""In the folder of an experiment, with a list of jobs for each sweep."""


def find_own_folder(store: Store, address: str, owner: str) -> Path | None:
    """Return the folder with the files of a run or a model, if bakeoff wrote it below the folder of the store.

    Parameters
    ----------
    store : Store
        On this machine, in a SQLite file; no other store has a folder.
    address : str
        As the store records it.
    owner : str
        The id of the run or the model, which names the folder around its files.

    Returns
    -------
    Path or None
        Without links, so that it can be deleted.
    """
    folder = _resolve_below(store, address)
    is_written = folder is not None and folder.parts[-2:] == (owner, FILES_FOLDER)
    return folder if is_written and OWNER_ID.fullmatch(owner) else None


def find_sweep_lists(store: Store, address: str) -> Path | None:
    """Return the folder with the lists of the sweeps of an experiment; None as for `find_own_folder`, or without any.

    Parameters
    ----------
    store : Store
    address : str
        Of the artifacts of the experiment.
    """
    folder = _resolve_below(store, f"{address}/{SWEEPS_FOLDER}")
    is_written = folder is not None and folder.is_dir() and all(file.suffix == ".json" for file in folder.iterdir())
    return folder if is_written else None


def delete_folder(folder: Path) -> None:
    """Delete a folder that `find_own_folder` or `find_sweep_lists` has found, and the one around it if it is empty."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # other files are there
        folder.parent.rmdir()


def delete_model(store: Store, model_id: str) -> None:
    """Delete a logged model, and its files if they are below the folder of the store; others stay.

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


def delete_version(store: Store, version: RegisteredVersion) -> None:
    """Delete a version of a registered model with its aliases, and the name of the model with its last version."""
    registry = open_registry(store)
    registry.delete_model_version(version.name, str(version.version))
    if not list_versions(store, version.name):
        registry.delete_registered_model(version.name)


def _resolve_below(store: Store, address: str) -> Path | None:
    """Return where an address leads, if that is below the folders of artifacts in the folder of the store."""
    path = local_path(address)
    if store.folder is None or path is None:
        return None
    try:
        resolved = path.resolve()
        root = store.folder.resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle, or no path at all
        return None
    is_below = any(root / name in resolved.parents for name in LOCAL_FOLDERS)
    return resolved if is_below else None
