"""A store whose folder was moved, copied, or has an unusual name: its files are found, and new ones are beside it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from command import Answer, Bakeoff, command_in

import bakeoff as bakeoff_package
from bakeoff.pipeline.tracking.mlflow_tables import ADDRESS_COLUMNS
from bakeoff.pipeline.tracking.store import open_store, store_uri

WORDS = ("learner=naive_bayes", "dataset=iris")
SUPPORT = str(Path(__file__).parents[1] / "support")


def read_addresses(database: Path) -> list[str]:
    """Return all addresses that a database has, without that of MLflow's own experiment."""
    found: list[str] = []
    with closing(sqlite3.connect(database)) as opened:
        for table, column in ADDRESS_COLUMNS:
            found += [text for (text,) in opened.execute(f"SELECT {column} FROM {table}")]
    return [text for text in found if text and not text.endswith("/0")]


def list_files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in (folder / "artifacts").rglob("*")}


def predict(bakeoff: Bakeoff, model: str, *words: str) -> Answer:
    """Predict the rows of iris with a model, which must work."""
    rows = pd.DataFrame(
        {f"{part} {size} (cm)": [5.1, 6.2] for part in ("sepal", "petal") for size in ("length", "width")}
    )
    rows.to_csv(bakeoff.folder / "rows.csv", index=False)
    answer = bakeoff("predict", model, "rows.csv", *words)
    assert answer.status == 0, answer.err
    return answer


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose store holds a run, a registered model and a run on a table of Python."""
    folder = tmp_path_factory.mktemp("made") / "first place"
    folder.mkdir()
    with command_in(folder) as bakeoff:
        frame = pd.DataFrame({"x": [i * 7 % 31 + 0.5 for i in range(30)], "y": ["a", "b", "b"] * 10})
        bakeoff_package.run("learner=majority", dataset=frame, target="y")
        assert bakeoff(*WORDS).status == 0
        assert bakeoff("ship", "latest", "as=flowers@champion").status == 0
    return folder


@pytest.fixture
def moved(made: Path, tmp_path: Path) -> Path:
    """Return a folder that was moved after its store had been made in another one."""
    first = tmp_path / "first place"
    shutil.copytree(made, first)
    open_store(str(first / "outputs" / "mlflow.db"), "bakeoff")
    return first.rename(tmp_path / "second place")


def test_every_verb_finds_the_files_of_a_moved_store(moved: Path) -> None:
    with command_in(moved) as bakeoff:
        first = predict(bakeoff, "best", "dataset=iris")
        assert f"tracking: the store was moved from {moved.parent}/first place/outputs to" in first.err
        assert "tracking" not in predict(bakeoff, "flowers@champion").err
        replay = bakeoff("replay", "latest")
        assert "identical: " in replay.out, replay.err
        figures = bakeoff("figures", "latest", "confusion_matrix")
        assert figures.status == 0, figures.err
        shipped = bakeoff("ship", "latest", "as=flowers")
        assert shipped.status == 0, shipped.err
        newest = bakeoff.runs()[0]
        # MLflow's pages and its own client read the same addresses.
        assert "confusion_matrix.png" in [each.path for each in bakeoff.client().list_artifacts(newest.info.run_id)]
    assert not (moved.parent / "first place").exists()
    addresses = read_addresses(moved / "outputs" / "mlflow.db")
    assert all(address.startswith(f"{moved.as_uri()}/outputs/") for address in addresses)


def test_a_store_that_was_made_on_windows_is_read(made: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    with closing(sqlite3.connect(copy / "outputs" / "mlflow.db")) as database, database:
        for table, column in ADDRESS_COLUMNS:
            places = {"here": made.as_uri(), "there": "file:///C:/Users/Ann%20B/study"}
            database.execute(f"UPDATE {table} SET {column} = replace({column}, :here, :there)", places)
    with command_in(copy) as bakeoff:
        replay = bakeoff("replay", "latest")
        assert "identical: " in replay.out, replay.err
        predict(bakeoff, "flowers@champion")
    assert all(address.startswith(f"{copy.as_uri()}/") for address in read_addresses(copy / "outputs" / "mlflow.db"))


def test_a_copy_is_a_store_of_its_own(made: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    database = made / "outputs" / "mlflow.db"
    before = (read_addresses(database), list_files(made / "outputs"))
    with command_in(copy) as bakeoff:
        assert bakeoff(*WORDS, "seed=1").status == 0
        predict(bakeoff, "best", "dataset=iris")
        sweep = bakeoff("-m", *WORDS, "seed=2")
        assert sweep.status == 0, sweep.err
    assert (read_addresses(database), list_files(made / "outputs")) == before
    assert all(address.startswith(f"{copy.as_uri()}/") for address in read_addresses(copy / "outputs" / "mlflow.db"))


def test_a_database_that_was_copied_alone_needs_its_folders(made: Path, tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    for file in (made / "outputs").glob("mlflow.db*"):
        shutil.copy(file, tmp_path / "outputs")
    before = list_files(made / "outputs")
    with command_in(tmp_path) as bakeoff:
        for words in (("replay", "latest"), WORDS):
            answer = bakeoff(*words)
            assert "move these folders along with the database" in answer.err
            assert answer.status == 2
        assert bakeoff(*WORDS, "tracking.experiment=continued").status == 0
        assert any((tmp_path / "outputs" / "artifacts" / "continued").rglob("model.skops"))
        shutil.copytree(made / "outputs" / "artifacts", tmp_path / "outputs" / "artifacts", dirs_exist_ok=True)
        predict(bakeoff, "best", "dataset=iris")
        assert bakeoff(*WORDS, "seed=1").status == 0
    assert list_files(made / "outputs") == before


def test_a_symbolic_link_to_a_store_is_no_move(made: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(made)
    before = read_addresses(made / "outputs" / "mlflow.db")
    with command_in(tmp_path) as bakeoff:
        answer = predict(bakeoff, "flowers", f"tracking.uri={link}/outputs/mlflow.db")
    assert "tracking:" not in answer.err
    assert read_addresses(made / "outputs" / "mlflow.db") == before


def test_failed_jobs_are_run_again_in_the_store_that_lists_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "first"
    second = tmp_path / "second"
    first.mkdir()
    monkeypatch.syspath_prepend(SUPPORT)
    failing = ("+trust=[failing]", "learner=majority", "learner._target_=failing.FailingUntilRepaired")
    with command_in(first) as bakeoff:
        answer = bakeoff("-m", *failing, f"tracking.uri={first}/outputs/mlflow.db")
        assert answer.status == 1, answer.err
    first.rename(second)
    (second / "repaired").touch()
    with command_in(second) as bakeoff:
        answer = bakeoff("rerun", "--failed", "trust=[failing]")
        assert answer.status == 0, answer.err
        assert [run.info.status for run in bakeoff.runs()] == ["FINISHED", "FAILED"]
    assert not first.exists()


def test_a_uri_names_the_folder_as_it_is_spelled(tmp_path: Path) -> None:
    folder = tmp_path / "a%20b"
    folder.mkdir()
    uri = store_uri(str(folder / "mlflow.db"))
    assert store_uri(uri) == uri
    assert store_uri(f"sqlite:///{folder}/mlflow.db") == uri


def test_an_address_needs_no_folder_that_a_relative_path_passes(bakeoff: Bakeoff) -> None:
    passed = bakeoff.folder / "passed"
    passed.mkdir()
    bakeoff.patch.chdir(passed)
    assert bakeoff(*WORDS, "tracking.uri=../outputs/mlflow.db").status == 0
    bakeoff.patch.chdir(bakeoff.folder)
    shutil.rmtree(passed)
    assert "tracking:" not in predict(bakeoff, "latest").err


def test_the_experiment_that_every_store_has_writes_beside_it_as_well(bakeoff: Bakeoff) -> None:
    assert bakeoff(*WORDS, "tracking.experiment=Default").status == 0
    assert any((bakeoff.folder / "outputs" / "artifacts" / "0").rglob("model.skops"))
    assert not (bakeoff.folder / "mlruns").exists()
