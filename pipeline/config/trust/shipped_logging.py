"""The logs that Hydra ships: any other configuration of a log may name classes, which Python would create."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

QUIET = {"version": 1, "root": None, "disable_existing_loggers": False}
"""What ``hydra/job_logging=none`` composes."""
LEVEL_KEY = "level"


def is_shipped_logging(group: str, node: Any) -> bool:
    """Whether a log is one of those that Hydra ships, at any level.

    Parameters
    ----------
    group : {"hydra_logging", "job_logging"}
    node : object
        Plain, not resolved.

    Examples
    --------
    >>> is_shipped_logging("job_logging", QUIET), is_shipped_logging("job_logging", {"version": 1, "loggers": {}})
    (True, False)
    """
    if node is None or node == QUIET:
        return True
    return _leave_out_levels(node) in [_leave_out_levels(each) for each in _read_shipped(group)]


@cache
def _read_shipped(group: str) -> tuple[Any, ...]:
    folder = files("hydra.conf") / "hydra" / group
    return tuple(yaml.safe_load(file.read_text()) for file in folder.iterdir() if file.name.endswith(".yaml"))


def _leave_out_levels(node: Any) -> Any:
    """Return a log without its levels: names of levels, which create nothing."""
    if isinstance(node, dict):
        return {key: _leave_out_levels(child) for key, child in node.items() if key != LEVEL_KEY}
    return node
