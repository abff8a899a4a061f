"""Tests that need an extra which ``make test`` does not install: they bear the mark ``extra``, with its name.

Where the extra is not installed, they are skipped, with the command that installs it as the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest

PACKAGES: Mapping[str, str] = {
    "docs": "mkdocs",
    "optuna": "optuna",
    "postgres": "psycopg",
    "ray": "ray",
    "slurm": "submitit",
}
"""Extra -> the package that it installs."""


def missing(extra: str) -> str:
    """Return why a test of an extra cannot run; empty if it can."""
    return f'no extra {extra}: pip install ".[{extra}]"' if find_spec(PACKAGES[extra]) is None else ""


def skip_without(item: pytest.Item) -> None:
    """Skip a test whose mark names an extra that is not installed."""
    for mark in item.iter_markers("extra"):
        for extra in mark.args:
            if reason := missing(extra):
                pytest.skip(reason)


def load(extra: str) -> ModuleType:
    """Return the package of an extra; skip the file that calls this where it is not installed."""
    module: Any = pytest.importorskip(PACKAGES[extra], reason=missing(extra))
    return module


def load_oracle(name: str) -> Any:
    """Return a module with which results are compared; skip the test or the file that calls this without it."""
    package = name.partition(".")[0]
    return pytest.importorskip(name, reason=f'no oracle {package}: pip install ".[dev]"')
