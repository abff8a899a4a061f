"""What a call changes in its process for as long as it takes, and what it says besides its result, as warnings."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import currentframe
from pathlib import Path
from threading import RLock

from bakeoff.pipeline.config.compose_job import own_hydra_state

ONE_CALL = RLock()
"""Hydra, MLflow's settings and Python's warnings belong to the whole process, so that calls wait for one another."""


@contextmanager
def own_process_state() -> Iterator[None]:
    """Run a block as the command would run it, and bring back the state of the process that called.

    Environment variables, the search path of modules and the objects of Hydra are what they were, whatever happens in
    the block. Blocks in other threads wait.
    """
    with ONE_CALL, _same_environment(), _folder_on_path(), own_hydra_state():
        yield


@contextmanager
def _same_environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        for name, value in before.items():
            if os.environ.get(name) != value:
                os.environ[name] = value


@contextmanager
def _folder_on_path() -> Iterator[None]:
    """Let packages in the current folder be imported, as the command does, where the user's own learners may be."""
    folder = os.getcwd()
    is_known = folder in sys.path or "" in sys.path
    if is_known:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


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
