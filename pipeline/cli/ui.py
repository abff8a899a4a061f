"""``bakeoff ui``: serve the MLflow UI of a store on this machine only."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.store import quiet_mlflow, store_exists, store_uri

HOST = "127.0.0.1"
DEFAULT_PORT = "5000"


def serve_ui(words: Sequence[str]) -> int:
    """Serve the UI until Ctrl-C; if the store is a server, which has a UI already, print its address.

    Parameters
    ----------
    words : sequence of str
        ``[tracking.uri=URI] [port=5000]``.

    Raises
    ------
    UserError
        There is no store yet, or the port is not a number.
    """
    _, values = parse_arguments("ui", words, [], ["tracking.uri", "port"])
    uri = store_uri(values.get("tracking.uri"))
    if uri.startswith(("http://", "https://")):
        print(f"the store is a server: open {uri}")
        return 0
    if not store_exists(uri):
        raise UserError(f"ui: there is no store at {uri}; run an experiment first, or give tracking.uri=URI.")
    port = values.get("port", DEFAULT_PORT)
    if not port.isdigit():
        raise UserError(f"ui: port={port!r} must be a number, such as {DEFAULT_PORT}.")
    quiet_mlflow()
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")  # the server starts about five times faster
    print(f"open http://{HOST}:{port}  (Ctrl-C ends it)", flush=True)
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri]
    os.execv(sys.executable, [*command, "--host", HOST, "--port", port, "--workers", "1"])
