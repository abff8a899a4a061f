"""The page about a served model: an example that the model takes, its columns, its scores."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline

from bakeoff.pipeline.model import Model, TrainingRecord
from bakeoff.pipeline.model.training_record import profile_columns
from bakeoff.pipeline.serving.answer import answer_rows, format_notes
from bakeoff.pipeline.serving.model_page import list_scores, make_example, render_model_page
from bakeoff.pipeline.serving.request_rows import read_request
from bakeoff.pipeline.stages.dataset import load_frame

N = 60
MARKUP = "<script>alert('x')</script>"
ADDRESS = "http://127.0.0.1:5001"


@pytest.fixture
def model() -> Model:
    """Return a model of columns of every kind, whose names and values are markup."""
    rows = np.arange(N)
    frame = pd.DataFrame({
        "when": pd.date_range("2020-01-01", periods=N).strftime("%d.%m.%Y"),
        "note": [f"it was the {number}th of many good days" for number in rows],
        "it's <b>": rows / 4.0,
        "whole": rows % 7,
        "colour": np.where(rows % 3, MARKUP, "a & b"),
        "gap": np.where(rows % 4, np.nan, rows + 0.5),
        "y": np.where(rows % 2, "yes", "no"),
    })  # fmt: skip
    dataset = load_frame(frame, "y", name="mixed", dates=["when"], text=["note"])
    numbers = make_column_transformer(("passthrough", make_column_selector(dtype_include="number")))
    estimator = make_pipeline(numbers, DummyClassifier(strategy="prior")).fit(dataset.X, dataset.y)
    record = TrainingRecord(
        run_id="0" * 32,
        run_name=f"dummy {MARKUP}",
        dataset="mixed",
        dataset_digest="",
        dataset_config={},
        task="classification",
        target="y",
        classes=("no", "yes"),
        positive=None,
        columns=tuple(dataset.columns),
        features=tuple(map(str, dataset.X.columns)),
        profiles=profile_columns(dataset, rows),
        n_rows=N,
        n_train=N,
        n_folds=5,
        scores={"test_accuracy": 0.5, "test_accuracy_std": 0.125, "test_f1": float("nan"), "train_accuracy": 0.75},
    )
    return Model(estimator, record, name="mixed, version 1", notes=("It was fitted with another version.",))


def test_the_example_is_a_typical_row_that_the_model_takes(model: Model) -> None:
    example = make_example(model.record)
    assert example == {
        "when": "31.01.2020", "note": "text", "it's <b>": 7.5, "whole": 3, "colour": MARKUP, "gap": None
    }  # fmt: skip
    answer = answer_rows(model, read_request(json.dumps({"instances": [example]}).encode(), "application/json"))
    assert answer.notes == ()
    assert answer.predictions["probability_no"].tolist() == [0.5]


def test_the_page_shows_the_model_and_inserts_no_markup_of_users(model: Model) -> None:
    page = render_model_page(model, ADDRESS)
    assert MARKUP not in page
    shown = unescape(re.sub(r"</?\w[^>]*>", "", page.partition("<body>")[2]))
    for text in ("fitted on all 60 rows", "It was fitted with another version.", "01.01.2020 to 29.02.2020",
                 "0.5000 ± 0.1250", "over 5 folds", "has no score of its own"):  # fmt: skip
        assert text in shown
    command, answer, _ = (unescape(block) for block in re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL))
    assert shlex.split(command)[1] == f"{ADDRESS}/invocations"
    assert json.loads(shlex.split(command)[-1]) == {"dataframe_records": [make_example(model.record)]}
    assert json.loads(answer)["notes"] == []


def test_scores_that_are_not_defined_are_left_empty(model: Model) -> None:
    rows = {row.name: row.cells for row in list_scores(model.record)}
    assert rows == {"accuracy": ("0.5000 ± 0.1250", "0.7500"), "f1": ("", "")}


def test_a_model_without_profiles_and_scores_has_a_page(model: Model) -> None:
    record = replace(model.record, profiles={}, scores={}, n_rows=0, n_train=0)
    page = render_model_page(replace(model, record=record), ADDRESS)
    assert "fitted on rows that its run did not count" in page
    assert "Scores" not in page


def test_notes_that_do_not_fit_into_a_header_are_counted() -> None:
    notes = tuple(f"column {number}: {'x' * 300}" for number in range(40))
    kept = json.loads(format_notes(notes))
    assert kept[-1] == f"and {40 - len(kept) + 1} more"
    assert tuple(kept[:-1]) == notes[: len(kept) - 1]
    assert json.loads(format_notes(("x" * 5000,))) == ["1 notes, which are too long for a header"]
