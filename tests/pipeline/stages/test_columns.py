"""Columns: what each is taken for, which cells are missing, and the one spelling of a value."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import Column, Dataset
from bakeoff.pipeline.stages.dataset.convert import convert_columns, convert_like
from bakeoff.pipeline.stages.dataset.keys import ColumnRules, Roles
from bakeoff.pipeline.stages.dataset.loaders import make_dataset
from bakeoff.pipeline.stages.dataset.source import Source


def text(cells: Sequence[str | None]) -> pd.Series:
    """Return cells as a text file gives them."""
    return pd.Series(cells, dtype="string")


def dataset_of(target: str = "y", roles: dict[str, Any] | None = None, /, **columns: Any) -> Dataset:
    """Return a dataset of columns, with a target if none of them is one; keys of rules begin with an underscore."""
    rules = {name.removeprefix("_"): columns.pop(name) for name in list(columns) if name.startswith("_")}
    n = max(len(cells) for cells in columns.values())
    columns.setdefault("y", ["a" if row % 2 else "b" for row in range(n)])
    columns.setdefault("other", [row % 3 for row in range(n)])
    raw = Source(pd.DataFrame(columns), "table", "here")
    return make_dataset(raw, Roles(target, **(roles or {})), ColumnRules(**rules))


def column_of(dataset: Dataset, name: str = "x") -> Column:
    (column,) = (column for column in dataset.columns if column.name == name)
    return column


NUMBERS = [str(row * 7 % 83 / 2) for row in range(100)]


# Kinds


@pytest.mark.parametrize(
    ("cells", "kind", "role"),
    [
        (text(NUMBERS), "numeric", "feature"),
        (text([" 1", "2 ", "3e2", "+.5"] * 10), "numeric", "feature"),
        (text(["a", "b"] * 20), "nominal", "feature"),
        (text(["True", "FALSE"] * 20), "boolean", "feature"),
        ([True, False] * 20, "boolean", "feature"),
        (pd.Categorical(["S", "M"] * 20, categories=["S", "M"], ordered=True), "ordered", "feature"),
        (pd.Categorical([1, 2] * 20), "nominal", "feature"),
        (text([f"{1 + row % 28}.{1 + row % 12}.2020" for row in range(40)]), "date", "left out"),
        (text(["2012/01/01", "2012/01/02"] * 20), "date", "left out"),
        (text(["2020-01-01T10:00:00+02:00", "2020-02-01"] * 20), "date", "left out"),
        (pd.date_range("2020-01-01", periods=40), "date", "left out"),
        ([datetime.date(2020, 1, 1 + row % 28) for row in range(40)], "date", "left out"),
        (text([f"R2D{row}" for row in range(40)]), "identifier", "left out"),
        (text([f"the answer of row {row // 2}" for row in range(80)]), "text", "left out"),
        (text(["never or not often", "every day or so"] * 20), "nominal", "feature"),
        (list(range(40)), "identifier", "left out"),
        (list(range(400, 360, -1)), "identifier", "left out"),
        (list(range(400, 0, -10)), "numeric", "feature"),
        ([row**5 for row in range(40)], "numeric", "feature"),
        ([2**60 + row for row in range(40)], "numeric", "feature"),
        ([row + 0.5 for row in range(40)], "numeric", "feature"),
        ([float(row) for row in range(40)], "identifier", "left out"),
        ([row * 7 % 41 for row in range(40)], "numeric", "feature"),
        ([5] * 40, "constant", "left out"),
        (text(["same"] * 40), "constant", "left out"),
        (text([""] * 40), "constant", "left out"),
        (text(["1.2.10", "1.2.11"] * 20), "nominal", "feature"),
    ],
)
def test_a_column_is_taken_for_what_its_cells_are(cells: Any, kind: str, role: str) -> None:
    column = column_of(dataset_of(x=cells))
    assert (column.kind, column.role) == (kind, role)
    assert column.reason


def test_few_rows_are_no_sign_of_an_identifier_or_a_constant() -> None:
    dataset = dataset_of(row=[1, 2, 3], name=text(["ann", "bob", "eve"]), same=[1, 1, 1])
    assert [column.kind for column in dataset.columns[:3]] == ["numeric", "nominal", "numeric"]
    assert dataset.remarks == ()


def test_what_is_left_out_is_said_with_the_key_that_takes_it_in() -> None:
    columns = {
        "no": list(range(40)),
        "code, old": text([f"R{row}" for row in range(40)]),
        "day": pd.date_range("2020-01-01", periods=40),
        "note": text([f"the answer of row {row}" for row in range(40)]),
        "same": [3] * 40,
    }
    dataset = dataset_of(**columns)
    assert list(dataset.X) == ["other"]
    assert len(dataset.notes) == 4
    assert dataset.notes[0] == (
        "Left out as identifiers: no (whole numbers in the order of the rows: 0, 1, …), code, old (40 different in 40 "
        "cells). 'dataset.keep=[no,\"code, old\"]' includes them."
    )
    kept = dataset_of(**columns, _keep=["no", "code, old", "same"], _dates=["day"], _text=["note"])
    assert list(kept.X) == ["no", "code, old", "day", "note", "same", "other"]
    kinds = ["float64", "category", "datetime64[ns]", "string", "float64", "float64"]
    assert [str(dtype) for dtype in kept.X.dtypes] == kinds
    assert kept.notes == ()


# Missing cells


@pytest.mark.parametrize("spelling", ["?", "-", "n.a.", "N/A", "none", "missing", "NULL", "#N/A", ".", "--"])
def test_spellings_are_missing_only_among_numbers(spelling: str) -> None:
    numbers = column_of(dataset_of(x=text([*NUMBERS[:98], spelling, spelling])))
    assert (numbers.kind, numbers.n_missing) == ("numeric", 2)
    assert numbers.suspicions[0].startswith(
        f"x: 98 of 100 cells are numbers; the others, {spelling!r} (2 cells), are treated"
    )
    words = column_of(dataset_of(x=text(["a", "b", spelling, "b"] * 10)))
    assert (words.kind, words.n_missing, words.n_distinct) == ("nominal", 0, 3)
    assert words.suspicions[0].startswith(f"Read as values: {spelling!r} in x. ")
    assert "dataset.na_values=[" in words.suspicions[0]
    named = column_of(dataset_of(x=text(["a", "b", spelling, "b"] * 10), _na_values=[spelling]))
    assert (named.n_missing, named.n_distinct, named.suspicions) == (10, 2, ())


def test_words_among_nominal_cells_are_one_line_for_all_columns() -> None:
    columns = {name: text(["a", "b", word, "b"] * 10) for name, word in zip("xzw", ("k.A.", "-", "n/d"), strict=True)}
    dataset = dataset_of(**columns, v=text(["a", "NA", "-", "b"] * 10), _na_values=None)
    lines = [line for line in dataset.remarks if "Read as values" in line]
    assert lines == [
        "Read as values: 'k.A.', '-', 'n/d' in x, z, w, v. 'dataset.na_values=[k.A.,\"-\",n/d]' treats such cells as "
        "missing."
    ]
    named = dataset_of(**columns, _na_values={"x": [], "z": ["-"], "w": ["n/d"]})
    assert not named.remarks


@pytest.mark.parametrize("spelling", ["", "NA", "NaN", "  ", None])
def test_some_cells_are_missing_in_every_column(spelling: str | None) -> None:
    assert column_of(dataset_of(x=text(["a", "b", spelling, "b"] * 10))).n_missing == 10
    with pytest.raises(UserError, match=r"dataset.target='y' has 10 missing cells"):
        dataset_of(y=text(["a", "b", spelling, "b"] * 10))


def test_a_column_may_have_its_own_spellings_of_missing_cells() -> None:
    cells = text(["NA", "DE", "?", "NA"] * 10)
    column = column_of(dataset_of(x=cells, _na_values={"x": ["?"]}))
    assert (column.values, column.n_missing) == (("DE", "NA"), 10)
    with pytest.raises(UserError, match=r"dataset.na_values='z' is not a column"):
        dataset_of(x=cells, _na_values={"z": ["?"]})


@pytest.mark.parametrize("cells", [[-999, 3, 4, 5] * 10, text(["-999.0", "3", "4", "5"] * 10), [-999.0, 3, 4, 5] * 10])
def test_a_number_that_stands_for_a_missing_cell_is_compared_as_a_number(cells: Any) -> None:
    dataset = dataset_of(x=cells, _na_values=[-999])
    assert column_of(dataset).n_missing == 10
    assert dataset.X["x"].dropna().unique().tolist() == [3, 4, 5]


def test_spellings_are_never_missing_in_the_target() -> None:
    classes = dataset_of(y=text(["0", "1", "?", "1"] * 10))
    assert classes.classes.tolist() == ["0", "1", "?"]
    kept = dataset_of("y", {"drop_missing_target": True}, y=text([*NUMBERS[:98], "?", "?"]), _na_values=["?"])
    assert (kept.task, len(kept.y)) == ("regression", 98)
    assert kept.notes[0] == "2 of 100 rows are left out, because their target is missing."


# One spelling


def test_a_value_has_one_spelling_in_whatever_form_it_arrives() -> None:
    truths = [
        text(["True", "false", "TRUE", "False"] * 10),
        text(["true", "false", "true", "false"] * 10),
        [True, False, True, False] * 10,
        pd.array([True, False, True, False] * 10, dtype="boolean"),
        pd.Categorical([True, False, True, False] * 10),
        pd.Categorical(["True", "False", "True", "False"] * 10),
    ]
    assert {tuple(dataset_of(x=cells).X["x"]) for cells in truths} == {("true", "false") * 20}
    codes = [
        text(["1", "2.0", "", "3"] * 10),
        [1.0, 2.0, np.nan, 3.0] * 10,
        pd.array([1, 2, None, 3] * 10, dtype="Int64"),
        pd.Categorical([1, 2, None, 3] * 10),
        pd.Categorical([1.0, 2.0, None, 3.0] * 10),
        pd.Series([Decimal(1), Decimal("2.0"), None, 3] * 10, dtype=object),
        pd.Series(["1", 2, None, 3.0] * 10, dtype=object),
    ]
    datasets = [dataset_of(x=cells, _nominal=["x"]) for cells in codes]
    assert len({dataset.digest() for dataset in datasets}) == 1
    assert column_of(datasets[0]).values == ("1", "2", "3")


@pytest.mark.parametrize("cells", [text(["007", "010"] * 20), pd.Categorical(["007", "010"] * 20)])
def test_a_code_with_leading_zeros_stays_text_where_a_column_is_nominal_or_the_target(cells: Any) -> None:
    assert column_of(dataset_of(x=cells, _nominal=["x"])).values == ("007", "010")
    assert dataset_of(y=cells).classes.tolist() == ["007", "010"]


def test_32_bit_numbers_are_what_their_spelling_says() -> None:
    short = dataset_of(x=np.array([0.1, 0.2, 2.5, 7.0] * 10, dtype=np.float32))
    assert short.X["x"][:4].tolist() == [0.1, 0.2, 2.5, 7.0]


# Suspicions


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (text(["a ", "a", "b", "b"] * 10), "'a' and 'a ' are two values"),
        (text(["café", "cafe\u0301", "b", "b"] * 10), r"'cafe\u0301' and 'caf\xe9' are two values"),
        (text(["m²", "m2", "b", "b"] * 10), "'m2' and 'm²' are two values"),
        (text(["Ａ", "A", "b", "b"] * 10), "'A' and 'Ａ' are two values"),
        (text(["1\u00a0x", "1 x", "b", "b"] * 10), r"'1 x' and '1\xa0x' are two values"),
        (text(["0", "1", "32", "243", *map(str, range(1024, 1060))]), "ascend from row to row"),
        ([2**60 + row * 7 % 40 for row in range(40)], "numbers beyond 2**53 lose their last digits"),
    ],
)
def test_what_may_be_wrong_with_a_column_is_said(cells: Any, sentence: str) -> None:
    dataset = dataset_of(x=cells)
    (found,) = (each for each in dataset.remarks if sentence in each)
    assert found.startswith("x: ")


@pytest.mark.parametrize("roles", [{}, {"time": "x"}])
def test_years_of_two_digits_have_a_line_about_their_century(roles: dict[str, Any]) -> None:
    days = text([f"{1 + row % 28:02}/03/{row + 50:02}" for row in range(40)])
    dataset = dataset_of("y", roles, x=days, _dates={"x": "%d/%m/%y"})
    (line,) = (each for each in dataset.remarks if "two digits" in each)
    assert line.startswith("x: years of two digits are read as 1969 to 2068, '01/03/50' as 2050")
    years = text([f"{1 + row % 28:02}/03/{row + 1950}" for row in range(40)])
    assert not [each for each in dataset_of(x=years, _dates={"x": "%d/%m/%Y"}).remarks if "two digits" in each]


# Declared kinds


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"_dates": ["x"]}, r"dataset.dates names 'x', but no format fits all its cells"),
        ({"_ordered": {"x": ["1"]}}, r"dataset.ordered gives 'x' the values \['1'\]; it needs a list of two or more"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        dataset_of(x=text(["1", "2", "12 mm", "1"] * 10), **rules)


def test_declared_kinds_win_over_what_cells_look_like() -> None:
    dataset = dataset_of(
        size=text(["S", "M", "L", "M"] * 10),
        year=[2020, 2021] * 20,
        day=text(["01/02/2020", "03/02/2020"] * 20),
        _ordered={"size": ["S", "M", "L"]},
        _nominal=["year"],
        _dates={"day": "%d/%m/%Y"},
    )
    assert dataset.X["size"].cat.ordered
    assert dataset.X["size"].cat.categories.tolist() == ["S", "M", "L"]
    assert column_of(dataset, "year").values == ("2020", "2021")
    assert dataset.X["day"].dt.month.unique().tolist() == [2]


def test_cells_of_other_types_are_refused() -> None:
    with pytest.raises(UserError, match=r"'x': cells of type list are not supported. .*dataset.drop=\[x\]"):
        dataset_of(x=[[1], [2]] * 20)


# Columns that say something about rows


def test_columns_of_rows_are_read_in_whatever_form_they_arrive() -> None:
    roles = {"weights": "w", "split": "part", "time": "day"}
    dataset = dataset_of(
        "y",
        roles,
        w=text(["1", "0.5"] * 20),
        part=text(["Train", "TEST", "Validation", "train"] * 10),
        day=text([f"{1 + row % 28}.1.2020" for row in range(40)]),
    )
    assert dataset.weights is not None
    assert dataset.parts is not None
    assert dataset.times is not None
    assert dataset.weights[:2].tolist() == [1.0, 0.5]
    assert dataset.parts[:4].tolist() == ["train", "test", "validation", "train"]
    assert dataset.times[1] == np.datetime64("2020-01-02")
    assert [column_of(dataset, name).role for name in ("w", "part", "day")] == ["weights", "split", "time"]


@pytest.mark.parametrize(
    ("role", "cells", "message"),
    [
        ("weights", ["1", "?"] * 20, r"dataset.weights='x' holds '\?' in row 2; weights must be finite and non-neg"),
        ("weights", ["1", "-1"] * 20, "dataset.weights='x' (holds|must)"),
        ("split", ["train", "later"] * 20, "dataset.split='x' holds 'later'; allowed are train, validation and test"),
        (
            "time",
            ["2020-01-01", "soon"] * 20,
            r"dataset.time='x' must hold numbers or dates, but 'soon' in row 2 is not a date such as '2020-01-01'",
        ),
        ("time", ["01/02/2020", "02/03/2020"] * 20, "have the day or the month first"),
        ("folds", ["1", ""] * 20, "dataset.folds='x' has 20 missing cells"),
    ],
)
def test_columns_of_rows_are_checked(role: str, cells: Sequence[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        dataset_of("y", {role: "x"}, x=text(cells))


# Further rows


def test_further_rows_get_the_kinds_of_training() -> None:
    trained = dataset_of(
        n=text(NUMBERS[:40]),
        flag=text(["true", "false"] * 20),
        size=text(["S", "M"] * 20),
        day=text(["31.1.2020", "1.2.2020"] * 20),
        code=text(["1", "2"] * 20),
        _ordered={"size": ["S", "M"]},
        _dates=["day"],
        _nominal=["code"],
    )
    features = [column for column in trained.columns if column.role == "feature"]
    further = pd.DataFrame(
        {
            "n": [1, 2, None],
            "flag": [True, False, True],
            "size": ["M", "XL", "S"],
            "day": pd.to_datetime(["2020-02-01"] * 3),
            "code": [1.0, 2.0, 7.0],
            "other": [1, 2, 0],
        }
    )
    rows = convert_like(further, features, ColumnRules())
    assert rows.frame["flag"].tolist() == ["true", "false", "true"]
    assert rows.frame["code"].tolist() == ["1", "2", "7"]
    assert rows.frame.dtypes.drop(["size", "code"]).equals(trained.X.dtypes.drop(["size", "code"]))
    assert [column.n_missing for column in rows.columns] == [1, 0, 0, 0, 0, 0]


def test_a_declared_value_is_not_missing_even_if_it_is_spelled_like_a_missing_cell() -> None:
    frame = pd.DataFrame({"answer": pd.array(["NA", "yes", "", "NA"], dtype="string")})
    declared = {"answer": ("NA", "yes")}
    given = convert_columns(frame, ColumnRules(), declared).frame["answer"]
    assert given.tolist()[:2] == ["NA", "yes"]
    assert given.isna().tolist() == [False, False, True, False]
    named = convert_columns(frame, ColumnRules(na_values=["NA"], keep=["answer"]), declared)
    assert named.frame["answer"].isna().tolist() == [True, False, True, True]
    assert convert_columns(frame, ColumnRules(keep=["answer"])).frame["answer"].isna().sum() == 3
