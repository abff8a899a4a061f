"""``bakeoff rm`` and ``bakeoff gc`` on real stores: what goes, what stays, and the bytes before and after."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import Bakeoff, command_in

from bakeoff.pipeline.commands.store.removal import measure_folder, require_database
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.heartbeat import identify_process
from bakeoff.pipeline.tracking.mlflow_tables import delete_rows
from bakeoff.pipeline.tracking.store import Store, open_store

SIZE = re.compile(r": ([\d.]+) (bytes|kB|MB) of files")
UNITS = {"bytes": 1, "kB": 1000, "MB": 1_000_000}
ROUNDING = 0.06  # half of the last digit, in the unit, and a little for the bytes


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose store holds three runs of a sweep, of which the one of naive Bayes is registered."""
    folder = tmp_path_factory.mktemp("made")
    with command_in(folder) as bakeoff:
        swept = bakeoff("-m", "learner=knn,majority,naive_bayes", "dataset=iris")
        assert swept.status == 0, swept.err
        run_id = find_run(bakeoff, "naive_bayes")
        assert bakeoff("ship", run_id, "as=flowers@champion").status == 0
    return folder


@pytest.fixture
def stored(made: Path, bakeoff: Bakeoff) -> Bakeoff:
    """Return the command in a copy of that folder."""
    shutil.copytree(made / "outputs", bakeoff.folder / "outputs")
    return bakeoff


def find_run(bakeoff: Bakeoff, learner: str) -> str:
    return next(str(run.info.run_id) for run in bakeoff.runs() if run.data.params["learner"] == learner)


def artifacts(bakeoff: Bakeoff) -> Path:
    return bakeoff.folder / "outputs" / "artifacts"


def read_size(text: str) -> tuple[float, float]:
    """Return the number of bytes that a command announces, and how exact it is."""
    match = SIZE.search(text)
    assert match is not None, text
    unit = UNITS[match[2]]
    return float(match[1]) * unit, ROUNDING * unit


def count_rows(bakeoff: Bakeoff, table: str) -> int:
    with closing(sqlite3.connect(bakeoff.folder / "outputs" / "mlflow.db")) as database:
        return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def predicts(bakeoff: Bakeoff, model: str) -> bool:
    (bakeoff.folder / "rows.csv").write_text(
        "sepal length (cm),sepal width (cm),petal length (cm),petal width (cm)\n5.1,3.5,1.4,0.2\n"
    )
    return bakeoff("predict", model, "rows.csv").status == 0


def test_runs_that_were_deleted_in_mlflow_are_freed_with_their_models(stored: Bakeoff) -> None:
    for learner in ("knn", "majority"):
        stored.client().delete_run(find_run(stored, learner))
    before = measure_folder(artifacts(stored))
    rehearsed = stored("gc", "dry_run=true")
    assert "deleting 2 runs, 2 models: " in rehearsed.out
    assert measure_folder(artifacts(stored)) == before
    answer = stored("gc")
    assert answer.status == 0, answer.err
    announced, exactness = read_size(answer.out)
    freed = before - measure_folder(artifacts(stored))
    assert freed == pytest.approx(announced, abs=exactness)
    assert freed > 50_000
    assert len(list(artifacts(stored).rglob("model.skops"))) == 2
    assert count_rows(stored, "runs") == 1
    assert count_rows(stored, "logged_models") == 2
    assert predicts(stored, "latest")
    assert predicts(stored, "flowers")
    assert "nothing to delete" in stored("gc").out


def test_models_that_mlflow_gc_leaves_are_freed(stored: Bakeoff) -> None:
    run_id = find_run(stored, "knn")
    store = open_store(None, "bakeoff")
    store.client.delete_run(run_id)
    shutil.rmtree(artifacts(stored) / "bakeoff" / run_id)
    delete_rows(store.client, [run_id], [])  # what `mlflow gc` does
    before = measure_folder(artifacts(stored))
    answer = stored("gc")
    assert "deleting 1 model: " in answer.out
    assert measure_folder(artifacts(stored)) < before
    assert len(list(artifacts(stored).rglob("model.skops"))) == 3


def test_a_run_is_deleted_for_good_and_its_job_runs_again(stored: Bakeoff) -> None:
    run_id = find_run(stored, "knn")
    answer = stored("rm", run_id[:10])
    assert answer.status == 0, answer.err
    assert answer.out.index("deleting 1 run, 1 model") < answer.out.index("deleted")
    assert "They no longer count as looks at the test rows" in answer.out
    assert not [path for path in artifacts(stored).rglob("*") if run_id in path.name]
    with closing(sqlite3.connect(stored.folder / "outputs" / "mlflow.db")) as database:
        assert database.execute("PRAGMA freelist_count").fetchone() == (0,)  # no unused pages
    assert stored("replay", run_id).status == 2
    assert "2 already done" in stored("plan", "-m", "learner=knn,majority,naive_bayes", "dataset=iris").out


