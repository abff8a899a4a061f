"""``bakeoff serve``: answer requests for predictions over HTTP, on this machine only unless ``host`` says otherwise."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.config.trust.trusted_packages import read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.terminal import show_controls

POSITIONS = ("MODEL",)
KEYS = ("port", "host", "dataset", "trust", "tracking.uri", "tracking.experiment")
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = "5001"
"""MLflow's pages, which `bakeoff ui` serves, have port 5000."""
MAX_PORT = 65535


def serve_model(words: Sequence[str]) -> int:
    """Load a model, print its address, and answer until Ctrl-C.

    Parameters
    ----------
    words : sequence of str
        ``MODEL [port=5001] [host=127.0.0.1] [dataset=NAME] [trust=[PACKAGE]] [tracking.uri=URI]
        [tracking.experiment=NAME]``; MODEL as for ``bakeoff predict``.

    Raises
    ------
    UserError
        There is no such model, or the port is not a free one.
    """
    (word,), values = parse_arguments("serve", words, POSITIONS, KEYS)
    port = _read_port(values)
    from bakeoff.pipeline.serving import is_loopback, name_address, open_socket, run_server
    from bakeoff.pipeline.tracking import load_model

    # A port in use is found before the model is loaded, which takes longer.
    opened = open_socket(values.get("host", DEFAULT_HOST), port)
    try:
        experiment = values.get("tracking.experiment", "bakeoff")
        trust = read_trust(values.get("trust", ""))
        uri = values.get("tracking.uri")
        model = load_model(word, uri, experiment, values.get("dataset", ""), trust, verb="serve")
    except BaseException:
        opened.close()
        raise
    for line in [model.describe(), *model.notes]:
        print(f"serve: {show_controls(line)}", file=sys.stderr)
    if not is_loopback(opened):
        print("serve: everyone who reaches this machine can send requests; there is no password.", file=sys.stderr)
    print(f"POST rows to {name_address(opened)}/invocations\nCtrl-C ends the server", flush=True)
    run_server(model, opened)
    return 0


def _read_port(values: Mapping[str, str]) -> int:
    port = values.get("port", DEFAULT_PORT)
    if not (port.isascii() and port.isdigit() and len(port) <= len(str(MAX_PORT)) and int(port) <= MAX_PORT):
        raise UserError(
            f"serve: port={port!r} must be a number up to {MAX_PORT}, such as {DEFAULT_PORT}, or 0 for a free one."
        )
    return int(port)
