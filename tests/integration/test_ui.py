"""``bakeoff ui``: the server that it starts, and what it refuses."""

from __future__ import annotations

import os
import socket

import mlflow_server
from command import Bakeoff

from bakeoff.pipeline.errors import StoreError
from bakeoff.pipeline.tracking.store_writer import FileWriter


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


def test_pages_open_although_the_views_cannot_be_written(bakeoff: Bakeoff) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("you may only read")

    assert bakeoff("dataset=iris", "learner=majority", "tracking.models=false").status == 0
    bakeoff.patch.setattr(FileWriter, "tag_experiment", refuse)
    started: list[str] = []
    bakeoff.patch.setattr(os, "execv", lambda _, words: started.extend(words))
    answer = bakeoff("ui", "port=0")
    assert answer.status == 0, answer.err
    port = started[-3]
    assert started[1:] == ["-m", "mlflow", "ui", "--host", "127.0.0.1", "--port", port, "--workers", "1"]
    assert int(port) > 0
    assert f"open http://127.0.0.1:{port}/#/experiments" in answer.out
    assert os.environ["MLFLOW_BACKEND_STORE_URI"] == f"sqlite:///{bakeoff.folder}/outputs/mlflow.db"
    assert "/#/experiments/1/runs" in answer.out
    assert "The views could not be written: you may only read" in answer.out


def test_a_port_that_is_not_free_is_refused(bakeoff: Bakeoff) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = bakeoff("ui", f"port={port}")
    assert answer.status == 2
    assert f"ui: port={port} cannot be used" in answer.err
    assert "port=0 selects a free one" in answer.err
