"""What bakeoff changes in the process that calls it, for as long as a call takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
