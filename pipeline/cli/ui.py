"""``bakeoff ui``: open MLflow's pages of a store on a leaderboard, and serve them on this machine only."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import strip_secrets
from bakeoff.pipeline.tracking.server import is_server
from bakeoff.pipeline.tracking.sqlite_file import SQLITE_PREFIX, sqlite_path
from bakeoff.pipeline.tracking.store import open_store, prepare_file, quiet_mlflow, store_exists, store_uri

HOST = "127.0.0.1"
DEFAULT_PORT = "5000"
MAX_PORT_DIGITS = 5
KEYS = ("tracking.uri", "tracking.experiment", "sweep", "port")


def serve_ui(words: Sequence[str]) -> int:
    """Write the views of a store, print their address, and serve the pages until Ctrl-C.

    If the store is a server, which has pages already, their address is all that is printed.

    Parameters
    ----------
    words : sequence of str
        ``[tracking.uri=URI] [tracking.experiment=NAME] [sweep=NAME] [port=5000]``.

    Raises
    ------
    UserError
        There is no such store, experiment or sweep, or the port is not a free one.
    """
    _, values = parse_arguments("ui", words, [], KEYS)
    uri = store_uri(values.get("tracking.uri"))
    if is_server(uri):
        _show_addresses(uri, strip_secrets(uri).rstrip("/"), values)
        return 0
    if not store_exists(uri):
        raise UserError(f"ui: there is no store at {uri}; run an experiment first, or give tracking.uri=URI.")
    port = values.get("port", DEFAULT_PORT)
    _require_free_port(port)
    if uri.startswith(SQLITE_PREFIX):
        # The server reads the addresses of the database, whether the views can be written or not.
        prepare_file(sqlite_path(uri))
    _show_addresses(uri, f"http://{HOST}:{port}", values)
    print("Ctrl-C ends the pages", flush=True)
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")  # the server starts about five times faster
    # Not among the arguments, which every user of the machine can read.
    os.environ["MLFLOW_BACKEND_STORE_URI"] = uri
    command = [sys.executable, "-m", "mlflow", "ui"]
    os.execv(sys.executable, [*command, "--host", HOST, "--port", port, "--workers", "1"])


def _show_addresses(uri: str, address: str, values: Mapping[str, str]) -> None:
    """Write the views and print the addresses that open on them, or why there are none.

    Parameters
    ----------
    uri : str
        The store.
    address : str
        That of the pages.
    values : mapping of str to str
        Given for `KEYS`.
    """
    from bakeoff.pipeline.tracking.pages import views

    quiet_mlflow()
    reason = views.explain_unreadable(uri)
    if reason:
        print(f"open {address}\n{reason}", flush=True)
        return
    store = open_store(uri, values.get("tracking.experiment", "bakeoff"), create=False)
    written = views.write_views(store, values.get("sweep"))
    page = f"{address}/#/experiments/{store.experiment_id}/runs"
    if not written.has_views:
        print(f"open {page}")
    else:
        print(f"open    {page}?{views.LEADERBOARD_QUERY}")
        print(f"charts  {page}?{views.CHARTS_QUERY}")
    for note in written.notes:
        print(note)
    sys.stdout.flush()


def _require_free_port(port: str) -> None:
    if not (port.isascii() and port.isdigit() and len(port) <= MAX_PORT_DIGITS):
        raise UserError(f"ui: port={port!r} must be a number, such as {DEFAULT_PORT}.")
    with socket.socket() as probe:
        # As the server does: a port whose last connections are being closed counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, int(port)))
        except (OSError, OverflowError) as error:
            raise UserError(f"ui: port={port} cannot be used ({error}); give another one, such as port=5001.") from None
