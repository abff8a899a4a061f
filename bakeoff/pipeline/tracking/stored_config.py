"""The stored configuration of a run and the location of its rows, from which its experiment can be rebuilt."""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.options import load_yaml
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import expand_references, find_references
from bakeoff.pipeline.text.wording import expand_home
from bakeoff.pipeline.tracking.artifacts import read_artifact
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, read_stored_runs

CONFIG_FILE = "config.yaml"
"""The artifact in which a run stores its settled configuration."""
PATH_KEYS = ("path", "test_path")
"""The keys of a dataset that name files."""
SOURCE_SEPARATOR = ", "
"""The separator between the files of the recorded source."""


def read_stored_config(store: Store, run_id: str) -> dict[str, Any]:
    """Return the settled configuration of a run, as returned by `settle_config`.

    Raises
    ------
    UserError
        The configuration was deleted, or the run was stored by other code.
    """
    (run,) = read_stored_runs(store, [run_id])
    text = read_artifact(store, f"{run.address}/{CONFIG_FILE}")
    if not text:
        raise UserError(
            f"run {run_id} has no artifact {CONFIG_FILE}: it was deleted, or the run was not stored by bakeoff."
        )
    spec: dict[str, Any] = load_yaml(text, f"{CONFIG_FILE} of run {run_id}")
    if not isinstance(spec, dict) or "learner" not in spec:
        raise UserError(f"{CONFIG_FILE} of run {run_id} is not a configuration of bakeoff.")
    return spec


def restore_config(
    store: Store, run_id: str, trust: Sequence[str], path: str | None = None, folder: str | None = None
) -> dict[str, Any]:
    """Return the settled configuration of a run in a form that can be rebuilt: with existing files and current trust.

    The names in it need trust again when it is built: whoever can write to the store could name any package there.

    Parameters
    ----------
    store : Store
    run_id : str
    trust : sequence of str
        Packages that the user trusts now, which replace those in the store.
    path : str, optional
        The current path of the dataset's file, if it was moved.
    folder : str, optional
        The current folder of all files of the dataset, if they were moved.

    Raises
    ------
    UserError
        As for `read_stored_config`; or a file of the dataset does not exist.
    """
    spec = read_stored_config(store, run_id)
    (run,) = read_stored_runs(store, [run_id])
    source = _find_source(run)
    node = spec["dataset"]
    if folder and "path" in node:
        data = move_data(node, expand_home(folder), f"dataset.folder={folder}")
    else:
        data = _find_data(node, run_id, source, path)
    return {**spec, "trust": list(trust), "dataset": data}


def move_data(node: Mapping[str, Any], folder: Path, place: str) -> dict[str, Any]:
    """Return the configuration of a dataset whose files are now in a folder, under their former names.

    Parameters
    ----------
    node : mapping
    folder : Path
    place : str
        The folder in the words of the user, for messages.

    Raises
    ------
    UserError
        A file is missing.
    """
    moved = rename_files(node, folder)
    if missing := [file for file in list_files(moved) if not _has_file(file)]:
        raise UserError(
            f"{place} does not contain {Path(missing[0]).name}, a file of the run; give the folder that contains it."
        )
    return moved


def rename_files(node: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the configuration of a dataset with its files in a folder, under their former names."""
    return _replace_paths(node, lambda path: folder / Path(path).name)


def list_files(node: Mapping[str, Any]) -> list[str]:
    """Return the paths of the files of a dataset, which may be patterns."""
    return [path for key in PATH_KEYS for path in _list_paths(node.get(key))]


def _replace_paths(node: Mapping[str, Any], replace: Callable[[str], Path]) -> dict[str, Any]:
    replaced = dict(node)
    for key in PATH_KEYS:
        paths = [str(replace(path)) for path in _list_paths(node.get(key))]
        if paths:
            replaced[key] = paths if len(paths) > 1 else paths[0]
    return replaced


def _find_source(run: StoredRun) -> str:
    """Return the source of the rows of a run: absolute paths; empty if it is unknown."""
    try:
        return str(json.loads(run.source).get("uri", ""))
    except (ValueError, AttributeError):  # another program wrote it
        return ""


def _find_data(node: Mapping[str, Any], run_id: str, source: str, path: str | None) -> dict[str, Any]:
    """Return the configuration of a run's dataset, with paths of existing files."""
    if "path" not in node:
        if path is not None:
            raise UserError(
                f"dataset.path={path!r}: the dataset of run {run_id} is not read from a file; leave this word out."
            )
        return dict(node)
    anchored = _anchor_paths(node, source)
    if path is not None:
        return {**anchored, "path": path}
    for candidate in (anchored, dict(node)):
        if all(map(_has_file, list_files(candidate))):
            return candidate
    raise UserError(
        f"the data of run {run_id} are missing: {source or node['path']!r} is not a file; set its current location "
        "with dataset.path=FILE, or the folder of a sweep's files with dataset.folder=FOLDER."
    )


def _anchor_paths(node: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the configuration of a dataset with paths relative to the run's folder, given by the recorded source.

    Paths that begin with an environment variable are resolved with the variable.
    """
    first, *others = _list_paths(node["path"])
    file = Path(source.split(SOURCE_SEPARATOR)[0])
    n_parts = len(Path(first).parts)
    if not source or find_references(first) or n_parts > len(file.parents):
        return dict(node)
    folder = file.parents[n_parts - 1]
    anchored = _replace_paths(node, lambda path: folder / expand_home(path))
    is_one_file = not others and file.name == Path(first).name
    return {**anchored, "path": str(file)} if is_one_file else anchored


def _list_paths(value: Any) -> list[str]:
    """Return the paths in a key: none, one or a list."""
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


def _has_file(path: str) -> bool:
    """Return whether there is a file at a path, or one that matches a pattern."""
    try:
        file = expand_home(expand_references(path))
    except KeyError:  # a variable is not set
        return False
    return file.is_file() or any(glob.iglob(str(file), recursive=True))
