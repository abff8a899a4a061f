"""MLflow's pages on a store of more than eighty runs, served by ``bakeoff ui`` and clicked in a real browser."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import browser
import mlflow_server
import pytest
from command import Bakeoff, command_in

TUNED_SWEEP = [
    "-m", "learner=knn", "learner.n_neighbors=1,5,9", "learner.weights=uniform,distance", "dataset=iris,wine",
    "preprocessing=none,standardize", "seed=0,1", "evaluation.metrics=[accuracy]", "tracking.models=false",
]  # fmt: skip
LAST_SWEEP = [
    "-m", "learner=majority,naive_bayes,knn", "dataset=iris,wine,breast_cancer", "preprocessing=none,standardize",
    "evaluation=kfold", "evaluation.folds=3", "seed=0,1", "tracking.models=false",
]  # fmt: skip
N_LAST = 3 * 3 * 2 * 2
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


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the screenshots, which pytest keeps for the last three sessions."""
    return tmp_path_factory.mktemp("screenshots")


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
def test_the_pages_open_on_a_leaderboard_from_the_best_score(page: Any, sweeps: Bakeoff, screenshots: Path) -> None:
    runs = find_finished(sweeps, "metrics.test_accuracy DESC")
    assert len(runs) >= MIN_RUNS
    page.screenshot(path=screenshots / "leaderboard.png")
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
def test_the_menu_leads_to_the_last_sweep(page: Any, screenshots: Path) -> None:
    open_view(page, "Last sweep")
    page.get_by_text(f"{N_LAST} matching runs").wait_for()
    page.screenshot(path=screenshots / "last_sweep.png")
    assert set(read_column(page, "params.`learner`")) <= {"majority", "naive_bayes", "knn"}


@pytest.mark.external
@pytest.mark.slow
@needs_browser
def test_a_run_opens_on_its_card(page: Any, addresses: dict[str, str], sweeps: Bakeoff, screenshots: Path) -> None:
    open_view(page, "Last sweep")
    page.get_by_text(f"{N_LAST} matching runs").wait_for()
    page.locator(".ag-row[row-index='0'] [col-id='attributes.`Run Name`'] a").click()
    page.get_by_text("Show more").first.click()
    page.locator("pre code").first.wait_for()
    page.screenshot(path=screenshots / "run.png")
    run_id = page.url.split("/runs/")[1][:32]
    metrics = sweeps.client().get_run(run_id).data.metrics
    card = page.locator("table").filter(has_text="metric").first.inner_text()
    assert f"{metrics['test_accuracy']:.4f} ± {metrics['test_accuracy_std']:.4f}" in card
    code = page.locator("pre code").first.inner_text()
    assert f"bakeoff replay {run_id}" in code


@pytest.mark.external
@pytest.mark.slow
@needs_browser
def test_the_compare_page_opens_on_learner_dataset_and_headline_score(
    page: Any, addresses: dict[str, str], sweeps: Bakeoff
) -> None:
    runs = find_finished(sweeps, "start_time DESC")[:N_LAST]
    alike = [run for run in runs if run.data.params["preprocessing"] == "none" and run.data.params["seed"] == "0"]
    ids = [run.info.run_id for run in alike]
    query = f"runs={quote(json.dumps(ids))}&experiments={quote(json.dumps(['1']))}"
    page.goto(f"{addresses['open'].split('/#/')[0]}/#/compare-runs?{query}")
    page.get_by_text(f"Comparing {3 * 3} Runs").first.wait_for()
    page.get_by_text("Run details").first.wait_for()
    chosen = page.content().split("Run details")[0]  # what the plot shows without a click
    for name in ("dataset", "learner", "test_accuracy"):
        assert f">{name}<" in chosen, name


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


class ReadOnlyServer(BaseHTTPRequestHandler):
    """Answers as an MLflow server whose user may read and may not write."""

    def do_GET(self) -> None:
        """Tell the version, the experiment and its runs."""
        info = {
            "experiment_id": "7",
            "name": "bakeoff",
            "lifecycle_stage": "active",
            "artifact_location": "mlflow-artifacts:/7",
        }
        answers = {"/version": "3.17.2", "/api/2.0/mlflow/experiments/get-by-name": {"experiment": info},
                   "/api/2.0/mlflow/experiments/get": {"experiment": info},
                   "/api/2.0/mlflow-artifacts/artifacts": {"files": []}}  # fmt: skip
        self._answer(200, answers.get(self.path.split("?")[0], {}))

    def do_POST(self) -> None:
        """Return a run to a search, and refuse everything else."""
        self.rfile.read(int(self.headers["Content-Length"]))
        if not self.path.endswith("/runs/search"):
            self._answer(403, {"error_code": "PERMISSION_DENIED", "message": "you may only read"})
            return
        run = {
            "info": {"run_id": "a" * 32, "experiment_id": "7", "status": "FINISHED", "start_time": 1, "end_time": 2},
            "data": {"metrics": [{"key": "test_accuracy", "value": 0.5, "timestamp": 1, "step": 0}],
                     "params": [{"key": "dataset", "value": "iris"}, {"key": "learner", "value": "knn"}],
                     "tags": [{"key": "config_hash", "value": "1"}, {"key": "sweep", "value": "one"}]},
        }  # fmt: skip
        self._answer(200, {"runs": [run]})

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def _answer(self, status: int, answer: Any) -> None:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


def test_a_server_that_refuses_the_views_is_named_with_the_reason(bakeoff: Bakeoff) -> None:
    with HTTPServer(("127.0.0.1", 0), ReadOnlyServer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        uri = f"http://127.0.0.1:{server.server_port}"
        answer = bakeoff("ui", f"tracking.uri={uri}")
        server.shutdown()
    assert answer.status == 0, answer.err
    assert f"open {uri}/#/experiments/7/runs\n" in answer.out
    assert "The views could not be written:" in answer.out
    assert "you may only read" in answer.out
