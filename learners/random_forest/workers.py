"""Work for several cores: threads, since NumPy lets go of Python's lock while it computes on large arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def workers(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` asks for: None is one, -1 all cores, -2 all but one, and so on.

    >>> workers(None), workers(3)
    (1, 3)
    """
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; it can be a number of threads, -1 for all cores, or None for one thread.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def in_parallel(work: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None) -> Iterator[Result]:
    """Do all tasks; yield what they return, in their order."""
    threads = workers(n_jobs)
    if threads == 1:
        yield from map(work, tasks)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, tasks)
