"""An inspection: kinds, histograms and suspicions of real tables, on the terminal as well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff
from html_page import Page
from wheel_data import TARGETS, wheel_frame

from bakeoff.pipeline.commands.inspect.inspect_table import inspect_source
from bakeoff.pipeline.commands.inspect.profile import (
    MAX_BARS,
    ColumnProfile,
    Histogram,
    TableProfile,
    count_cells,
    find_pairs,
    measure_association,
    render_page,
)
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.stages.dataset import Column
from bakeoff.pipeline.stages.dataset.keys import ColumnRules, Roles
from bakeoff.pipeline.stages.dataset.source import Source, make_source

DRAW = np.random.default_rng(0)
MEASURED = (
    "id;size;price;colour;day;fixed;${odd}: name;y\n"
    + "".join(
        f"K{row:04}x;{row // 2},5 cm;1.{row * 37 % 1000:03},50;{['red', 'blue', '?'][row * 7 % 3]};"
        f"{row % 28 + 1:02}.02.2024;1;{row % 4};{['yes', 'no'][row % 3 > 0]}\n"
        for row in range(60)
    ),
    ["target=last", "keep=[day]", "na_values=['?']", "positive=yes", "drop=[fixed]"],
)
DECLARED = (
    "@relation r\n@attribute size {small,medium,large}\n@attribute x real\n@attribute y {b,a}\n@data\n"
    + "".join(f"{['small', 'large', '?'][row % 3]},{row * 7 % 11}.5,{'ba'[row % 2]}\n" for row in range(30)),
    ["target=y", "drop=[]"],
)
PRICES = ("x,size,y\n" + "".join(f"{row % 9},{'SML'[row % 3]},{row * 1.5} €\n" for row in range(40)), ["target=y"])
PRICES[1].append("ordered={size: [S,M,L]}")


def inspect(name: str, target: str | None = "", **rules: list[str]) -> TableProfile:
    chosen = TARGETS[name] if target == "" else target
    raw = Source(wheel_frame(name), name, "wheel")
    return inspect_source(raw, Roles(str(chosen)), ColumnRules(**rules), chosen)  # type: ignore[arg-type]


def count(cells: pd.Series) -> Histogram:
    """Return the histogram of cells that have one."""
    histogram = count_cells(cells)
    assert histogram is not None
    return histogram


def find(profile: TableProfile, name: str) -> ColumnProfile:
    return next(each for each in profile.columns if each.column.name == name)


@pytest.fixture(scope="module")
def titanic() -> TableProfile:
    return inspect("titanic")


def test_every_column_of_the_source_is_listed_in_its_order(titanic: TableProfile) -> None:
    assert [each.column.name for each in titanic.columns] == wheel_frame("titanic").columns.tolist()
    assert (titanic.n_rows, titanic.target, titanic.task) == (1309, "survived", "classification")
    roles = {each.column.name: each.column.role for each in titanic.columns}
    assert [name for name, role in roles.items() if role == "left out"] == ["name", "ticket", "cabin", "home.dest"]
    assert roles["survived"] == "target"


def test_histograms_count_every_cell_that_is_there(titanic: TableProfile) -> None:
    for each in titanic.columns:
        if each.column.kind in ("text", "identifier"):
            assert each.histogram is None
            continue
        assert each.histogram is not None
        assert sum(each.histogram.counts) + each.histogram.n_other == 1309 - each.column.n_missing
        assert len(each.histogram.counts) == len(each.histogram.labels) <= MAX_BARS
    sex = find(titanic, "sex").histogram
    assert sex is not None
    assert dict(zip(sex.labels, sex.counts, strict=True)) == {"female": 466, "male": 843}


def test_numbers_have_quantiles_that_are_cells(titanic: TableProfile) -> None:
    ages = pd.to_numeric(wheel_frame("titanic")["age"]).dropna()
    quantiles = find(titanic, "age").quantiles
    assert [float(quantiles[name]) for name in ("least", "median", "greatest")] == pytest.approx(
        [ages.min(), ages.median(), ages.max()], rel=1e-5
    )
    assert find(titanic, "sex").quantiles == {}


def test_pairs_of_columns_that_tell_the_same_are_listed_first() -> None:
    codes = DRAW.integers(0, 3, 300)
    X = pd.DataFrame({
        "noise": DRAW.random(300),
        "code": codes.astype(float),
        "name": pd.Categorical(np.array(["a", "b", "c"])[codes]),
        "fixed": 1.0,
    })  # fmt: skip
    (pair,) = find_pairs(X)
    assert (pair.first, pair.second) == ("code", "name")
    assert pair.association == pytest.approx(1)


def test_associations_of_left_out_columns_are_measured_too(titanic: TableProfile) -> None:
    cells = wheel_frame("titanic")
    y = cells["survived"].to_numpy()
    for name in ("sex", "boat", "name", "ticket"):
        assert find(titanic, name).association == pytest.approx(measure_association(cells[name], y))
    assert find(titanic, "age").association == pytest.approx(measure_association(pd.to_numeric(cells["age"]), y))
    assert find(titanic, "survived").association is None


def test_dropped_columns_and_columns_of_rows_have_their_roles() -> None:
    roles = Roles("survived", groups="ticket")
    raw = Source(wheel_frame("titanic"), "titanic", "wheel")
    for target in ("survived", None):
        profile = inspect_source(raw, roles, ColumnRules(drop=["boat"]), target)
        assert find(profile, "boat").column.role == "dropped"
        assert find(profile, "ticket").column.role == "groups"
        assert find(profile, "boat").histogram is not None


def test_rows_without_a_target_are_left_out_of_every_number() -> None:
    frame = wheel_frame("penguins")
    frame.loc[:9, "species"] = np.nan
    raw = Source(frame, "penguins", "wheel")
    named = inspect_source(raw, Roles("species"), ColumnRules(), "species")
    assert named.suspicions[0].startswith(
        "dataset.target='species' has 10 missing cells in penguins; remove those rows,"
    )
    profile = inspect_source(raw, Roles("species", drop_missing_target=True), ColumnRules(), "species")
    assert replace(named, suspicions=named.suspicions[1:]) == profile
    assert profile.n_rows == len(frame) - 10
    for each in profile.columns:
        assert each.histogram is not None
        assert sum(each.histogram.counts) + each.histogram.n_other == profile.n_rows - each.column.n_missing


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1.0, 1e9, 1e300])
def test_ranges_are_few_round_and_hold_every_number(scale: float) -> None:
    for numbers in (DRAW.normal(size=500), DRAW.lognormal(size=500), DRAW.integers(0, 50, 500) * 1.0):
        histogram = count(pd.Series(numbers * scale))
        assert sum(histogram.counts) == 500
        assert 4 <= len(histogram.counts) <= MAX_BARS


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pd.Series([3.0, 1.0, 3.0, np.nan]), Histogram(("1", "3"), (1, 2))),
        (pd.Series([np.inf, 1.0, -np.inf, 2.0]), Histogram(("1", "2"), (1, 1), 2)),
        (
            pd.Series(pd.Categorical(["L", "S", "S"], categories=["S", "M", "L"], ordered=True)),
            Histogram(("S", "L"), (2, 1)),
        ),
        (pd.Series([np.nan, np.nan]), None),
        (pd.Series([np.nan, np.inf]), None),
    ],
    ids=["few numbers", "infinite numbers", "ordered values", "missing cells", "no finite number"],
)
def test_few_values_have_a_bar_each(cells: pd.Series, expected: Histogram | None) -> None:
    assert count_cells(cells) == expected


def test_of_many_values_the_most_frequent_have_bars() -> None:
    values = [f"v{row:02}" for row in range(30) for _ in range(1 + (row >= 20))]
    expected = [*(f"v{row}" for row in range(20, 30)), "v00", "v01"]
    histogram = count(pd.Series(values, dtype="category"))
    assert (list(histogram.labels), histogram.counts, histogram.n_other) == (expected, (2,) * 10 + (1, 1), 18)
    ordered = count(pd.Series(pd.Categorical(values, sorted(set(values)), ordered=True)))
    assert list(ordered.labels) == sorted(expected)


@pytest.mark.parametrize(
    ("days", "first", "n"),
    [(10, "2020-01-01", 10), (6000, "2020-01-01 to 2021-05-14", 12)],
)
def test_dates_are_counted_by_day_or_by_range(days: int, first: str, n: int) -> None:
    histogram = count(pd.Series(pd.date_range("2020-01-01", periods=days)))
    assert (histogram.labels[0], len(histogram.labels), sum(histogram.counts)) == (first, n, days)


# The command


def test_classes_with_fewer_rows_than_the_folds_of_a_cross_validation_are_suspicious(bakeoff: Bakeoff) -> None:
    rows = "".join(f"{i},{label}\n" for i, label in enumerate("aaaaabbbbcc"))
    (bakeoff.folder / "zoo.csv").write_text(f"x,y\n{rows}")
    answer = bakeoff("inspect", "zoo.csv", "target=y")
    assert "test classes with fewer than 5 rows: b (4 rows), c (2 rows)" in " ".join(answer.out.split())
    assert "dataset.task" not in answer.out
    (bakeoff.folder / "longley.csv").write_text("x,y\n" + "".join(f"{i},{60000 + i * i}\n" for i in range(16)))
    answer = bakeoff("inspect", "longley.csv", "target=y")
    assert "if the whole numbers are amounts, give dataset.task=regression" in " ".join(answer.out.split())


def test_the_command_prints_a_row_for_each_column_and_a_line_for_each_suspicion(bakeoff: Bakeoff) -> None:
    wheel_frame("titanic").to_csv(bakeoff.folder / "it's a file.csv", index=False)
    answer = bakeoff("inspect", "it's a file.csv", "target=survived", "output=none")
    assert answer.status == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0] == "it's a file: 1309 rows, 14 columns, classification of survived"
    boat = next(line for line in lines if line.startswith("boat")).split()
    assert boat[:5] == ["boat", "nominal", "823", "27", "0.9023"]
    assert sum("column 'bo" in line for line in lines) == 2
    assert not (bakeoff.folder / "outputs").exists()


def test_the_command_reads_other_formats_several_files_and_named_datasets(bakeoff: Bakeoff) -> None:
    frame = wheel_frame("penguins")
    frame[:200].to_csv(bakeoff.folder / "a.csv", index=False)
    frame[200:].to_csv(bakeoff.folder / "b.csv", index=False)
    answer = bakeoff("inspect", "a.csv", "b.csv", "dataset.target=species", "drop=[sex]", "output=none")
    assert "344 rows" in answer.out
    assert "dropped" in answer.out
    answer = bakeoff("inspect", "dataset=iris", "output=none")
    assert answer.out.startswith("iris: 150 rows, 5 columns")


def test_the_command_writes_a_page_beside_the_table(bakeoff: Bakeoff) -> None:
    wheel_frame("penguins").to_csv(bakeoff.folder / "p.csv", index=False)
    assert bakeoff("inspect", "p.csv", "target=species").out.splitlines()[-1] == "page  p.inspection.html"
    page = (bakeoff.folder / "p.inspection.html").read_text()
    assert "Chinstrap" in page
    assert bakeoff("inspect", "p.csv", "target=species", "output=other.html").status == 0
    assert (bakeoff.folder / "other.html").read_text() == page


def test_a_password_is_refused_and_not_repeated(bakeoff: Bakeoff) -> None:
    answer = bakeoff("inspect", "dataset=sql", "dataset.url=postgresql://me:secret@host/x")
    assert answer.status == 2
    assert "contains a password" in answer.err
    assert "secret" not in answer.err
    assert [*bakeoff.folder.iterdir()] == []


# The page

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
    assert header[:5] == ["column", "values", "kind, and why", "missing", "distinct"]
    facts = {row[0]: row[2:5] for row in rows}
    assert facts == {
        "survived target": ["nominal target of classification", "0", "2"],
        "age": ["numeric 60 cells are numbers", "10 (14 %)", "44"],
        "sex": ["nominal 2 values", "0", "2"],
        "name left out": ["text 4.1 words in a cell", "0", "70"],
    }
    assert [row[5] for row in rows] == ["", "0.2500", "0.0000", "0.1250"]


def test_the_bars_of_a_histogram_have_the_heights_of_its_counts(page: Page) -> None:
    bars = [(name, value) for tag, name, value in page.attributes if tag == "i"]
    assert [value for name, value in bars if name == "title"][:2] == ["0 to 20: 10 rows", "20 to 40: 30 rows"]
    heights = [value for name, value in bars if name == "style" and value.startswith("height")]
    assert heights == ["height: 33.3%", "height: 100.0%", "height: 66.7%", "height: 62.5%", "height: 100.0%"]
    assert "5 rows with other values" in page.text
    assert "male (40), female (25)" in page.text


def test_cells_of_a_file_become_no_elements_of_the_page_which_needs_nothing_but_itself(html: str, page: Page) -> None:
    assert EVIL not in html
    assert EVIL in page.text
    assert page.elements["script"] == 2  # both of the page
    assert page.open == []
    assert page.get("src") == page.get("href") == []


@pytest.mark.parametrize(
    ("days", "is_order"),
    [
        (pd.date_range("2024-01-01", periods=40), True),
        (pd.date_range("2024-01-01", periods=40)[::-1].strftime("%d.%m.%Y"), True),
        (pd.date_range("2024-01-01", periods=40).strftime("%m/%d/%Y"), True),
        (pd.date_range("2024-01-01", periods=20).repeat(2), True),
        (pd.date_range("2024-01-01", periods=40).where(np.arange(40) % 5 > 0), True),
        (pd.date_range("2024-01-01", periods=40)[DRAW.permutation(40)], False),
        (pd.DatetimeIndex(["2024-01-01", "2024-02-01"]).repeat(20), False),
    ],
    ids=["dates", "descending text", "month first", "twice", "missing", "shuffled", "two days"],
)
def test_rows_in_the_order_of_a_date_are_suspicious(days: pd.Index, is_order: bool) -> None:
    frame = pd.DataFrame({"day": days, "x": DRAW.normal(size=40), "y": ["a", "b"] * 20})
    line = (
        "BK10 dataset=sales: the rows are in the order of the dates in column 'day'; if later rows are to be predicted "
        "from earlier ones, add dataset.time=day evaluation=time_series."
    )
    for target in ("y", None):
        found = inspect_source(make_source(frame, "sales"), Roles("y"), ColumnRules(), target).suspicions
        assert (line in found) == is_order
    timed = inspect_source(make_source(frame.dropna(), "sales"), Roles("y", time="day"), ColumnRules(), "y")
    assert not any("in the order" in sentence for sentence in timed.suspicions)


@pytest.mark.parametrize("target", ["y", None])
def test_rows_that_are_no_cases_are_suspicious(target: str | None) -> None:
    frame = pd.DataFrame({"x": [1.5, 2.5, 4.5, 8.5], "name": ["a", "b", "c", "Total"], "y": [1.5, 2.5, 3.5, 7.5]})
    profile = inspect_source(make_source(frame, "sales"), Roles("y"), ColumnRules(), target)
    found = [sentence for column in profile.columns for sentence in column.column.suspicions]
    assert found[0].startswith(
        "Rows that may be no cases: sums of other rows, as with 'Total'; dataset.drop_rows=[Total]"
    )


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [("my.csv", *MEASURED), ("my.arff", *DECLARED), ("my.csv", *PRICES)],
    ids=["signs, units and columns without use", "declared values", "a regression on ordered values"],
)
def test_the_yaml_of_a_file_reads_the_same_rows(bakeoff: Bakeoff, name: str, text: str, words: list[str]) -> None:
    (bakeoff.folder / name).write_text(text, encoding="utf-8")
    (bakeoff.folder / "conf" / "dataset").mkdir(parents=True)
    answer = bakeoff("inspect", name, *words, "to=yaml", "output=conf/dataset/mine.yaml")
    assert (answer.status, answer.out) == (0, "yaml  conf/dataset/mine.yaml\n"), answer.err
    quoted = ["dataset=file", f"dataset.path={name}", *(f"dataset.{word}" for word in words)]
    found, given = (
        build_object(compose_parts(chosen, ["dataset"])["dataset"], "dataset", [])
        for chosen in (["dataset=mine"], quoted)
    )
    assert (found.digest(), found.target, found.task) == (given.digest(), given.target, given.task)
    pd.testing.assert_frame_equal(found.X, given.X)
    guesses = [note for note in found.notes if "assumed" in note or "units" in note or "Left out" in note]
    assert guesses == []


def test_the_yaml_of_a_file_gives_the_reason_of_each_key(bakeoff: Bakeoff) -> None:
    (bakeoff.folder / "my.csv").write_text(MEASURED[0], encoding="utf-8")
    out = bakeoff("inspect", "my.csv", *MEASURED[1], "to=yaml").out
    assert not [*bakeoff.folder.glob("*.html")]
    for line in (
        "# 60 rows of my, classification of y.",
        "separator: semicolon  # The separator is assumed to be a semicolon",
        "thousands: point  # The comma in columns 'size', 'price' is assumed to be a decimal sign. The point in",
        "  - size  # numeric: its cells are numbers",
        "  - id  # identifier: 60 different in 60 cells",
        "  size: cm  # left out of the numbers",
        "na_values: ['?']",
    ):
        assert f"\n{line}" in f"\n{out}"
