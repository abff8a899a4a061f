"""``bakeoff report``: the page about a run."""

from __future__ import annotations

from pathlib import Path

import browser
import numpy as np
import pytest
from command import Bakeoff, command_in, enter
from doubles import experiment as make_experiment
from finished_runs import finish
from html_page import Page
from scipy.stats import t

from bakeoff import learners
from bakeoff.pipeline.commands.report.run_report import tabulate_scores
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.splitting import KFold
from bakeoff.pipeline.tracking.card import summarize_folds

PHONE_PIXELS = 390
LETTERS = """() => [...document.querySelectorAll("svg text")].filter(text => text.getClientRects().length).map(text => {
    const matrix = text.getScreenCTM();
    return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(matrix.a, matrix.b);
})"""
"""The sizes of the visible letters in pixels."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run over folds, a run of one split, and the report of the first."""
    made = tmp_path_factory.mktemp("reported")
    common = ("learner=naive_bayes", "evaluation.metrics=[accuracy,f1]")
    with command_in(made) as command:
        for words in (
            ["dataset=iris", *common],
            ["dataset=iris", *common, "evaluation=kfold", "evaluation.folds=3"],
            ["report", "latest", "output=page.html"],
        ):
            answer = command(*words)
            assert answer.status == 0, answer.err
    return made


@pytest.fixture
def store(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Give the command in the folder with the runs."""
    enter(folder, monkeypatch)
    return Bakeoff(folder, capsys, monkeypatch)


def test_the_page_loads_nothing_and_names_the_run_and_how_to_repeat_it(store: Bakeoff) -> None:
    run, _ = store.runs()
    page = Page((store.folder / "page.html").read_text())
    assert page.open == []
    assert page.get("src") == []
    assert all(link.startswith("#") for link in page.get("href"))
    said = (
        run.info.run_name,
        "learner: naive_bayes",
        f"bakeoff replay {run.info.run_id}",
        "bakeoff dataset=iris learner=naive_bayes",
    )
    for text in said:
        assert text in page.text, text


def test_each_score_has_the_interval_of_the_corrected_resampled_test(store: Bakeoff) -> None:
    run, _ = store.runs()
    page = Page((store.folder / "page.html").read_text())
    (table,) = (rows for rows in page.tables if rows and "95 % interval" in rows[0])
    assert "Intervals end at the least and the greatest possible score." in page.text
    for name, row in zip(("accuracy", "f1"), table[1:], strict=True):
        mean, deviation = run.data.metrics[f"test_{name}"], run.data.metrics[f"test_{name}_std"]
        margin = t.ppf(0.975, 2) * deviation * np.sqrt(1 / 3 + 1 / 2)
        # No mean of these scores is greater than 1.
        expected = [mean - margin, min(mean + margin, 1)]
        assert [float(end) for end in row[2].split(" to ")] == pytest.approx(expected, abs=1e-3)


def test_scores_that_are_equal_in_all_folds_have_no_interval() -> None:
    run = finish(make_experiment(load_bundled("iris"), learners.MajorityClassifier(), splitter=KFold(folds=3)))
    means = summarize_folds(run.experiment, run.folds)
    rows = tabulate_scores(run.experiment, run.folds, means).rows
    assert [rows[0][column].text for column in (0, 2)] == ["accuracy", "–"]


def test_the_page_has_all_figures_with_descriptions(store: Bakeoff) -> None:
    page = Page((store.folder / "page.html").read_text())
    labels = page.get("aria-label")
    for description in ("Test rows by true and predicted class", "Importance of each column"):
        assert any(f"iris: {description}" in label for label in labels), description


def test_one_split_has_no_interval_and_the_report_is_named_after_the_run(store: Bakeoff) -> None:
    _, run = store.runs()
    answer = store("report", run.info.run_id)
    assert answer.status == 0, answer.err
    assert "One split has no interval" in answer.out
    html = (store.folder / f"{run.info.run_id[:8]}.report.html").read_text()
    assert "95 % interval" not in html


@pytest.mark.external
@pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())
def test_nothing_is_cut_on_a_phone_and_letters_have_eleven_pixels(store: Bakeoff) -> None:
    with browser.open_page() as page:
        page.set_viewport_size({"width": PHONE_PIXELS, "height": 800})
        page.goto((store.folder / "page.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE_PIXELS
        assert min(page.evaluate(LETTERS)) >= 11
