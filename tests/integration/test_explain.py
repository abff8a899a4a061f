"""``bakeoff explain``, for runs and registered models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import Answer, Bakeoff, command_in, enter
from html_page import Page
from wheel_data import wheel_frame

TITANIC = ("dataset=file", "dataset.path=titanic.csv", "dataset.target=survived", "dataset.drop=[boat,body]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with tables, and a store of three runs."""
    made = tmp_path_factory.mktemp("explained")
    wheel_frame("titanic").to_csv(made / "titanic.csv", index=False)
    with command_in(made) as command:
        for words in (
            [*TITANIC, "learner=decision_tree", "learner.max_depth=4"],
            [
                "dataset=diabetes",
                "learner=ridge",
                "preprocessing=standardize",
                "evaluation=kfold",
                "evaluation.folds=2",
            ],
            ["dataset=outlier", "learner=svm", "evaluation=leave_one_out"],
        ):
            answer = command(*words)
            assert answer.status == 0, answer.err
    return made


@pytest.fixture
def store(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Give the command in the folder with the runs."""
    enter(folder, monkeypatch)
    return Bakeoff(folder, capsys, monkeypatch)


def explain(store: Bakeoff, *words: str) -> Answer:
    answer = store("explain", *words)
    assert answer.status == 0, answer.err
    return answer


def find_run(store: Bakeoff, dataset: str) -> Any:
    (run,) = (run for run in store.runs() if run.data.params["dataset"] == dataset)
    return run


def test_a_tree_is_explained_in_the_terminal_and_on_a_page(store: Bakeoff) -> None:
    run = find_run(store, "titanic")
    answer = explain(store, run.info.run_id, "output=tree.html")
    assert "fitted on 785 of 1,309 rows (262 for validation, 262 for the test)" in answer.out
    assert f"accuracy {run.data.metrics['test_accuracy']:.4f} before. On the 262 test rows of the run" in answer.out
    assert "if sex = male and age < " in answer.out
    html = (store.folder / "tree.html").read_text()
    page = Page(html)
    assert page.open == []
    assert page.get("src") == []
    assert all(link.startswith("#") for link in page.get("href"))
    for text in ("Importance of the columns", "Partial dependence", "Rules"):
        assert text in page.text
    leaves = int(run.data.metrics["pruning/leaves_after"])
    assert html.count("<li>") == leaves
    pictured = [label for label in page.get("aria-label") if label.startswith("Partial dependence on ")]
    assert len(pictured) == 7


def test_a_regression_over_folds_has_coefficients_and_importances_of_its_folds(store: Bakeoff) -> None:
    run = find_run(store, "diabetes")
    answer = explain(store, run.info.run_id, "output=none", "columns=[bmi,s5]")
    assert "fitted on all 442 rows" in answer.out
    assert "the 442 test rows of 2 folds, each predicted by a model fitted without it" in answer.out
    assert f"{run.data.metrics['test_r2']:.4f} before" in answer.out
    dependence = answer.out.partition("Partial dependence")[2].partition("Coefficients")[0]
    named = [line.split()[0] for line in dependence.splitlines() if line.split()[:1]]
    assert [name for name in named if name in ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")] == [
        "bmi",
        "s5",
    ]
    assert "less important" not in answer.out
    assert not list(store.folder.glob("*explanation.html"))


def test_a_registered_model_is_explained_itself_with_the_importances_of_its_run(store: Bakeoff) -> None:
    run = find_run(store, "diabetes")
    assert store("ship", run.info.run_id, "as=sugar@champion").status == 0
    answer = explain(store, "sugar@champion", "columns=[bmi]")
    assert answer.out.startswith("sugar, version 1 (run ")
    assert "fitted on all 442 rows" in answer.out
    assert f"importances come from run {run.info.run_id[:8]}" in answer.out
    assert f"{run.data.metrics['test_r2']:.4f} before" in answer.out
    assert "Importance of the columns" in (store.folder / "sugar-1.explanation.html").read_text()
