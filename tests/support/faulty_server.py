"""MLflow's server in this process, which fails as a test tells it to.

Requests that do not fail are answered by MLflow's own application on a SQLite file, so that what a client writes
through the faults can be read back.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

HANGS = "accepts the request and never answers"
DRIPS = "sends a byte now and then"
CUTS = "sends half of its answer and closes the connection"
CLOSES = "closes the connection without an answer"
PAGE = "sends the page of a proxy that asks for a password"
CIRCLE = "redirects in a circle"
LATER = "asks to come back in an hour"
WAITS = (HANGS, DRIPS, LATER)
"""The faults that a client notices by the time alone."""
DRIP_SECONDS = 0.05
RESTART_SECONDS = 0.5
LOGIN_PAGE = b"<html>\n<head><title>Sign in</title></head>\n<body>" + b"Please sign in. " * 200 + b"</body></html>"
SETTINGS = ("MLFLOW_TRACKING_URI", "_MLFLOW_SERVER_FILE_STORE", "_MLFLOW_SERVER_ARTIFACT_ROOT")

Fault = str | int | None
"""What happens instead of the answer: one of the sentences above, or a status of HTTP; None for nothing."""
ChooseFault = Callable[[str], Fault]
"""(path) -> the fault of a request."""


class FaultyServer:
    """A server whose faults are chosen for each request.

    Attributes
    ----------
    choose_fault : callable
        (path) -> the fault of the request, or None.
    paths : list of str
        Of the requests so far.
    keeps_waiting : bool
        Whether a fault since the last choice keeps a client waiting.
    """

    def __init__(self, application: Any) -> None:
        self.application = application
        self.keeps_waiting = False
        self._choose_fault: ChooseFault = lambda path: None
        self.paths: list[str] = []
        self.ended = threading.Event()
        self._port = 0
        self._server: ThreadingHTTPServer | None = None
        self.start()

    @property
    def uri(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def choose_fault(self) -> ChooseFault:
        """The choice."""
        return self._choose_fault

    @choose_fault.setter
    def choose_fault(self, choose: ChooseFault) -> None:
        self._choose_fault = choose
        self.keeps_waiting = False

    @property
    def thread(self) -> type[threading.Thread]:
        """A class of threads that are waited for without limit as long as this server answers them.

        A client with short limits of time would give up a server that is slow on a machine with much to do.
        """
        server = self

        class PatientThread(threading.Thread):
            def join(self, timeout: float | None = None) -> None:
                while timeout is not None and self.is_alive() and not server.keeps_waiting:
                    super().join(DRIP_SECONDS)
                super().join(timeout)

        return PatientThread

    def start(self) -> None:
        """Accept connections, at the same port as before."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), make_handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        """Refuse connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def restart(self) -> None:
        """Refuse connections for a moment."""
        self.stop()
        time.sleep(RESTART_SECONDS)
        self.start()

    def fail_always(self, fault: Fault, place: str = "") -> None:
        """Let each further request fail whose path holds a text."""
        self.choose_fault = lambda path: fault if place in path else None

    def fail_from(self, place: str, fault: Fault) -> None:
        """Let all requests fail from the next one on whose path holds a text."""
        first = len(self.paths)
        self.choose_fault = lambda path: fault if any(place in each for each in self.paths[first:]) else None

    def fail_at(self, fault: Fault, place: str, times: int = 1) -> None:
        """Let the first requests fail whose path holds a text."""
        left = [fault] * times
        self.choose_fault = lambda path: left.pop() if place in path and left else None

    def close(self) -> None:
        """End the server and the requests that hang."""
        self.ended.set()
        self.stop()


