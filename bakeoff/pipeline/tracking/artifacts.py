"""The files of a store: folders to write, read and delete.

Their addresses come from the rows of the store, which somebody else may have written. `find_artifacts` and
`find_own_folder` check them before any file is touched, and a folder with links is refused.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import show_in_line
from bakeoff.pipeline.tracking.limited_calls import MAX_TRANSFER_SECONDS
from bakeoff.pipeline.tracking.mlflow_tables import READ_MODEL_ADDRESS, list_store_errors
from bakeoff.pipeline.tracking.sqlite_file import find_artifacts, resolve_below
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.store_writer import FILES_FOLDER

OWNER_ID = re.compile(r"(m-)?[0-9a-f]{32}")
"""The id of a run or of a logged model."""


@contextmanager
def artifact_folder(store: Store, address: str, send: Callable[[str], None]) -> Iterator[Path]:
    """Yield a folder for artifacts: their final folder if it is local, otherwise a temporary folder to upload.

    Parameters
    ----------
    store : Store
    address : str
        Where the artifacts are to be stored.
    send : callable
        Sends the files of a folder there.

    Raises
    ------
    UserError
        They would not be in the folder of the store.
    """
    path = find_artifacts(store.uri, address)
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
        _require_no_links(path)
        yield path
        return
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        yield Path(folder)
        send(folder)


def run_folder(store: Store, address: str, run_id: str) -> AbstractContextManager[Path]:
    """Return the folder for the artifacts of a run, as `artifact_folder` does."""
    return artifact_folder(store, address, lambda folder: store.client.log_artifacts(run_id, folder))


def fetch_folder(store: Store, address: str, temporary: str) -> Path:
    """Return a local folder with the artifacts at a URI: the original folder if it is local, otherwise a copy.

    Parameters
    ----------
    store : Store
    address : str
        The address that MLflow records for a run or a model.
    temporary : str
        The folder for the copies.

    Raises
    ------
    UserError
        They are not in the folder of the store.
    """
    path = find_artifacts(store.uri, address)
    if path is not None:
        _require_no_links(path)
        return path
    from mlflow.artifacts import download_artifacts

    receive = partial(download_artifacts, dst_path=temporary, tracking_uri=store.uri)
    return Path(store.calls.call(receive, address, seconds=MAX_TRANSFER_SECONDS))


def read_artifact(store: Store, address: str) -> str:
    """Return the text of an artifact at a URI; empty if it cannot be read."""
    # MLflow would copy a local folder in a thread, but workers are copied from a process without threads.
    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        try:
            return fetch_folder(store, address, temporary).read_text(encoding="utf-8")
        except list_store_errors(OSError, ValueError):
            return ""


def _require_no_links(folder: Path) -> None:
    """Reject a folder with links, which bakeoff does not write: they may lead anywhere."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            raise UserError(f"{show_in_line(str(path))} is a link, which bakeoff does not write; delete it.")


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


def find_model_address(store: Store, model_id: str) -> str:
    """Return the address of the files of a logged model; MLflow's client raises an error if there is none."""
    rows = store.read(READ_MODEL_ADDRESS, model=model_id) if store.is_database else []
    found = next((str(address) for (address,) in rows), "")
    return found or str(store.client.get_logged_model(model_id).artifact_location)


def delete_model(store: Store, model_id: str) -> None:
    """Delete a logged model, and its files if they are below the folder of the store; other files are kept."""
    location = find_model_address(store, model_id)
    store.client.delete_logged_model(model_id)
    folder = find_own_folder(store, location, model_id)
    if folder is not None:
        delete_folder(folder)
