"""Dotted names in ``evaluation.metrics``, which stand for scorers of the user."""

from __future__ import annotations

from typing import Any


def settle_metrics(entries: Any) -> Any:
    """Return ``evaluation.metrics`` with each dotted name as a mapping with a ``_target_``.

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
    return [{"_target_": entry} if _is_dotted(entry) else entry for entry in entries]


def _is_dotted(entry: Any) -> bool:
    return isinstance(entry, str) and "." in entry
