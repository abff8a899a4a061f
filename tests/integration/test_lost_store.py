"""A store that is lost ends a command soon, in a sentence; what had finished is stored by the same command."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command import Answer, Bakeoff
from documents import read_document
from faulty_server import (
    CIRCLE,
    CLOSES,
    CUTS,
    DRIPS,
    HANGS,
    LATER,
    PAGE,
    Fault,
    FaultyServer,
    mlflow_application,
    running,
)
from warm_process import OUTPUT, Start

from bakeoff.pipeline import experiment
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking import card as report
from bakeoff.pipeline.tracking import limited_calls, run
from bakeoff.pipeline.tracking.heartbeat import Heartbeat
from bakeoff.pipeline.tracking.mlflow_tables import DatabaseFile, close_all
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.store_writer import FileWriter

JOB = ("dataset=iris", "learner=majority")
FIRST_RESULTS = "runs/log-batch"
"""The first request after the fit; before it, a single run is created with its dataset, and dead runs are ended."""
HANG_SECONDS = 600
"""A command that takes longer hangs, on any machine."""
OUTAGE_SECONDS = 0.8
IMPATIENT = f"""
from bakeoff.pipeline.cli import main as cli
from bakeoff.pipeline.tracking import limited_calls
limited_calls.MAX_OUTAGE_SECONDS = {OUTAGE_SECONDS}
cli.main()
"""
"""The command whose workers give up a store soon."""


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return MLflow's server application, which all servers of these tests share."""
    with mlflow_application(tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.fixture
def faulty(application: Any, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    """Return a server that is the store of the command, which gives it up soon after a fault, and not before."""
    with running(application) as started:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", started.uri)
        shorten_limits(monkeypatch)
        monkeypatch.setattr(limited_calls, "threading", SimpleNamespace(Thread=started.thread))
        yield started


def shorten_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up a store soon."""
    monkeypatch.setattr(limited_calls, "MAX_CALL_SECONDS", OUTAGE_SECONDS)
    monkeypatch.setattr(limited_calls, "MAX_OUTAGE_SECONDS", OUTAGE_SECONDS)
    monkeypatch.setattr(limited_calls, "MAX_LOST_CALL_SECONDS", 0.3)
    monkeypatch.setattr(limited_calls, "PAUSE_SECONDS", 0.1)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep results in a folder of each test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def require_sentence(answer: Answer, status: int, words: str) -> None:
    """Require one line that says what is wrong with the store, and nothing else of an error."""
    assert answer.status == status, answer.err
    lines = [line for line in answer.err.splitlines() if line.strip() and not line.startswith(("audit:", "tracking:"))]
    assert len(lines) == 1, answer.err
    assert words in lines[0]
    assert "tracking.uri=" in lines[0] or "cannot be written" in lines[0]


def list_runs(uri: str) -> list[Any]:
    """Return the runs of the experiment of the commands, the newest first."""
    found = open_store(uri, "bakeoff")
    return list(found.client.search_runs([found.experiment_id]))


def list_scores(run: Any) -> dict[str, str]:
    """Return the metrics of a run but times, as text, in which NaN equals itself."""
    return {name: repr(value) for name, value in run.data.metrics.items() if not name.startswith("time/")}


def take_file_store(folder: Path) -> Store:
    """Return the store in a file that the command writes by default."""
    return open_store(str(folder / "outputs" / "mlflow.db"), "bakeoff")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (HANGS, "no answer within"),
        (DRIPS, "no answer within"),
        (CUTS, "IncompleteRead"),
        (PAGE, "not in a valid JSON format"),
        (CIRCLE, "redirects"),
        (LATER, "no answer within"),
        (500, "500"),
    ],
)
def test_a_server_that_fails_while_results_are_stored_ends_the_run_in_a_sentence(
    bakeoff: Bakeoff, faulty: FaultyServer, fault: Fault, words: str
) -> None:
    faulty.fail_from(FIRST_RESULTS, fault)
    answer = bakeoff(*JOB)
    require_sentence(answer, 1, words)
    assert "run the same command to store them" in answer.err


def test_the_same_command_stores_what_had_finished_and_does_not_run_again(
    bakeoff: Bakeoff, faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = bakeoff(*JOB)
    (complete,) = list_runs(faulty.uri)[:1]
    faulty.fail_from(FIRST_RESULTS, HANGS)
    assert bakeoff(*JOB).status == 1
    faulty.fail_always(None)
    monkeypatch.setattr("bakeoff.pipeline.sweep.job_runner.execute_job", None)
    stored = bakeoff(*JOB, "to=json")
    assert stored.status == 0, stored.err
    assert "had finished when its store was lost" in stored.err
    run = list_runs(faulty.uri)[0]
    assert read_document(stored.out, "kept_run")["run_id"] == run.info.run_id
    assert run.info.run_id != complete.info.run_id
    assert run.info.status == "FINISHED"
    assert list_scores(run) == list_scores(complete)
    assert run.data.params == complete.data.params
    assert set(run.data.tags) == set(complete.data.tags)
    client = open_store(faulty.uri, "bakeoff").client
    names = [{file.path for file in client.list_artifacts(each.info.run_id)} for each in (run, complete)]
    assert names[0] == names[1]
    assert expected.status == 0
    assert not [path for path in (bakeoff.folder / "cache").rglob("*") if path.is_file() and path.name == "run.json"]


def test_a_model_that_was_kept_predicts_once_it_is_stored(bakeoff: Bakeoff, faulty: FaultyServer) -> None:
    faulty.fail_always(500, "logged-models")
    answer = bakeoff(*JOB)
    require_sentence(answer, 1, "500")
    faulty.fail_always(None)
    assert bakeoff(*JOB).status == 0
    table = bakeoff.folder / "rows.csv"
    table.write_text("sepal length (cm),sepal width (cm),petal length (cm),petal width (cm)\n5.1,3.5,1.4,0.2\n")
    predicted = bakeoff("predict", "latest", "rows.csv")
    assert predicted.status == 0, predicted.err


def test_what_is_kept_can_be_read_by_its_owner_alone(bakeoff: Bakeoff, faulty: FaultyServer) -> None:
    faulty.fail_from(FIRST_RESULTS, 500)
    bakeoff(*JOB)
    (values,) = (bakeoff.folder / "cache").rglob("run.json")
    assert values.parent.stat().st_mode & 0o777 == 0o700


def test_results_of_which_a_part_is_missing_or_of_another_job_are_not_stored(
    bakeoff: Bakeoff, faulty: FaultyServer
) -> None:
    faulty.fail_from(FIRST_RESULTS, 500)
    bakeoff(*JOB)
    (values,) = (bakeoff.folder / "cache").rglob("run.json")
    faulty.fail_always(None)
    other = bakeoff(*JOB, "seed=7")
    assert "had finished" not in other.out
    text = values.read_text()
    values.write_text(text[: len(text) // 2])
    again = bakeoff(*JOB)
    assert again.status == 0, again.err
    assert "had finished" not in again.out
    assert not values.exists()


@pytest.mark.parametrize("place", ["runs/create", "runs/log-batch", "mlflow-artifacts", "runs/update"])
def test_a_fault_of_a_moment_is_survived(
    bakeoff: Bakeoff, faulty: FaultyServer, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limited_calls, "MAX_OUTAGE_SECONDS", HANG_SECONDS)
    faulty.fail_at(503, place, times=3)
    answer = bakeoff(*JOB)
    assert answer.status == 0, answer.err


def test_a_server_that_is_started_again_is_survived(
    bakeoff: Bakeoff, faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limited_calls, "MAX_OUTAGE_SECONDS", HANG_SECONDS)

    def restart(path: str) -> Fault:
        if "log-batch" not in path:
            return None
        faulty.choose_fault = lambda path: None
        threading.Thread(target=faulty.restart).start()
        return CLOSES

    faulty.choose_fault = restart
    answer = bakeoff(*JOB)
    assert answer.status == 0, answer.err
    assert f"; trying for {HANG_SECONDS} seconds" in answer.err


def test_a_worker_that_opens_the_store_of_its_sweep_in_an_outage_waits_for_the_end(
    faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limited_calls, "MAX_OUTAGE_SECONDS", HANG_SECONDS)
    faulty.fail_at(503, "", times=3)
    assert open_store(faulty.uri, "bakeoff", is_known=True).experiment_id
    faulty.fail_at(503, "", times=3)
    with pytest.raises(UserError, match="503"):
        open_store(faulty.uri, "bakeoff")


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "latest", "rows.csv"),
        ("compare", "sweep=latest"),
        ("list", "models"),
        ("explain", "latest"),
        ("figures", "latest"),
        ("replay", "latest"),
        ("rerun", "--failed"),
        ("ship", "latest", "as=new"),
        ("ui",),
    ],
    ids=" ".join,
)
def test_each_verb_gives_up_on_a_server_that_stops_answering(
    bakeoff: Bakeoff, faulty: FaultyServer, words: tuple[str, ...]
) -> None:
    (bakeoff.folder / "rows.csv").write_text("a\n1\n")
    faulty.choose_fault = lambda path: HANGS if "/api/" in path else None
    answer = bakeoff(*words)
    assert answer.status in (1, 2), answer.err
    assert "no answer within" in answer.err
    assert "Traceback" not in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize("n_workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_sweep_stops_when_its_store_is_lost_and_goes_on_where_it_stopped(
    bakeoff: Bakeoff, faulty: FaultyServer, n_workers: int
) -> None:
    sweep = ("-m", *JOB, "seed=1,2,3,4,5,6", "tracking.models=false", f"tracking.experiment=lost{n_workers}")
    finished: list[str] = []

    def lose_after_two(path: str) -> Fault:
        finished.extend([path] if "runs/update" in path else [])
        return 500 if len(finished) > 2 else None

    faulty.choose_fault = lose_after_two
    if n_workers == 1:
        answer = bakeoff(*sweep)
    else:
        program = [sys.executable, "-W", "ignore", "-c", IMPATIENT, *sweep, f"workers={n_workers}"]
        ended = subprocess.run(program, cwd=bakeoff.folder, capture_output=True, text=True, check=False)
        answer = Answer(ended.returncode, ended.stdout, ended.stderr)
    assert answer.status == 1
    assert "the store is unavailable, so no further job is started" in answer.err
    assert "Traceback" not in answer.err
    faulty.choose_fault = lambda path: None
    again = bakeoff(*sweep)
    assert again.status == 0, again.err
    found = open_store(faulty.uri, f"lost{n_workers}")
    runs = found.client.search_runs([found.experiment_id], "status = 'FINISHED'")
    hashes = {run.data.tags["config_hash"] for run in runs}
    assert len(hashes) == len(runs) == 6


@contextmanager
def locking(file: Path, seconds: float = HANG_SECONDS) -> Iterator[subprocess.Popen[str]]:
    """Hold a SQLite file locked in another process."""
    script = (
        "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('BEGIN EXCLUSIVE'); print('locked', flush=True); time.sleep(float(sys.argv[2]))"
    )
    words = [sys.executable, "-S", "-c", script, str(file), str(seconds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_a_database_that_another_process_locks_is_refused(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bakeoff(*JOB).status == 0
    with monkeypatch.context() as patch, locking(bakeoff.folder / "outputs" / "mlflow.db"):
        shorten_limits(patch)
        answer = bakeoff(*JOB)
        require_sentence(answer, 1, "")
        assert "database is locked" in answer.err or "no answer" in answer.err
    assert bakeoff(*JOB).status == 0


def test_a_lock_of_a_moment_is_waited_for(bakeoff: Bakeoff) -> None:
    assert bakeoff(*JOB).status == 0
    with locking(bakeoff.folder / "outputs" / "mlflow.db", seconds=0.7):
        assert bakeoff(*JOB).status == 0


def test_a_full_database_ends_the_run_in_a_sentence_and_the_results_are_stored_when_there_is_space(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_full(file: DatabaseFile) -> sqlite3.Connection:
        connection = connect(file)
        (n_pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {n_pages}")
        return connection

    assert bakeoff(*JOB).status == 0
    connect = DatabaseFile._connect
    with monkeypatch.context() as filling:
        filling.setattr(DatabaseFile, "_connect", open_full)
        filling.setattr(limited_calls, "MAX_OUTAGE_SECONDS", 0)
        close_all()
        answer = bakeoff(*JOB, "evaluation=repeated_kfold")
    require_sentence(answer, 1, "full")
    again = bakeoff(*JOB, "evaluation=repeated_kfold")
    assert again.status == 0, again.err
    assert {run.info.status for run in bakeoff.runs()} <= {"FINISHED", "FAILED", "KILLED"}


def test_artifacts_that_cannot_be_written_end_the_run_in_a_sentence(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_disk(*arguments: Any) -> None:
        raise OSError(28, "No space left on device", "predictions.csv")

    with monkeypatch.context() as full:
        full.setattr("bakeoff.pipeline.tracking.card.write_tables", fill_disk)
        answer = bakeoff(*JOB)
    require_sentence(answer, 1, "the artifacts of the run cannot be written: No space left on device (predictions.csv)")
    (run,) = bakeoff.runs()
    assert run.info.status == "FAILED"


def test_a_file_that_is_deleted_while_the_run_is_fitted_is_said_and_not_written_into_nothing(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete_and_fit(*arguments: Any) -> Any:
        for file in (bakeoff.folder / "outputs").glob("mlflow.db*"):
            file.unlink()
        return fit(*arguments)

    fit = experiment.fit_final_model
    with monkeypatch.context() as deleting:
        deleting.setattr("bakeoff.pipeline.sweep.job_runner.fit_final_model", delete_and_fit)
        answer = bakeoff(*JOB)
    require_sentence(answer, 1, "the file was deleted while the command was running")
    assert bakeoff(*JOB).status == 0


def test_scores_that_arrive_while_a_heartbeat_is_written_are_stored(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, finishing = threading.Event(), threading.Event()

    def log_slowly(*arguments: Any) -> None:
        log(*arguments)
        if threading.current_thread() is not threading.main_thread():
            began.set()
            finishing.wait(HANG_SECONDS)
            time.sleep(0.2)  # the run adds its scores, unless it waits

    def fit_during_heartbeat(*arguments: Any) -> Any:
        assert began.wait(HANG_SECONDS)
        return fit(*arguments)

    def read_path(*arguments: Any) -> Any:
        finishing.set()
        return get_path(*arguments)

    log, fit, get_path = FileWriter.add_values, experiment.fit_final_model, report.get_pruning_path
    monkeypatch.setattr(run, "Heartbeat", lambda beat, first, run_id: Heartbeat(beat, 0.01, run_id))
    monkeypatch.setattr(FileWriter, "add_values", log_slowly)
    monkeypatch.setattr(report, "get_pruning_path", read_path)
    monkeypatch.setattr("bakeoff.pipeline.sweep.job_runner.fit_final_model", fit_during_heartbeat)
    answer = bakeoff(*JOB)
    assert answer.status == 0, answer.err
    assert "test_accuracy" in bakeoff.runs()[0].data.metrics


def test_artifacts_whose_folder_is_deleted_while_the_run_is_fitted_are_written(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bakeoff(*JOB).status == 0

    def delete_and_fit(*arguments: Any) -> Any:
        shutil.rmtree(bakeoff.folder / "outputs" / "artifacts")
        return fit(*arguments)

    fit = experiment.fit_final_model
    monkeypatch.setattr("bakeoff.pipeline.sweep.job_runner.fit_final_model", delete_and_fit)
    answer = bakeoff(*JOB)
    assert answer.status == 0, answer.err
    assert bakeoff.artifact(bakeoff.runs()[0], "predictions.csv")


def test_a_single_run_ends_runs_whose_process_is_gone(bakeoff: Bakeoff) -> None:
    assert bakeoff(*JOB).status == 0
    (lost,) = bakeoff.runs()
    client = bakeoff.client()
    client.update_run(lost.info.run_id, "RUNNING")
    client.set_tag(lost.info.run_id, "pid", str(2**22 + 1))
    assert bakeoff(*JOB).status == 0
    assert client.get_run(lost.info.run_id).info.status == "KILLED"


@pytest.mark.slow
def test_ctrl_c_ends_a_command_that_waits_for_a_server(bakeoff: Bakeoff, faulty: FaultyServer, start: Start) -> None:
    faulty.fail_from(FIRST_RESULTS, HANGS)
    process = start(bakeoff.folder, JOB)
    while not any(FIRST_RESULTS in path for path in faulty.paths):
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1.5)  # so that the call counts as one that waits
    process.send_signal(signal.SIGINT)
    assert process.wait(HANG_SECONDS) == 130
    said = (bakeoff.folder / OUTPUT).read_text()
    assert "interrupted by Ctrl-C" in said
    assert "Traceback" not in said
