"""Servers of models that tests start and end: one in this process, or a command in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bakeoff.pipeline.commands.serve.server import make_server, name_address, open_socket
from bakeoff.pipeline.model.pyfunc import Model

START_SECONDS = 120
STOP_SECONDS = 30
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Reply:
    """What a server answers.

    Attributes
    ----------
    status : int
    text : str
    headers : mapping of str to str
        By lower-case name.
    """

    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.text)


def ask(address: str, path: str, body: str | bytes | None = None, **headers: str) -> Reply:
    """Send a request and return the answer; header names are given with underscores."""
    parts = urlsplit(address)
    connection = HTTPConnection(str(parts.hostname), parts.port, timeout=START_SECONDS)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body.encode() if isinstance(body, str) else body
    try:
        connection.request("GET" if body is None else "POST", path, content, sent)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, response.read().decode(), found)
    finally:
        connection.close()


@contextmanager
def serving(model: Model) -> Iterator[str]:
    """Serve a model in a thread of this process; yields its address."""
    opened = open_socket("127.0.0.1", 0)
    address = name_address(opened)
    server = make_server(model, opened)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join(STOP_SECONDS)
        opened.close()
    assert not thread.is_alive()


@contextmanager
def started(folder: Path, *words: str) -> Iterator[str]:
    """Start ``bakeoff`` in a folder, with words that serve a model; yields its address when it answers."""
    log = folder / "server.log"
    with log.open("wb") as streams:
        process = subprocess.Popen(
            [sys.executable, "-m", "bakeoff", *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=streams,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield wait_for_answer(log, lambda: process.poll() is None)
    finally:
        _kill_group(process.pid)
        process.wait(STOP_SECONDS)


def wait_for_answer(log: Path, is_running: Callable[[], bool]) -> str:
    """Return the address that a starting server prints into its log, when it answers."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and is_running():
        said = log.read_text() if log.exists() else ""
        printed = re.search(r"^POST rows to (\S+)/invocations$", said, flags=re.MULTILINE)
        try:
            if printed and ask(printed[1].replace("0.0.0.0", "127.0.0.1"), "/ping").status == 200:
                return printed[1]
        except OSError:
            pass
        time.sleep(POLL_SECONDS)
    raise AssertionError(f"the server did not start: {log.read_text() if log.exists() else 'it printed nothing'}")


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
