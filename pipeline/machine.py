"""The memory and the cores of this machine, as far as a process may use them."""

from __future__ import annotations

import os
import resource
from pathlib import Path

CGROUP_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux says how much memory a container may use."""
MAX_PROCESSES_PER_CORE = 8
"""More processes than this wait for one another, and each needs memory of its own."""


def read_machine_bytes() -> int:
    """Return the memory of this machine in bytes, or that of the container or the process if it is limited."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    of_process, _ = resource.getrlimit(resource.RLIMIT_AS)
    limits = [physical, *_read_container_limits()]
    if of_process != resource.RLIM_INFINITY:
        limits.append(of_process)
    return min(limits)


def _read_container_limits() -> list[int]:
    """Return the limits of the container; none outside of one."""
    limits = []
    for file in CGROUP_FILES:
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        if text.isdigit():  # otherwise "max"
            limits.append(int(text))
    return limits


def count_most_processes() -> int:
    """Return the largest number of processes that are started on this machine."""
    from joblib import cpu_count

    return MAX_PROCESSES_PER_CORE * int(cpu_count())


def limit_processes(n_asked: int, n_tasks: int) -> int:
    """Return how many processes are started for some tasks.

    Parameters
    ----------
    n_asked : int
        -1 for as many as there are cores.
    n_tasks : int
        What the processes share.
    """
    return n_asked if n_asked < 0 else max(1, min(n_asked, n_tasks, count_most_processes()))


def describe_limit(key: str, n_asked: int) -> tuple[str, ...]:
    """Return a sentence if fewer processes are started than a key asks for; nothing if there are not too many.

    Parameters
    ----------
    key : str
    n_asked : int
    """
    n_most = count_most_processes()
    if n_asked <= n_most:
        return ()
    n_cores = n_most // MAX_PROCESSES_PER_CORE
    return (
        f"{key}={n_asked}: at most {n_most} processes are started, {MAX_PROCESSES_PER_CORE} for each of the {n_cores} "
        "cores, and no more than there is work for.",
    )
