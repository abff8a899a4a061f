"""``bakeoff.ship`` and ``bakeoff.inspect``: as the commands, on results and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import command_in
from sklearn.naive_bayes import GaussianNB
from small_tables import make_frame

import bakeoff

pytestmark = [pytest.mark.filterwarnings("ignore::bakeoff.BakeoffWarning"), pytest.mark.usefixtures("folder")]


def test_the_shipped_model_is_the_procedure_fitted_on_all_rows_of_the_table(folder: Path) -> None:
    frame = make_frame()
    result = bakeoff.run(learner="sklearn_naive_bayes", dataset=frame, target="y")
    model = bakeoff.ship(result, "mine@champion")
    rows = frame[["size", "noise"]]
    by_hand = GaussianNB().fit(rows, frame["y"]).predict_proba(rows)
    np.testing.assert_allclose(model.predict(rows)["probability_yes"], by_hand[:, 1])
    assert model.record.describe_rows() == "fitted on all 60 rows"
    pd.testing.assert_frame_equal(bakeoff.load("mine@champion").predict(rows), model.predict(rows))
    rows.to_csv("new.csv", index=False)
    with command_in(folder) as command:
        assert command("predict", "mine@champion", "new.csv", "output=answers.csv").status == 0
    written = pd.read_csv("answers.csv")
    assert written["prediction"].tolist() == model.predict(rows)["prediction"].tolist()


def test_the_best_run_of_a_sweep_is_shipped_with_a_word_on_its_score() -> None:
    result = bakeoff.sweep(learner=["majority", "naive_bayes"], dataset=make_frame(), target="y")
    with pytest.warns(bakeoff.BakeoffWarning) as caught:
        model = bakeoff.ship(result, "mine")
    assert model.record.run_id == result.best_run
    assert any("2 configurations" in str(warning.message) for warning in caught)


def test_a_result_that_is_not_stored_is_refused() -> None:
    unstored = bakeoff.run(learner="majority", dataset="wine", tracking="none")
    with pytest.raises(bakeoff.UserError, match="is not stored"):
        bakeoff.ship(unstored, "mine")


def test_an_inspection_is_that_of_the_same_file(folder: Path) -> None:
    frame = make_frame().assign(id=[f"k{i}" for i in range(60)])
    frame.to_csv("frame.csv", index=False)
    by_table = bakeoff.inspect(frame, target="y")
    by_file = bakeoff.inspect(Path("frame.csv"), target="y")
    pd.testing.assert_frame_equal(by_table.table, by_file.table)
    assert by_table.notes == by_file.notes
    assert by_table.table.loc[["id"], "role"].tolist() == ["left out"]
    assert by_table.html.lower().startswith("<!doctype html>")
    assert "Left out as identifiers" in by_table._repr_html_()
    assert repr(by_table) == "<Inspection of frame: 60 rows, 4 columns, target y>"
    assert [path.name for path in folder.iterdir()] == ["frame.csv"]


@pytest.mark.parametrize(
    ("dataset", "keys", "said"),
    [
        (make_frame(), {"nominals": ["size"]}, "Did you mean 'nominal'"),
        (Path("none.csv"), {}, "is not a file"),
    ],
)
def test_what_cannot_be_inspected_is_refused(dataset: Any, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(bakeoff.UserError, match=said):
        bakeoff.inspect(dataset, **keys)
