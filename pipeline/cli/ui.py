"""``bakeoff ui``: open MLflow's pages of a store on a leaderboard, and serve them on this machine only."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.tracking.open_pages import PagesRequest, open_pages, serve_pages


def serve_ui(words: Sequence[str]) -> int:
    """Write the views of a store, print their address, and serve the pages until Ctrl-C.

    If the store is a server, which has pages already, their address is all that is printed.

    Raises
    ------
    UserError
        There is no such store, experiment or sweep, or the port is not a free one.
    """
    request = read_request("ui", PagesRequest, words)
    pages = open_pages(request)
    print("\n".join(pages.lines), flush=True)
    if not pages.is_served:
        print("Ctrl-C ends the pages", flush=True)
        serve_pages(pages, request.port)
    return 0