def make_handler(faulty: FaultyServer) -> type[BaseHTTPRequestHandler]:
    """Return the class that answers the requests of a server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer()

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

        def answer(self) -> None:
            body = self.read_body()
            faulty.paths.append(self.path)
            fault = faulty.choose_fault(self.path)
            with suppress(OSError):
                if fault is None:
                    self.pass_on(body)
                else:
                    self.fail(fault, body)

        def read_body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b""
            while n_bytes := int(self.rfile.readline(), 16):
                body += self.rfile.read(n_bytes)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def pass_on(self, body: bytes, share: float = 1.0) -> None:
            client = faulty.application.test_client()
            headers = {name: value for name, value in self.headers.items() if name != "Transfer-Encoding"}
            answer = client.open(self.path, method=self.command, headers=headers, data=body)
            content = answer.get_data()
            answer.close()
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name not in ("Content-Length", "Connection", "Server", "Date"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: int(len(content) * share)])

        def fail(self, fault: str | int, body: bytes) -> None:
            self.close_connection = True
            faulty.keeps_waiting |= fault in WAITS
            if isinstance(fault, int):
                self.send_answer(fault, b"the server is out of order")
            elif fault == HANGS:
                faulty.ended.wait()
            elif fault == DRIPS:
                for byte in b"HTTP/1.1 200 OK\r\nX-Drip: " + b"." * 100_000:
                    self.wfile.write(bytes([byte]))
                    if faulty.ended.wait(DRIP_SECONDS):
                        return
            elif fault == CUTS:
                self.pass_on(body, share=0.5)
            elif fault == PAGE:
                self.send_answer(200, LOGIN_PAGE, "text/html")
            elif fault == CIRCLE:
                self.send_answer(302, b"", location=self.path)
            elif fault == LATER:
                self.send_answer(503, b"", wait="3600")
            else:
                assert fault == CLOSES

        def send_answer(
            self, status: int, content: bytes, kind: str = "text/plain", location: str = "", wait: str = ""
        ) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Location": location, "Retry-After": wait}.items():
                if value:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            # Else the client would use the connection again, and meet its end instead of the next fault.
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *parts: object) -> None:
            """Print nothing."""

    return Handler


@contextmanager
def mlflow_application(folder: Path) -> Iterator[Any]:
    """Yield MLflow's application on a SQLite file in a folder.

    MLflow keeps its store for the life of the process, so that there is one application in a process.
    """
    import mlflow
    from mlflow.server import app, handlers

    from bakeoff.pipeline.tracking.store import open_store

    open_store(f"sqlite:///{folder / 'mlflow.db'}", "Default")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handlers, "_tracking_store", None)
        patch.setattr(handlers, "_model_registry_store", None)
        patch.setattr(handlers, "_artifact_repo", None)
        patch.setenv("_MLFLOW_SERVER_SERVE_ARTIFACTS", "true")
        patch.setenv("_MLFLOW_SERVER_ARTIFACT_DESTINATION", str(folder / "artifacts"))
        before = os.environ.pop("MLFLOW_TRACKING_URI", None)
        handlers.initialize_backend_stores(f"sqlite:///{folder / 'mlflow.db'}", None, "mlflow-artifacts:/")
        # MLflow makes its store that of the whole process.
        mlflow.set_tracking_uri("")
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        if before is not None:
            os.environ["MLFLOW_TRACKING_URI"] = before
        with warnings.catch_warnings():
            # SQLAlchemy warns of MLflow's tables at the first query, which would be an answer with status 500.
            warnings.simplefilter("ignore")
            app.test_client().post("/api/2.0/mlflow/runs/search", json={"experiment_ids": ["0"]})
        yield app


@contextmanager
def running(application: Any) -> Iterator[FaultyServer]:
    """Run a server for as long as the block lasts."""
    server = FaultyServer(application)
    try:
        yield server
    finally:
        server.close()


def main(folder: Path) -> None:
    """Run a server whose fault is the expression in the file ``fault``."""
    with mlflow_application(folder) as application, running(application) as server:
        print(server.uri, flush=True)
        while True:
            line = input()
            if line == "stop":
                server.stop()
            elif line == "start":
                server.start()
            elif line == "paths":
                print(server.paths, flush=True)
            else:
                eval(line, {**globals(), "server": server})


if __name__ == "__main__":
    import sys

    main(Path(sys.argv[1]))
