"""``bakeoff serve``: answer requests for predictions over HTTP, on this machine only unless ``host`` says otherwise."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.serving.request import ServeRequest
from bakeoff.pipeline.text.terminal import print_note


def serve_model(words: Sequence[str]) -> int:
    """Load a model, print its address, and answer until Ctrl-C.

    Raises
    ------
    UserError
        There is no such model, or the port is not a free one.
    """
    request = read_request("serve", ServeRequest, words)

    from bakeoff.pipeline.serving.server import is_loopback, name_address, open_model, run_server

    model, opened = open_model(request)
    for line in [model.describe(), *model.notes]:
        print_note(f"serve: {line}")
    if not is_loopback(opened):
        print("serve: everyone who reaches this machine can send requests; there is no password.", file=sys.stderr)
    print(f"POST rows to {name_address(opened)}/invocations\nCtrl-C ends the server", flush=True)
    run_server(model, opened)
    return 0
