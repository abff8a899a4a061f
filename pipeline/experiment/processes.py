"""How many processes are started on this machine."""

from __future__ import annotations

MAX_PROCESSES_PER_CORE = 8
"""More processes than this wait for one another, and each needs memory of its own."""


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
