"""MLflow's pages of a store: the addresses of its views, and the server for them on this machine."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from bakeoff.pipeline.config.requests import ExperimentRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import strip_secrets
from bakeoff.pipeline.tracking import views
from bakeoff.pipeline.tracking.limited_calls import is_server
from bakeoff.pipeline.tracking.sqlite_file import find_file
from bakeoff.pipeline.tracking.store import open_store, prepare_file, quiet_mlflow, store_exists, store_uri

HOST = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class PagesRequest(ExperimentRequest):
    """The pages of a store.

    Attributes
    ----------
    sweep : str or None
        The sweep that the views show; by default the last one.
    port : int
        The port of the pages, by default 5000.
    """

    sweep: str | None = None
    port: int = 5000


@dataclass(frozen=True)
class Pages:
    """The pages of a store.

    Attributes
    ----------
    uri : str
        The store.
    lines : tuple of str
        The addresses of the views, and notes.
    is_served : bool
        Whether they are already served, because the store is a server.
    """

    uri: str
    lines: tuple[str, ...]
    is_served: bool


def open_pages(request: PagesRequest) -> Pages:
    """Write the views of a store, and return their addresses.

    Parameters
    ----------
    request : PagesRequest

    Raises
    ------
    UserError
        There is no such store, experiment or sweep, or the port is in use.
    """
    uri = store_uri(request.tracking__uri)
    if is_server(uri):
        address = strip_secrets(uri).rstrip("/")
        return Pages(uri, tuple(_iterate_lines(uri, address, request)), is_served=True)
    if not store_exists(uri):
        raise UserError(f"there is no store at {uri}; run an experiment first, or give tracking.uri=URI.")
    _require_free_port(request.port)
    file = find_file(uri)
    if file is not None:
        # The server reads the addresses of the database, even if the views cannot be written.
        prepare_file(file)
    address = f"http://{HOST}:{request.port}"
    return Pages(uri, tuple(_iterate_lines(uri, address, request)), is_served=False)


def serve_pages(pages: Pages, port: int) -> NoReturn:
    """Replace this process by MLflow's server of the pages, until Ctrl-C."""
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")  # the server starts about five times faster
    # Not among the arguments, which every user of the machine can read.
    os.environ["MLFLOW_BACKEND_STORE_URI"] = pages.uri
    command = [sys.executable, "-m", "mlflow", "ui"]
    os.execv(sys.executable, [*command, "--host", HOST, "--port", str(port), "--workers", "1"])


def _iterate_lines(uri: str, address: str, request: PagesRequest) -> Iterator[str]:
    """Write the views and yield their addresses, or the reason why there are none."""
    quiet_mlflow()
    reason = views.explain_unreadable(uri)
    if reason:
        yield f"open {address}"
        yield reason
        return
    store = open_store(uri, request.tracking__experiment, create=False)
    written = views.write_views(store, request.sweep)
    page = f"{address}/#/experiments/{store.experiment_id}/runs"
    if not written.has_views:
        yield f"open {page}"
    else:
        yield f"open    {page}?{views.LEADERBOARD_QUERY}"
        yield f"charts  {page}?{views.CHARTS_QUERY}"
    yield from written.notes


def _require_free_port(port: int) -> None:
    with socket.socket() as probe:
        # As the server does: a port whose last connections are being closed counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise UserError(f"port={port} cannot be used ({error}); give another one, such as port=5001.") from None
