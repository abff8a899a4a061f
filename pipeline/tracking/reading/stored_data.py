"""Where the rows of a stored run are now: its files, which may have moved or be named from another folder."""

from __future__ import annotations

import glob
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.reading.several_files import WILDCARDS
from bakeoff.pipeline.text.given import expand_home
from bakeoff.pipeline.text.secrets import expand_references, find_references

PATH_KEYS = ("path", "test_path")
"""The keys of a dataset that name files."""
SOURCE_SEPARATOR = ", "
"""Between the files of the recorded source."""


def find_source(run: Any) -> str:
    """Return where the rows of one of MLflow's runs came from: absolute paths; empty if the run does not say."""
    if run.inputs is None or not run.inputs.dataset_inputs:
        return ""
    try:
        return str(json.loads(run.inputs.dataset_inputs[0].dataset.source).get("uri", ""))
    except (ValueError, AttributeError):  # another program wrote it
        return ""


def find_data(node: Mapping[str, Any], run_id: str, source: str, path: str | None = None) -> dict[str, Any]:
    """Return the configuration of a run's dataset, with paths at which there are files now.

    Parameters
    ----------
    node : mapping
        The configuration of the dataset that the run has stored.
    run_id : str
        For messages.
    source : str
        From `find_source`.
    path : str, optional
        Where the file is now, if it was moved.

    Raises
    ------
    UserError
        The file is gone, or a path is given and the dataset is not read from a file.
    """
    if "path" not in node:
        if path is not None:
            raise UserError(f"dataset.path={path!r}: the dataset of run {run_id} is not read from a file.")
        return dict(node)
    if path is not None:
        return {**_anchor_paths(node, source), "path": path}
    # A relative path was relative to the folder of the run, which the recorded source knows. A path that begins with
    # an environment variable is found by the variable.
    is_anchored = not any(find_references(each) for each in _list_paths(node["path"]))
    candidates = [_anchor_paths(node, source), dict(node)] if is_anchored else [dict(node)]
    for candidate in candidates:
        if all(_has_file(each) for key in PATH_KEYS for each in _list_paths(candidate.get(key))):
            return candidate
    raise UserError(
        f"the data of run {run_id} are gone: {source or node['path']!r} is not a file; "
        "say where it is now with dataset.path=FILE."
    )


def _anchor_paths(node: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the configuration of a dataset with absolute paths.

    Parameters
    ----------
    node : mapping
    source : str
        The absolute paths of the files, of which the first belongs to the first of ``path``.
    """
    if not source:
        return dict(node)
    first_path, *others = _list_paths(node["path"])
    first_source = Path(source.split(SOURCE_SEPARATOR)[0])
    n_parts = len(Path(first_path).parts)
    folder = first_source.parents[n_parts - 1] if n_parts <= len(first_source.parents) else Path()
    anchored = dict(node)
    for key in PATH_KEYS:
        paths = [_join_folder(folder, each) for each in _list_paths(node.get(key))]
        if paths:
            anchored[key] = paths if len(paths) > 1 else paths[0]
    is_one_file = not others and first_source.name == Path(first_path).name
    return {**anchored, "path": str(first_source)} if is_one_file else anchored


def _join_folder(folder: Path, given: str) -> str:
    """Return a path or pattern in a folder, whose own name is no pattern."""
    path = expand_home(given)
    is_pattern = any(letter in given for letter in WILDCARDS) and not (folder / path).exists()
    return str(Path(glob.escape(str(folder))) / path if is_pattern else folder / path)


def _list_paths(value: Any) -> list[str]:
    """Return the paths of a key, which holds none, one or a list."""
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


def _has_file(path: str) -> bool:
    """Return whether there is a file of a path, or of a pattern."""
    try:
        file = expand_home(expand_references(path))
    except KeyError:  # a variable is not set
        return False
    return file.is_file() or any(glob.iglob(str(file), recursive=True))
