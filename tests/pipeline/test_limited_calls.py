"""A store that does not answer is asked once, and files give a call more time."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import mlflow_server
import pytest
from command import Bakeoff

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking import limited_calls
from bakeoff.pipeline.tracking.limited_calls import measure_folder, require_answer


class BrokenProxy(BaseHTTPRequestHandler):
    """Answers for a server that is gone."""

    def do_GET(self) -> None:
        """Say that there is nothing behind."""
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_error(502)

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def broken_proxy() -> Iterator[tuple[str, list[str]]]:
    """Run a proxy without a server behind it, and list the paths that it is asked for."""
    with HTTPServer(("127.0.0.1", 0), BrokenProxy) as proxy:
        proxy.asked = []  # type: ignore[attr-defined]
        Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_port}", proxy.asked  # type: ignore[attr-defined]
        proxy.shutdown()


@pytest.mark.parametrize(
    "words",
    [
        ["learner=majority"],
        ["-m", "learner=majority,knn"],
        ["predict", "latest", "x.csv"],
        ["compare", "sweep=latest"],
        ["list", "models"],
    ],
    ids=" ".join,
)
def test_a_server_that_is_not_there_is_refused_by_every_command(bakeoff: Bakeoff, words: list[str]) -> None:
    (bakeoff.folder / "x.csv").write_text("a\n1\n")
    answer = bakeoff(*words, f"tracking.uri=http://127.0.0.1:{mlflow_server.free_port()}")
    assert answer.status == 2
    assert "the server cannot be used: Connection refused" in answer.err
    assert "tracking=none" in answer.err
    assert not (bakeoff.folder / "outputs").exists() or not any((bakeoff.folder / "outputs").rglob("*.yaml"))


def test_a_server_that_accepts_and_says_nothing_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited_calls, "MAX_ANSWER_SECONDS", 1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(UserError, match=r"no answer within 1 seconds|timed out"):
            require_answer(f"http://127.0.0.1:{silent.getsockname()[1]}")
        silent.settimeout(1)
        silent.accept()[0].close()
        with pytest.raises(TimeoutError):
            silent.accept()


def test_a_proxy_without_a_server_is_asked_once() -> None:
    with broken_proxy() as (uri, asked):
        with pytest.raises(UserError, match="status 502"):
            require_answer(uri)
        assert asked == ["/health"]


@pytest.mark.extra("postgres")
def test_a_database_that_is_not_there_is_refused_without_its_password() -> None:
    with pytest.raises(UserError, match="refused") as refusal:
        require_answer(f"postgresql://me:secret@127.0.0.1:{mlflow_server.free_port()}/runs")
    assert "secret" not in str(refusal.value)


def test_files_at_all_depths_count_and_links_do_not(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "one").write_bytes(b"12345")
    (tmp_path / "a" / "b" / "two").write_bytes(b"123")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "one")
    assert measure_folder(tmp_path) == 8
    assert measure_folder(tmp_path / "nowhere") == 0


def test_a_file_that_is_deleted_while_files_are_measured_counts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).write_bytes(b"12345")
    look = os.lstat

    def delete_the_other(path: Path) -> os.stat_result:
        status = look(path)
        for other in tmp_path.iterdir():
            if other != path:
                other.unlink()
        return status

    monkeypatch.setattr("bakeoff.pipeline.tracking.limited_calls.os.lstat", delete_the_other)
    assert measure_folder(tmp_path) == 5
