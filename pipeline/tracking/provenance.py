"""Where a run comes from: user, machine, versions, and the state of the code."""

from __future__ import annotations

import getpass
import os
import platform
import socket
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@cache
def git_state() -> tuple[str, bool] | None:
    """Return the commit of the code and whether files differ from it; None outside a repository.

    The current folder's repository counts; an installed command outside one looks where its own code lies.
    """
    for folder in (Path.cwd(), Path(__file__).parent):
        commit = _git(folder, "rev-parse", "HEAD")
        if commit:
            return commit, bool(_git(folder, "status", "--porcelain"))
    return None


@cache
def user() -> str:
    """Return the name of whoever runs this; "unknown" where the machine has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def machine() -> dict[str, str]:
    """Return host, process and Python version."""
    return {"host": socket.gethostname(), "pid": str(os.getpid()), "python": platform.python_version()}


@cache
def pinned(*packages: str) -> tuple[str, ...]:
    """Return ``name==version`` of each installed package."""
    found = []
    for name in packages:
        try:
            found.append(f"{name}=={version(name)}")
        except PackageNotFoundError:  # run from a checkout that was not installed
            continue
    return tuple(found)


def _git(folder: Path, *words: str) -> str:
    try:
        answer = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
