"""MLflow's pages on a store of more than eighty runs, served by ``bakeoff ui`` and clicked in a real browser."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import browser
import mlflow_server
import pytest
from command import Bakeoff, command_in
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

TUNED_SWEEP = [
    "-m", "learner=knn", "learner.n_neighbors=1,5,9", "learner.weights=uniform,distance", "dataset=iris,wine",
    "preprocessing=none,standardize", "seed=0,1", "evaluation.metrics=[accuracy]", "tracking.models=false",
]  # fmt: skip
LAST_SWEEP = [
    "-m", "learner=majority,naive_bayes,knn", "dataset=iris,wine,breast_cancer", "preprocessing=none,standardize",
    "evaluation=kfold", "evaluation.folds=3", "seed=0,1", "tracking.models=false",
]  # fmt: skip
MIN_RUNS = 80
ROWS = ".ag-center-cols-container .ag-row"
CLOSE_ASSISTANT = '[data-component-id="mlflow.assistant.chat_panel.close"]'

needs_browser = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> Bakeoff:
    """Return the command in a folder whose store holds two sweeps of more than eighty runs together."""
    with command_in(tmp_path_factory.mktemp("pages")) as bakeoff:
        for words in (TUNED_SWEEP, LAST_SWEEP):
            answer = bakeoff(*words)
            assert answer.status == 0, answer.err
    return bakeoff


@pytest.fixture(scope="module")
def addresses(sweeps: Bakeoff) -> Iterator[dict[str, str]]:
    """Return the addresses that the command prints, by the word before them; the server ends with the last test."""
    printed = sweeps.folder / "printed"
    port = mlflow_server.free_port()
    with printed.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "bakeoff", "ui", f"port={port}"], cwd=sweeps.folder, stdout=output,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        wait_for(f"http://127.0.0.1:{port}/health")
        yield read_addresses(printed.read_text())
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def page(addresses: dict[str, str]) -> Iterator[Any]:
    """Return a browser's page on the leaderboard, without the panel that MLflow opens at the first visit."""
    with browser.open_page() as page:
        page.goto(addresses["open"])
        page.locator(CLOSE_ASSISTANT).click()
        page.locator(ROWS).first.wait_for()
        yield page


def read_addresses(printed: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+) +(http\S+)$", printed, flags=re.MULTILINE))


def wait_for(url: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            assert time.monotonic() < end, f"{url} did not answer"
            time.sleep(0.2)


def read_column(page: Any, column: str) -> list[str]:
    """Return the cells of a column that the browser shows, from above."""
    cells = page.locator(f"{ROWS} [col-id='{column}']")
    found = cells.evaluate_all("all => all.map(c => [Number(c.parentElement.getAttribute('row-index')), c.innerText])")
    return [text for _, text in sorted(found)]


def open_view(page: Any, name: str) -> None:
    """Choose a view in the menu."""
    trigger = page.get_by_test_id("saved-views-trigger")
    trigger.click()
    page.locator("[data-testid^='saved-views-item-']").get_by_text(name, exact=True).click()
    trigger.get_by_text(name, exact=True).wait_for()


def find_finished(sweeps: Bakeoff, order: str) -> list[Any]:
    """Return the finished runs in an order, by MLflow's own search."""
    return list(sweeps.client().search_runs(["1"], "status = 'FINISHED'", order_by=[order], max_results=1000))


@pytest.mark.external
@pytest.mark.slow
@needs_browser
def test_the_pages_open_on_a_leaderboard_from_the_best_score(page: Any, sweeps: Bakeoff) -> None:
    runs = find_finished(sweeps, "metrics.test_accuracy DESC")
    assert len(runs) >= MIN_RUNS
    assert page.get_by_test_id("saved-views-trigger").inner_text() == "Leaderboard"
    headings = page.locator(".ag-header-cell").evaluate_all("all => all.map(cell => cell.innerText)")
    shown = [heading for heading in headings if heading not in ("", "Run Name", "Created", "Duration")]
    assert shown == ["dataset", "learner", "preprocessing", "seed", "test_accuracy", "test_accuracy_std", "time/fit"]
    scores = [float(text.rstrip("…")) for text in read_column(page, "metrics.`test_accuracy`")]
    assert len(scores) > 10
    assert scores == pytest.approx([run.data.metrics["test_accuracy"] for run in runs[: len(scores)]])


@pytest.mark.external
@pytest.mark.slow
@needs_browser
def test_the_menu_leads_to_the_last_sweep(page: Any) -> None:
    open_view(page, "Last sweep")
    page.get_by_text(f"{3 * 3 * 2 * 2} matching runs").wait_for()
    assert set(read_column(page, "params.`learner`")) <= {"majority", "naive_bayes", "knn"}


def test_the_ui_of_a_missing_store_is_refused(bakeoff: Bakeoff) -> None:
    answer = bakeoff("ui")
    assert answer.status == 2
    assert "run an experiment first" in answer.err


def test_the_ui_of_a_missing_experiment_is_refused_with_those_that_are_there(bakeoff: Bakeoff) -> None:
    bakeoff("dataset=iris", "learner=majority", "tracking.models=false")
    port = mlflow_server.free_port()
    answer = bakeoff("ui", "tracking.experiment=bakeof", f"port={port}")
    assert answer.status == 2
    assert "Did you mean 'bakeoff'?" in answer.err


def test_a_run_and_a_sweep_name_the_command_that_opens_their_experiment(bakeoff: Bakeoff) -> None:
    words = ["dataset=iris", "tracking.models=false", "tracking.experiment=my thesis"]
    for command in (["learner=majority", *words], ["-m", "learner=majority,naive_bayes", *words]):
        (line,) = re.findall(r"^open +(bakeoff ui.*)$", bakeoff(*command).out, flags=re.MULTILINE)
        assert "tracking.experiment=my thesis" in shlex.split(line)


def test_pages_open_although_the_views_cannot_be_written(bakeoff: Bakeoff) -> None:
    def refuse(*_: object) -> None:
        raise MlflowException("you may only read")

    assert bakeoff("dataset=iris", "learner=majority", "tracking.models=false").status == 0
    bakeoff.patch.setattr(MlflowClient, "set_experiment_tag", refuse)
    bakeoff.patch.setattr(os, "execv", lambda *_: None)
    answer = bakeoff("ui", "port=0")
    assert answer.status == 0, answer.err
    assert "/#/experiments/1/runs" in answer.out
    assert "The views could not be written: you may only read" in answer.out
