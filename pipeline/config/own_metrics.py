"""Metrics of the user in ``evaluation.metrics``: dotted names, and names of files in ``conf/metric/``."""

from __future__ import annotations

from typing import Any

from bakeoff.pipeline.config.own_options import read_own_node

METRIC_GROUP = "metric"


def settle_metrics(entries: Any) -> Any:
    """Return ``evaluation.metrics`` with each metric of the user as a mapping with a ``_target_``.

    The code that a ``_target_`` names is a part of the identity of a run.

    Parameters
    ----------
    entries : list or None
        Anything else is returned as it is: the choice of metrics rejects it.

    Examples
    --------
    >>> settle_metrics(["accuracy", "mine.metrics.profit"])
    ['accuracy', {'_target_': 'mine.metrics.profit'}]
    """
    if not isinstance(entries, list):
        return entries
    return [_settle_entry(entry) if isinstance(entry, str) else entry for entry in entries]


def _settle_entry(name: str) -> Any:
    """Return the mapping that a dotted name or the name of a file stands for; other names as they are."""
    if "." in name:
        return {"_target_": name}
    own = read_own_node(METRIC_GROUP, name)
    return name if own is None else {"name": name, **own}
