"""A finding: what one check says about a part."""

from __future__ import annotations

from dataclasses import dataclass

OK = "ok"
WRONG = "wrong"
NOTE = "note"
UNCHECKED = "not checked"


@dataclass(frozen=True)
class Finding:
    """What one check says.

    Attributes
    ----------
    status : {"ok", "wrong", "note", "not checked"}
    subject : str
        What was checked, in a word or two.
    text : str
        A sentence or a part of one.
    details : tuple of str
        A line each.
    """

    status: str
    subject: str
    text: str
    details: tuple[str, ...] = ()


def describe_error(error: BaseException) -> str:
    """Return the type of an error and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
