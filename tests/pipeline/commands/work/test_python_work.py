"""``bakeoff.work``: the calculation of the command, from Python's values."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bakeoff

FRAME = pd.DataFrame({"x": [3.0, 4.0, 1.0, 0.0], "z": [3, 3, 1, 5], "y": ["in", "in", "out", "out"]})
QUERY = {"x": 2.0, "z": 0}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("query", [QUERY, [QUERY], pd.DataFrame([QUERY]), "query.csv", Path("query.csv")])
def test_a_query_is_given_as_a_mapping_a_list_a_table_or_a_file(query: Any) -> None:
    pd.DataFrame([QUERY]).to_csv("query.csv", index=False)
    result = bakeoff.work("learner=perceptron", dataset=FRAME, target="y", query=query)
    assert result.calculation.queries.to_dict("records") == [QUERY]
    assert result.answer == result.learner_answer == ("out",)


def test_a_result_has_steps_with_numbers_and_a_page_for_notebooks() -> None:
    result = bakeoff.work(learner="perceptron", dataset=FRAME, target="y", digits=2)
    updated = next(step for step in result.steps if "b" in step.values)
    assert updated.sentence
    assert updated.formula
    assert set(updated.values) == {"b", "margin"}
    assert repr(result) == f"<WorkResult perceptron on frame by hand: {len(result.steps)} steps, the answer is in>"
    shown = result._repr_html_()
    assert shown.startswith("<iframe ")
    source = shown.partition('srcdoc="')[2].removesuffix('"></iframe>')
    assert '"' not in source
    assert unescape(source) == result.html


def test_rows_and_columns_are_chosen_as_on_the_command_line() -> None:
    result = bakeoff.work("learner=perceptron", dataset=FRAME, target="y", rows=[1, 3], columns=["z"])
    assert result.calculation.table.to_dict("list") == {"z": [3, 1], "y": ["in", "out"]}
    for result in (
        bakeoff.work("learner=perceptron", dataset=FRAME, target="y", rows=3),
        bakeoff.work("learner=perceptron", "rows=3", dataset=FRAME, target="y"),
    ):
        assert len(result.calculation.table) == 3


def test_keys_of_the_command_alone_are_refused() -> None:
    with pytest.raises(bakeoff.UserError, match="query has no z"):
        bakeoff.work("learner=perceptron", dataset=FRAME, target="y", query={"x": 1})
    with pytest.raises(bakeoff.UserError, match="blank= is a key of the command"):
        bakeoff.work("learner=perceptron", dataset=FRAME, target="y", blank=0.3)
