"""From a stored run to the configuration that runs it again."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.history import STOPPED_TAGS
from bakeoff.pipeline.tracking.run_record import RunRecord

FINISHED = "FINISHED"
FAILED = "FAILED"
REQUIRED_KEYS = ("dataset", "learner", "evaluation", "seed")
PATH_KEYS = ("path", "test_path")
"""The keys of a dataset that name files."""
SOURCE_SEPARATOR = ", "
"""Between the files of the recorded source."""
NO_AUDIT = {"_target_": "bakeoff.pipeline.audit.NoAudit"}
NO_TRACKING = {"_target_": "bakeoff.pipeline.tracking.NoTracker"}


def rebuild_spec(record: RunRecord, trust: Sequence[str], path: str | None = None) -> dict[str, Any]:
    """Return the settled configuration that runs a stored run again, and stores and draws nothing.

    Parameters
    ----------
    record : RunRecord
    trust : sequence of str
        Packages that the user trusts now. The list in the store is not enough: whoever can write to the store could
        name any package in it.
    path : str, optional
        Where the file of the dataset is now, if it was moved.

    Raises
    ------
    UserError
        The run cannot be repeated, it trusts a package that the user does not, or its file is gone.
    """
    require_repeatable(record)
    _require_trust(record, trust)
    spec = dict(record.spec)
    spec["trust"] = list(spec.get("trust") or [])
    spec["tracking"] = NO_TRACKING
    spec["figures"] = []
    # A run of a version that had no audit is not refused for what the audit would find now.
    spec.setdefault("audit", NO_AUDIT)
    spec["dataset"] = _find_data(record, path)
    return settle_config(spec)


def require_repeatable(record: RunRecord) -> None:
    """Reject a run that was not evaluated by bakeoff, or that did not end by itself.

    Raises
    ------
    UserError
    """
    missing = [key for key in REQUIRED_KEYS if key not in record.spec]
    if missing or "config_hash" not in record.tags:
        raise UserError(f"run {record.run_id} is not the run of a job of bakeoff, so there is nothing to repeat.")
    if record.status == "RUNNING":
        raise UserError(f"run {record.run_id} is still running; replay it when it has ended.")
    if record.status not in (FINISHED, FAILED) and not was_stopped(record):
        reason = record.tags.get("error", "it has no error message")
        raise UserError(
            f"run {record.run_id} ended as {record.status} ({reason}), so its numbers are incomplete; "
            "run its job again."
        )


def was_stopped(record: RunRecord) -> bool:
    """Whether a study stopped the run before its last fold."""
    return any(tag in record.tags for tag in STOPPED_TAGS)


def _require_trust(record: RunRecord, trust: Sequence[str]) -> None:
    stored = list(record.spec.get("trust") or [])
    missing = [package for package in stored if package not in trust]
    if missing:
        raise UserError(
            f"run {record.run_id} calls code of {', '.join(missing)}, which the store alone says to trust; "
            f"if you trust it, add trust=[{','.join(stored)}]."
        )


def _find_data(record: RunRecord, path: str | None) -> dict[str, Any]:
    """Return the configuration of the dataset, with a path at which there is a file now."""
    node: Mapping[str, Any] = record.spec["dataset"]
    if "path" not in node:
        if path is not None:
            raise UserError(f"dataset.path={path!r}: the dataset of run {record.run_id} is not read from a file.")
        return dict(node)
    if path is not None:
        return {**_anchor_paths(node, record.source), "path": path}
    # A relative path was relative to the folder of the run, which the recorded source knows.
    for candidate in (_anchor_paths(node, record.source), dict(node)):
        if all(_has_file(each) for key in PATH_KEYS for each in _list_paths(candidate.get(key))):
            return candidate
    raise UserError(
        f"the data of run {record.run_id} are gone: {record.source or node['path']!r} is not a file; "
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
        paths = [str(folder / Path(each).expanduser()) for each in _list_paths(node.get(key))]
        if paths:
            anchored[key] = paths if len(paths) > 1 else paths[0]
    is_one_file = not others and first_source.name == Path(first_path).name
    return {**anchored, "path": str(first_source)} if is_one_file else anchored


def _list_paths(value: Any) -> list[str]:
    """Return the paths of a key, which holds none, one or a list."""
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


def _has_file(path: str) -> bool:
    """Return whether there is a file of a path, or of a pattern."""
    file = Path(path).expanduser()
    return file.is_file() or any(glob.iglob(str(file), recursive=True))