def test_a_registered_run_is_kept(stored: Bakeoff) -> None:
    answer = stored("rm", "sweep=latest")
    assert answer.status == 1
    assert "kept: naive_bayes iris" in answer.err
    assert "version 1 of flowers @champion is registered" in answer.err
    assert [run.data.params["learner"] for run in stored.runs()] == ["naive_bayes"]
    assert predicts(stored, "flowers@champion")


def test_a_deleted_run_with_a_registered_model_stays_as_well(stored: Bakeoff) -> None:
    stored.client().delete_run(find_run(stored, "naive_bayes"))
    answer = stored("gc")
    assert "kept: naive_bayes iris" in answer.err
    assert "nothing to delete" in answer.out
    assert predicts(stored, "flowers")


def test_runs_are_chosen_by_a_filter(stored: Bakeoff) -> None:
    answer = stored("rm", "filter=metrics.test_accuracy < 0.5")
    assert answer.status == 0, answer.err
    assert "majority iris" in answer.out
    assert len(stored.runs()) == 2


def test_a_run_whose_process_is_alive_is_kept(stored: Bakeoff) -> None:
    store = open_store(None, "bakeoff")
    pid = os.getppid()
    process = {"pid": str(pid), "process": identify_process(pid)}
    tags = {"host": socket.gethostname(), **process, "heartbeat": f"{time.time():.0f}"}
    run_id = store.client.create_run(store.experiment_id, run_name="busy", tags=tags).info.run_id
    answer = stored("rm", run_id)
    assert answer.status == 1
    assert "kept: busy" in answer.err
    assert "its process is running" in answer.err
    assert store.client.get_run(run_id).info.status == "RUNNING"


EVERYTHING = ("rm", "filter=params.learner != ''")
DELETED_RUNS = ("UPDATE runs SET lifecycle_stage = 'deleted'", "UPDATE logged_models SET lifecycle_stage = 'deleted'")


@pytest.mark.parametrize(
    ("statements", "words"),
    [((), EVERYTHING), (DELETED_RUNS, ("gc",))],
    ids=["rm", "gc"],
)
@pytest.mark.parametrize("place", ["home", "outputs/precious", "outputs/artifacts/precious", "outputs/artifacts/link"])
def test_folders_that_the_rows_of_others_name_are_left(
    place: str, statements: tuple[str, ...], words: tuple[str, ...], stored: Bakeoff
) -> None:
    precious = stored.folder / ("home" if place.endswith("link") else place)
    for name in ("Documents/letter.txt", "Models/artifacts/letter.txt"):
        (precious / name).parent.mkdir(parents=True, exist_ok=True)
        (precious / name).touch()
    if place.endswith("link"):
        (stored.folder / place).symlink_to(precious)
    before = sorted(precious.rglob("*"))
    address = (stored.folder / place).as_uri()
    with closing(sqlite3.connect(stored.folder / "outputs" / "mlflow.db")) as database, database:
        database.execute("UPDATE experiments SET artifact_location = ?", (address,))
        database.execute("UPDATE runs SET artifact_uri = ?", (f"{address}/Documents",))
        database.execute("UPDATE logged_models SET artifact_location = ?", (f"{address}/Models/artifacts",))
        database.execute("UPDATE model_versions SET source = ?", (f"{address}/Models/artifacts",))
        for statement in statements:
            database.execute(statement)
    answer = stored(*words)
    assert "not in the folder of this store" in answer.err
    assert f"{address}/Documents" in answer.err
    assert sorted(precious.rglob("*")) == before
    assert count_rows(stored, "runs") == 1  # the registered one


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rm"], "select runs in one way"),
        (["rm", "latest", "sweep=latest"], "select runs in one way"),
        (["rm", "filter=params.learner = 'svm'"], "selects no run"),
    ],
)
def test_what_is_not_clear_deletes_nothing(made: Path, words: list[str], message: str) -> None:
    with command_in(made) as bakeoff:
        answer = bakeoff(*words)
        assert answer.status == 2
        assert message in answer.err
        assert len(bakeoff.runs()) == 3


def test_a_server_is_referred_to_its_machine() -> None:
    client: Any = None
    with pytest.raises(UserError, match=r"http://host:5000 is a server.*tracking\.uri=URI of its database"):
        require_database(Store("http://host:5000", "1", client, client, client))
