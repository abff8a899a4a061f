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

from bakeoff.pipeline.model.pyfunc import Model
from bakeoff.pipeline.serving.server import make_server, name_address, open_socket

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


def ask(address: str, path: str, body: str | bytes | None = None, method: str = "", **headers: str) -> Reply:
    """Send a request and return the answer; header names are given with underscores."""
    parts = urlsplit(address)
    connection = HTTPConnection(str(parts.hostname), parts.port, timeout=START_SECONDS)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body.encode() if isinstance(body, str) else body
    try:
        connection.request(method or ("GET" if body is None else "POST"), path, content, sent)
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
    server = make_server(model)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join(STOP_SECONDS)
        opened.close()
    assert not thread.is_alive()


@dataclass(frozen=True)
class ServedCommand:
    """A command that serves a model in a process of its own.

    Attributes
    ----------
    address : str
    process : Popen
    log : Path
        What it writes to both streams.
    """

    address: str
    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def started(folder: Path, *words: str, address: str = "") -> Iterator[ServedCommand]:
    """Start a Python module as a command that serves a model, and yield when it answers.

    Parameters
    ----------
    folder : Path
        In which it runs.
    words : str
        After ``python -m``.
    address : str
        Where it will answer; if it is not given, the address that the command prints.
    """
    log = folder / "server.log"
    # MLflow starts uvicorn by its name.
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with log.open("wb") as streams:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=folder,
            env={**os.environ, "PATH": programs},
            stdin=subprocess.DEVNULL,
            stdout=streams,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        found = wait_for_answer(log, lambda: process.poll() is None, address)
        command = ServedCommand(found, process, log)
        yield command
    finally:
        _kill_group(process.pid)
        process.wait(STOP_SECONDS)


def wait_for_answer(log: Path, is_running: Callable[[], bool], address: str = "") -> str:
    """Return the address of a server that is starting, when it answers.

    Parameters
    ----------
    log : Path
        What it prints.
    is_running : callable
    address : str
        Where it will answer; if it is not given, the address that it prints.
    """
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and is_running():
        said = log.read_text() if log.exists() else ""
        printed = re.search(r"^POST rows to (\S+)/invocations$", said, flags=re.MULTILINE)
        found = address or (printed[1] if printed else "")
        try:
            if found and ask(found.replace("0.0.0.0", "127.0.0.1"), "/ping").status == 200:
                return found
        except OSError:
            pass
        time.sleep(POLL_SECONDS)
    raise AssertionError(f"the server did not start: {log.read_text() if log.exists() else 'it printed nothing'}")


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
