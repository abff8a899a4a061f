"""The provenance of a run: user, machine, versions of packages, and state of the code."""

from __future__ import annotations

import getpass
import importlib
import json
import os
import platform
import socket
import subprocess
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import bakeoff
from bakeoff.pipeline.tracking.heartbeat import identify_process

VERSIONED_MODULES = {"numpy": "numpy", "scipy": "scipy", "pandas": "pandas", "scikit-learn": "sklearn"}
"""The packages on which a result may depend, and the modules with their versions."""
GIT_TIMEOUT_SECONDS = 10
QUIET_GIT = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
"""Flags that prevent git from running programs named by a repository, except for file filters."""
FILTERS = r"^filter\..*\.(clean|process)$"
OWN_SCOPES = ("local", "worktree")
"""The scopes of git configurations that come with a repository."""


@cache
def read_git_state() -> tuple[str, bool] | None:
    """Return the commit of the code, and whether files differ from it; None outside a repository.

    This is the repository of the current folder; outside a repository, it is the one that contains this file, if any.
    """
    # Experiments are usually run in the repository that holds their configurations and learners.
    for folder in (Path.cwd(), Path(__file__).parent):
        commit = _run_git(folder, "rev-parse", "HEAD")
        if commit:
            return commit, bool(_run_git(folder, "status", "--porcelain"))
    return None


@cache
def find_user() -> str:
    """Return the name of the user; "unknown" if the machine has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def list_tags() -> dict[str, str]:
    """Return the user, the command, the machine, the versions and the state of the code as tags."""
    tags = {
        "mlflow.user": find_user(),
        "mlflow.source.name": "bakeoff",
        "mlflow.source.type": "LOCAL",
    }
    git_state = read_git_state()
    if git_state is not None:
        commit, is_dirty = git_state
        tags["mlflow.source.git.commit"] = commit
        tags["git_dirty"] = str(is_dirty).lower()
    versions = {"versions": json.dumps(read_versions())}
    return {**tags, **versions, **describe_arithmetic(), **describe_machine(), "heartbeat": f"{time.time():.0f}"}


def describe_machine() -> dict[str, str]:
    """Return the host, this process and the Python version."""
    pid = os.getpid()
    return {
        "python": platform.python_version(),
        "host": socket.gethostname(),
        "pid": str(pid),
        "process": identify_process(pid),
    }


@cache
def read_versions() -> dict[str, str]:
    """Return the versions of bakeoff, Python and the numerical packages: name -> version."""
    versions = {"bakeoff": bakeoff.__version__, "python": platform.python_version()}
    for name, module in VERSIONED_MODULES.items():
        versions[name] = str(importlib.import_module(module).__version__)
    return versions


def describe_arithmetic() -> dict[str, str]:
    """Return what affects the last bits of a sum: the BLAS with its processor type, and the numbers of threads.

    Returns
    -------
    dict of str to str
        ``blas``, such as ``openblas 0.3.30 SkylakeX``, and ``threads``, such as ``{"blas": 1, "openmp": 1}``.
    """
    libraries = find_thread_pools().info()
    threads: dict[str, int] = {}
    names = set()
    for library in libraries:
        kind = str(library["user_api"])
        threads[kind] = max(threads.get(kind, 1), int(library["num_threads"]))
        if kind == "blas":
            words = (library["internal_api"], library["version"], library.get("architecture"))
            names.add(" ".join(str(word) for word in words if word))
    return {"blas": ", ".join(sorted(names)), "threads": json.dumps(threads, sort_keys=True)}


@cache
def find_thread_pools() -> Any:
    """Return threadpoolctl's controller of the libraries with threads; finding them takes 10 ms."""
    # scikit-learn depends on threadpoolctl, which has no type annotations.
    return importlib.import_module("threadpoolctl").ThreadpoolController()


@cache
def pin_versions(*packages: str) -> tuple[str, ...]:
    """Return ``name==version`` of each package that is installed."""
    pinned = []
    for name in packages:
        try:
            pinned.append(f"{name}=={version(name)}")
        except PackageNotFoundError:  # bakeoff itself, in a checkout without installation
            continue
    return tuple(pinned)


def _run_git(folder: Path, *words: str) -> str:
    """Return the output of a git command; empty if it fails or there is no git.

    The configuration of a repository made by somebody else may name programs, which git would run to determine the
    state of its files.
    """
    scoped = _call_git(folder, "config", "--show-scope", "--name-only", "--get-regexp", FILTERS)
    names = [name for scope, _, name in (line.partition("\t") for line in scoped.splitlines()) if scope in OWN_SCOPES]
    disabled = [word for name in names for word in ("-c", f"{name}=")]
    return _call_git(folder, *QUIET_GIT, *disabled, *words)


def _call_git(folder: Path, *words: str) -> str:
    try:
        result = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, timeout=GIT_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""
