"""Deleting a stored model with its files, and a registered version."""

from __future__ import annotations

import shutil

from bakeoff.pipeline.tracking.addresses import local_path
from bakeoff.pipeline.tracking.registry import RegisteredVersion, list_versions, open_registry
from bakeoff.pipeline.tracking.store import Store


def delete_model(store: Store, model_id: str) -> None:
    """Delete a logged model, and its files if they are on this machine; those of a server stay until it cleans up.

    Parameters
    ----------
    store : Store
    model_id : str
    """
    location = store.client.get_logged_model(model_id).artifact_location
    store.client.delete_logged_model(model_id)
    files = local_path(location)
    if files is not None:
        # The folder of the model has no other content.
        shutil.rmtree(files.parent, ignore_errors=True)


def delete_version(store: Store, version: RegisteredVersion) -> None:
    """Delete a version of a registered model with its aliases, and the name of the model with its last version."""
    registry = open_registry(store)
    registry.delete_model_version(version.name, str(version.version))
    if not list_versions(store, version.name):
        registry.delete_registered_model(version.name)
