"""Parameters that keep their defaults, which need no check."""

from __future__ import annotations

from typing import Any


def is_default(value: Any, default: Any) -> bool:
    """Return whether a parameter has its default; False if a comparison could be ambiguous, as for arrays."""
    if value is default:
        return True
    is_comparable = type(value) is type(default) and type(value) in (str, int, float)
    return is_comparable and value == default
