"""The provenance of a run: user, machine, versions of packages, and state of the code."""

import getpass
import importlib
import json
import os
import platform
import re
import socket
import subprocess
import time
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bakeoff.pipeline.tracking.heartbeat import identify_process
from bakeoff.version import __version__

VERSIONED_MODULES = {"numpy": "numpy", "scipy": "scipy", "pandas": "pandas", "scikit-learn": "sklearn"}
"""The packages on which a result may depend, and the modules with their versions."""
GIT_TIMEOUT_SECONDS = 10
QUIET_SETTINGS = {"core.fsmonitor": "false", "core.hooksPath": os.devnull}
"""Settings that prevent git from running a monitor or a hook."""
FILTER = re.compile(r"filter\..*\.(clean|process|required)", re.DOTALL)
COMMIT = re.compile("[0-9a-f]{40,64}")
OWN_SCOPES = ("local", "worktree")
"""The scopes of git configurations that come with a repository."""
GIVEN_SCOPE = "command"


@cache
def read_git_state() -> tuple[str, bool] | None:
    """Return the commit of the code, and whether files may differ from it; None outside a repository.

    This is the repository of the current folder; outside a repository, it is the one that contains this file, if any.
    """
    # Experiments are usually run in the repository that holds their configurations and learners.
    for folder in (Path.cwd(), Path(__file__).parent):
        commit = _run_git(folder, "rev-parse", "HEAD")
        if commit:
            # The state of a submodule's files depends on the filters of its own repository.
            return commit, _run_git(folder, "status", "--porcelain", "--ignore-submodules=dirty") != ""
    return None


def count_changed_lines(before: str, after: str) -> str:
    """Return the files and lines of Python that changed between two commits; empty if a commit is not here."""
    if not all(map(COMMIT.fullmatch, (before, after))):
        return ""
    stated = _run_git(Path.cwd(), "diff", "--no-ext-diff", "--no-textconv", "--shortstat", before, after, "--", "*.py")
    return (stated or "").strip()


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
    versions = {"bakeoff": __version__, "python": platform.python_version()}
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


def _run_git(folder: Path, *words: str) -> str | None:
    """Return the output of a git command; None if it fails or there is no git.

    The configuration of a repository made by somebody else may name programs, which git would run to determine the
    state of its files, or to fetch files that a partial clone lacks.
    """
    listed = _call_git(folder, QUIET_SETTINGS, "config", "--list", "--show-scope", "--name-only", "-z") or ""
    scopes, names = listed.split("\0")[::2], listed.split("\0")[1::2]
    if GIVEN_SCOPE not in scopes:
        return None  # a version of git before 2.31, which ignores settings in the environment
    own_names = [name for scope, name in zip(scopes, names, strict=False) if scope in OWN_SCOPES]
    disabled = dict.fromkeys(filter(FILTER.fullmatch, own_names), "")
    return _call_git(folder, QUIET_SETTINGS | disabled, "--no-optional-locks", *words)


def _call_git(folder: Path, settings: Mapping[str, str], *words: str) -> str | None:
    environment = {**os.environ, "GIT_ALLOW_PROTOCOL": "none"}
    try:
        # As an argument, a setting would be split at its first equals sign, which the name of a filter may contain.
        first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
        for number, (name, value) in enumerate(settings.items(), first):
            environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        environment["GIT_CONFIG_COUNT"] = str(first + len(settings))
        result = subprocess.run(
            ["git", *words], cwd=folder, env=environment, capture_output=True, timeout=GIT_TIMEOUT_SECONDS, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(result.stdout).strip() if result.returncode == 0 else None
