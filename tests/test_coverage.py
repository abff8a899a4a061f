"""The table of what shows what, and the page on security, name tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TABLE = (TESTS / "COVERAGE.md").read_text()
SECURITY = (TESTS.parent / "docs" / "security.md").read_text()
PROMISES = re.findall(
    r"^(?:- |\| .*\d).*(?:\n  .*)*", SECURITY.partition("\n## What is not promised")[0], flags=re.MULTILINE
)
"""The points of the page, and the rows of its table of limits."""
NAMED = sorted(set(re.findall(r"\btest_\w+(?:\.py)?\*?", TABLE + SECURITY)))
PLACED = sorted(set(re.findall(r"\b(test_\w+\.py)::(test_\w+)\b(?!\*)", TABLE)))


@pytest.fixture(scope="module")
def there() -> set[str]:
    """Return the names of all tests and their files."""
    files = list(TESTS.rglob("test_*.py"))
    names = {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), flags=re.MULTILINE)}
    return names | {file.name for file in files} | {file.stem for file in files}


@pytest.mark.parametrize("name", NAMED)
def test_what_the_table_names_exists(name: str, there: set[str]) -> None:
    if name.endswith("*"):
        assert any(other.startswith(name[:-1]) for other in there)
    else:
        assert name in there


@pytest.mark.parametrize(("file", "name"), PLACED)
def test_what_the_table_names_stands_in_the_file_it_names(file: str, name: str) -> None:
    assert re.search(rf"^def {name}\b", next(TESTS.rglob(file)).read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("number", sorted({*range(1, 25)} - {10}))
def test_every_worked_number_has_its_row(number: int) -> None:
    rows = [line.split("|")[1] for line in TABLE.splitlines() if line.startswith("|")]
    spans = [range(int(first), int(last) + 1) for row in rows for first, last in re.findall(r"W(\d+)-(\d+)", row)]
    assert any(f"W{number}" in re.findall(r"W\d+", row) for row in rows) or any(number in span for span in spans)


@pytest.mark.parametrize("promise", PROMISES)
def test_each_promise_of_the_page_on_security_names_what_tries_to_break_it(promise: str) -> None:
    rows = re.findall(r"`(bad_inputs/\w+\.yaml)`", promise)
    assert rows or re.search(r"`test_\w+`", promise)
    assert [row for row in rows if not (TESTS / row).is_file()] == []
