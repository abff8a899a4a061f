"""The memory of this machine, as far as a process may use it."""

from __future__ import annotations

import os
import resource
from pathlib import Path

CGROUP_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux says how much memory a container may use."""
BYTES_OF_GIGABYTE = 10**9


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


def to_gigabytes(n_bytes: float) -> str:
    """Return a number of bytes as a text: ``3.2 GB``."""
    return f"{n_bytes / BYTES_OF_GIGABYTE:,.1f} GB"
