"""Doctests of studies need the extra ``optuna``; modules that cannot be imported without it are not collected."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("optuna") else ["bakeoff/pipeline/commands/search/*"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark these doctests as the tests of an extra are marked."""
    for item in items:
        if "bakeoff/pipeline/commands/search/" in item.nodeid:
            item.add_marker(pytest.mark.extra("optuna"))
