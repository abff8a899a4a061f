"""``bakeoff rm``: delete stored runs for good, with their artifacts and models."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.cli.removal_report import carry_out
from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.tracking.removal import RemovalRequest, plan_removal

EXIT_KEPT = 1


def remove_runs(words: Sequence[str]) -> int:
    """Delete runs from the store, and their files from the disk.

    What is deleted, and how many bytes that frees, is printed first. A run that is running, or whose model is
    registered, is kept and named; the exit code is 1 then.

    Raises
    ------
    UserError
        There is no such run, or the store is a server.
    """
    request = read_request("rm", RemovalRequest, words)
    store, removal = plan_removal(request)
    carry_out(store, removal, is_dry=request.dry_run)
    return EXIT_KEPT if removal.kept else 0
