"""``bakeoff ui``: MLflow's pages on the store, on this machine only."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bakeoff.pipeline.cli.arguments import parse
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.store import SQLITE_PREFIX, quiet_mlflow, store_uri


def open_pages(words: Sequence[str]) -> int:
    """Serve the pages until Ctrl-C; a store that is a server already is only named.

    Parameters
    ----------
    words : sequence of str
        ``[tracking.uri=URI] [port=5000]``.

    Raises
    ------
    UserError
        There is no store yet, or the port is no number.
    """
    _, values = parse("ui", words, [], ["tracking.uri", "port"])
    uri = store_uri(values.get("tracking.uri"))
    if uri.startswith(("http://", "https://")):
        print(f"the store is a server: open {uri}")
        return 0
    if uri.startswith(SQLITE_PREFIX) and not Path(uri.removeprefix(SQLITE_PREFIX)).is_file():
        raise UserError(f"ui: there is no store at {uri}; run an experiment first, or give tracking.uri=URI.")
    port = values.get("port", "5000")
    if not port.isdigit():
        raise UserError(f"ui: port={port!r} must be a number, such as 5000.")
    quiet_mlflow()
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")  # starts about five times faster
    print(f"open http://127.0.0.1:{port}  (Ctrl-C ends it)", flush=True)
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri]
    os.execv(sys.executable, [*command, "--host", "127.0.0.1", "--port", port, "--workers", "1"])
