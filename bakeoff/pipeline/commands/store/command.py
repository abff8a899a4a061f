"""``bakeoff ui``, ``rm`` and ``gc``: the pages of a store, and the deletion of runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bakeoff.pipeline.text.wording import count_nouns, print_note

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.store.pages import PagesRequest
    from bakeoff.pipeline.commands.store.removal import CollectionRequest, Removal, RemovalRequest
    from bakeoff.pipeline.tracking.store import Store


EXIT_KEPT = 1
MAX_SHOWN_RUNS = 20


def serve_ui(request: PagesRequest) -> int:
    """Write the views of a store, print the address of MLflow's pages, and serve them on this machine until Ctrl-C.

    If the store is a server, which already has pages, only their address is printed.

    Raises
    ------
    UserError
        The store, experiment or sweep does not exist, or the port is not free.
    """
    from bakeoff.pipeline.commands.store.pages import open_pages, serve_pages, take_port
    from bakeoff.pipeline.tracking.limited_calls import is_server
    from bakeoff.pipeline.tracking.store import store_uri

    is_local = not is_server(store_uri(request.tracking__uri))
    request = take_port(request) if is_local else request
    print("\n".join(open_pages(request)), flush=True)
    if is_local:
        print("Press Ctrl-C to stop the server", flush=True)
        serve_pages(request)
    return 0


def remove_runs(request: RemovalRequest) -> int:
    """Permanently delete runs from the store, and their artifacts and models from the disk.

    The runs to delete and the number of bytes this frees are printed first. A run that is still running, or whose model
    is registered, is kept and reported, and the exit code is 1.

    Raises
    ------
    UserError
        The run does not exist, or the store is a server.
    """
    from bakeoff.pipeline.commands.store.removal import plan_removal

    store, removal = plan_removal(request)
    _carry_out(store, removal, is_dry=request.dry_run)
    return EXIT_KEPT if removal.kept else 0


def collect_garbage(request: CollectionRequest) -> int:
    """Permanently delete the runs that were deleted on MLflow's pages, in all experiments of a store.

    Their models are also deleted, as are the models of missing runs, which ``mlflow gc`` leaves behind.

    Raises
    ------
    UserError
        The store does not exist or is a server.
    """
    from bakeoff.pipeline.commands.store.removal import plan_garbage

    store, removal = plan_garbage(request)
    _carry_out(store, removal, is_dry=request.dry_run)
    return 0


def _carry_out(store: Store, removal: Removal, *, is_dry: bool) -> None:
    """Print what is deleted, delete it unless this is a dry run, and reclaim the space in the database."""
    from bakeoff.pipeline.commands.store.removal import remove, shrink_database

    for sentence in removal.kept:
        print_note(f"kept: {sentence}")
    print("\n".join(_describe_removal(removal)))
    if is_dry:
        print("nothing was deleted (dry_run=true)")
        return
    sys.stdout.flush()
    remove(store, removal)
    if removal.runs or removal.models:
        print("deleted")
    # Also reclaim space left by an earlier removal during which another process was using the database.
    if note := shrink_database(store):
        print_note(note)


def _describe_removal(removal: Removal) -> list[str]:
    """Return lines that describe what a removal deletes, with the size of its files."""
    from bakeoff.pipeline.commands.store.removal import describe_item, measure_folder
    from bakeoff.pipeline.text.wording import format_bytes

    counts = {"run": len(removal.runs), "model": len(removal.models)}
    counted = ", ".join(count_nouns(n, noun) for noun, n in counts.items() if n)
    if not counted:
        return ["nothing to delete"]
    size = format_bytes(sum(map(measure_folder, removal.folders)))
    n_hidden = len(removal.runs) - MAX_SHOWN_RUNS
    return [
        f"deleting {counted}: {size} of files, and their rows in the database",
        *(f"  {describe_item(run)}" for run in removal.runs[:MAX_SHOWN_RUNS]),
        *([f"  and {n_hidden} more"] if n_hidden > 0 else []),
        *(
            ["They no longer count as looks at the test rows, although their scores may have been seen."]
            * bool(removal.runs)
        ),
    ]
