"""What a call says besides its result: warnings of Python, which a program can filter."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from inspect import currentframe
from pathlib import Path

PACKAGE = Path(__file__).parents[2]


class BakeoffWarning(UserWarning):
    """Something that may make a number wrong: what was left out of the data, leaks, warnings of a learner."""


def warn_of(notes: Iterable[str]) -> None:
    """Warn of each note, at the line that called bakeoff."""
    level = _count_own_frames()
    for note in notes:
        warnings.warn(note, BakeoffWarning, stacklevel=level)


def _count_own_frames() -> int:
    """Return the number of calls from the function that warns to the line that called bakeoff."""
    frame = currentframe()
    level = 0
    while frame is not None and PACKAGE in Path(frame.f_code.co_filename).parents:
        frame = frame.f_back
        level += 1
    return level
