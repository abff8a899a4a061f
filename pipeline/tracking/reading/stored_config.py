"""The configuration that a run stored, from which its experiment can be built again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from bakeoff.pipeline.config.bounds import load_bounded_yaml
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.store import Store

CONFIG_FILE = "config.yaml"
"""The artifact in which a run stores its settled configuration."""


def read_stored_config(store: Store, run_id: str) -> dict[str, Any]:
    """Return the settled configuration of a run, as `settle_config` made it; the run does not change.

    Parameters
    ----------
    store : Store
    run_id : str

    Returns
    -------
    dict

    Raises
    ------
    UserError
        There is no such run, its configuration was deleted, or other code stored the run.
    """
    from mlflow.exceptions import MlflowException

    try:
        store.client.get_run(run_id)
    except MlflowException as error:
        raise UserError(f"there is no run {run_id!r} in {store.uri}; `bakeoff ui` lists the runs.") from error
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        try:
            file = Path(store.client.download_artifacts(run_id, CONFIG_FILE, folder))
            text = file.read_text()
        except (MlflowException, OSError) as error:
            raise UserError(
                f"run {run_id} has no artifact {CONFIG_FILE}: it was deleted, or the run was not stored by bakeoff."
            ) from error
    return _parse_config(text, run_id)


def require_trust(spec: Mapping[str, Any], run_id: str, trust: Sequence[str]) -> None:
    """Reject a configuration that calls code of packages that the user does not trust.

    The list in the store is not enough: whoever can write to the store could name any package in it.

    Parameters
    ----------
    spec : mapping
        From `read_stored_config`.
    run_id : str
        For messages.
    trust : sequence of str
        Packages that the user trusts now.

    Raises
    ------
    UserError
    """
    stored = list(spec.get("trust") or [])
    missing = [package for package in stored if package not in trust]
    if missing:
        raise UserError(
            f"run {run_id} calls code of {', '.join(missing)}, which the store alone says to trust; "
            f"if you trust it, add trust=[{','.join(stored)}]."
        )


def _parse_config(text: str, run_id: str) -> dict[str, Any]:
    try:
        spec = load_bounded_yaml(text, f"{CONFIG_FILE} of run {run_id}")
    except yaml.YAMLError as error:
        raise UserError(f"{CONFIG_FILE} of run {run_id} is not YAML; restore the file, or run again.") from error
    if not isinstance(spec, dict) or "learner" not in spec:
        raise UserError(f"{CONFIG_FILE} of run {run_id} is not a configuration of bakeoff.")
    return spec
