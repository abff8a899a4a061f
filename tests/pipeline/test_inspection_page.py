"""The HTML page of an inspection: its numbers, its names, and that it needs nothing but itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from html_page import BROWSER, Page, read_in_browser

from bakeoff.pipeline.inspection.profile import ColumnProfile, Histogram, TableProfile
from bakeoff.pipeline.inspection.report import render_page
from bakeoff.pipeline.stages.dataset import Column

EVIL = '<script>alert("x")</script>'
AGES = Histogram(("0 to 20", "20 to 40", "40 to 80"), (10, 30, 20))
SEXES = Histogram(("female", "male"), (25, 40), n_other=5)
COLUMNS = (
    ColumnProfile(Column("survived", "nominal", "target of classification", "target", 0, 2, ("no", "yes"))),
    ColumnProfile(Column("age", "numeric", "60 cells are numbers", n_missing=10, n_distinct=44), AGES, 0.25),
    ColumnProfile(Column("sex", "nominal", "2 values", n_distinct=2, values=("female", "male")), SEXES, 0.0),
    ColumnProfile(
        Column("name", "text", "4.1 words in a cell", "left out", n_distinct=70, suspicions=(f"name: {EVIL}",)),
        None,
        0.125,
    ),
)
PROFILE = TableProfile(
    name="ships",
    source="/data/ships.csv",
    n_rows=70,
    target="survived",
    task="classification",
    columns=COLUMNS,
    notes=("Left out as free text: name.",),
    suspicions=("3 rows occur more than once.",),
)


@pytest.fixture(scope="module")
def html() -> str:
    return render_page(PROFILE)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_each_column_has_a_row_with_its_facts(page: Page) -> None:
    header, *rows = [[" ".join(cell.split()) for cell in row] for row in page.tables[0]]
    assert header[:5] == ["column", "kind, and why", "missing", "distinct", "values"]
    facts = {row[0]: row[1:4] for row in rows}
    assert facts == {
        "survived target": ["nominal target of classification", "0", "2"],
        "age": ["numeric 60 cells are numbers", "10 (14 %)", "44"],
        "sex": ["nominal 2 values", "0", "2"],
        "name left out": ["text 4.1 words in a cell", "0", "70"],
    }
    assert [row[5] for row in rows] == ["", "0.2500", "0.0000", "0.1250"]


def test_notes_and_suspicions_stand_above_the_columns(page: Page) -> None:
    places = [
        page.text.index(text)
        for text in ("3 rows occur more than once.", f"name: {EVIL}", "Left out as free text: name.", "age")
    ]
    assert places == sorted(places)


def test_the_bars_of_a_histogram_have_the_heights_of_its_counts(page: Page) -> None:
    bars = [(name, value) for tag, name, value in page.attributes if tag == "i"]
    assert [value for name, value in bars if name == "title"][:2] == ["0 to 20: 10 rows", "20 to 40: 30 rows"]
    heights = [value for name, value in bars if name == "style" and value.startswith("height")]
    assert heights == ["height: 33.3%", "height: 100.0%", "height: 66.7%", "height: 62.5%", "height: 100.0%"]
    assert "5 rows with other values" in page.text
    assert "female (25), male (40)" in page.text


def test_cells_of_a_file_cannot_become_elements_of_the_page(html: str, page: Page) -> None:
    assert EVIL not in html
    assert EVIL in page.text
    assert page.elements["script"] == 1


def test_the_page_needs_nothing_but_itself(page: Page) -> None:
    assert page.open == []
    assert page.get("src") == page.get("href") == []


def test_a_table_without_a_target_has_no_associations() -> None:
    columns = tuple(ColumnProfile(each.column, each.histogram) for each in COLUMNS[1:])
    page = Page(render_page(TableProfile("ships", "ships.csv", 70, None, None, columns, (), ())))
    assert "No target was named" in page.text
    assert page.tables[0][0] == ["column", "kind, and why", "missing", "distinct", "values"]


@pytest.mark.external
@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine: install Debian's package of that name")
def test_a_browser_without_a_network_shows_the_page_and_sorts_it(html: str, tmp_path: Path) -> None:
    click = "<script>document.querySelectorAll('thead th')[5].click();</script></body>"
    document, log = read_in_browser(html.replace("</body>", click), tmp_path)
    rows = [row[0].split()[0] for row in Page(document).tables[0][1:]]
    assert rows.index("sex") < rows.index("name") < rows.index("age")
    assert "Uncaught" not in log
