"""The table of what shows what names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
NAMED = sorted(set(re.findall(r"\btest_\w+(?:\.py)?\*?", (TESTS / "COVERAGE.md").read_text())))


@pytest.fixture(scope="module")
def there() -> set[str]:
    """Return the names of all tests and their files."""
    files = list(TESTS.glob("test_*.py"))
    names = {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), flags=re.MULTILINE)}
    return names | {file.name for file in files} | {file.stem for file in files}


@pytest.mark.parametrize("name", NAMED)
def test_what_the_table_names_exists(name: str, there: set[str]) -> None:
    if name.endswith("*"):
        assert any(other.startswith(name[:-1]) for other in there)
    else:
        assert name in there
