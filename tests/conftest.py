"""Fixtures that more than one file uses."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import extras
import mlflow_server
import pytest
import shipped_options
import subprocess_sweep
import warm_process
from command import Bakeoff, enter
from example_counts import register_profiles

from bakeoff.pipeline.tracking import sqlite_file, store
from bakeoff.pipeline.tracking.store import quiet_mlflow

with suppress(ImportError):
    # The backport that some packages import takes the search for metadata over from Python's finder. A test that
    # restores the finders of an earlier time must not be without either.
    import importlib_metadata  # noqa: F401

quiet_mlflow()  # MLflow asks when it is imported, which a test may do before any command does
register_profiles()
# A script that starts the tests in the background has them ignore Ctrl-C, which the commands that they start inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED_FILES = (
    "test_ui.py",
    "test_metrics.py",
    "test_site.py",
    "test_tutorial.py",
    "test_deleted_commands.py",
)
"""Files whose tests share a store or a site that takes long to make: each goes to one process as a whole."""
FOLDERS_OF_SHORT_TESTS = ("tests/learners/", "tests/pipeline/")
"""Each of their files goes to one process, which makes its fixtures once."""
SERVER_TESTS = (
    "test_server.py",
    "test_slurm.py",
    "test_machines_share_a_study_on_a_server",
)
"""Files and tests that share one MLflow server on PostgreSQL: they go to one process together."""

PYTEST_VARIABLE = "PYTEST_CURRENT_TEST"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let parallel processes start with the long tests."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not (item.get_closest_marker("external") or item.get_closest_marker("slow")))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs an extra that is not installed."""
    extras.skip_without(item)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return the scheduler of parallel processes: files of short tests, single long ones, and what shares a store.

    The marks of xdist_group have no effect with pytest 9.2, so that files are named here.
    """
    from xdist.scheduler import LoadScopeScheduling

    class StoreScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if any(name in nodeid for name in SERVER_TESTS):
                return "server"
            path = nodeid.partition("::")[0]
            is_whole = path.startswith(FOLDERS_OF_SHORT_TESTS) or path.endswith(SHARED_FILES)
            return path if is_whole else nodeid

    return StoreScheduling(config, log) if config.getvalue("dist") == "loadscope" else None


@pytest.fixture(autouse=True)
def restored_variables() -> Iterator[None]:
    """Take back the environment variables that a command sets for its process, which later commands would read."""
    before = dict(os.environ)
    yield
    del before[PYTEST_VARIABLE]  # pytest writes it between the two
    for name in os.environ.keys() - before.keys() - {PYTEST_VARIABLE}:
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no test read or write what bakeoff keeps for the user who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def options_read_once() -> Iterator[None]:
    """Let this process read the shipped options once."""
    with shipped_options.read_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def copied_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let MLflow create one SQLite store, which takes a second, and copy it wherever this process needs another."""
    template = tmp_path_factory.mktemp("store") / "mlflow.db"
    create = sqlite_file.create_sqlite

    def copy_or_create(path: Path) -> None:
        create(template)
        with suppress(OSError):  # `create` then says what is wrong with this path
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                copy = Path(shutil.copy(template, f"{path}.copy"))
                place = (path.parent / "artifacts" / "0").as_uri()
                with closing(sqlite3.connect(copy)) as database, database:
                    database.execute("UPDATE experiments SET artifact_location = ?", (place,))
                os.replace(copy, path)
        create(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "create_sqlite", copy_or_create)
        yield


@pytest.fixture(scope="session", autouse=True)
def revision_read_once() -> Iterator[None]:
    """Let MLflow look once in its files for the newest revision of its tables, instead of whenever it opens a store."""
    from mlflow.store.db import utils

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utils, "_get_latest_schema_revision", cache(utils._get_latest_schema_revision))
        yield


@pytest.fixture
def bakeoff(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Return the command in an empty folder."""
    enter(tmp_path, monkeypatch)
    return Bakeoff(tmp_path, capsys, monkeypatch)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def start() -> Iterator[warm_process.Start]:
    """Return a way to give the command in a process of its own, which ends with the test at the latest."""
    with warm_process.starting() as begin:
        yield begin


@pytest.fixture(scope="session")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Return the scores of the sweep on one core, in a SQLite file."""
    folder = tmp_path_factory.mktemp("serial")
    answer = subprocess_sweep.bakeoff(folder, *subprocess_sweep.SWEEP)
    assert answer.returncode == 0, answer.stderr
    return subprocess_sweep.scores(f"sqlite:///{folder}/outputs/mlflow.db")


@pytest.fixture(scope="session")
def open_folder() -> Iterator[Path]:
    """Return a folder that another user may enter; pytest's own are closed."""
    folder = Path(mkdtemp(prefix="bakeoff-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def server(open_folder: Path) -> Iterator[mlflow_server.Server]:
    """Return an MLflow server on PostgreSQL, or on SQLite where there is no PostgreSQL."""
    with mlflow_server.running(open_folder / "server", "sqlite" if mlflow_server.missing() else "postgres") as started:
        yield started
