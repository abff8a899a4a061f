"""``bakeoff rm``: delete stored runs for good, with their artifacts and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.cli.removal_report import carry_out, read_switch
from bakeoff.pipeline.errors import UserError

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.store import Store

KEYS = ("sweep", "filter", "registered", "dry_run", "tracking.uri", "tracking.experiment")
EXIT_KEPT = 1


def remove_runs(words: Sequence[str]) -> int:
    """Delete runs from the store, and their files from the disk; return the exit code.

    What is deleted, and how many bytes that frees, is printed first. A run that is running, or whose model is
    registered, is kept and named.

    Parameters
    ----------
    words : sequence of str
        ``RUN ...``, or ``sweep=NAME``, or ``filter="..."`` in MLflow's language; and optionally ``registered=true``,
        which deletes registered versions as well, ``dry_run=true``, ``tracking.uri=URI`` and
        ``tracking.experiment=NAME``.

    Returns
    -------
    int
        0 if all runs were deleted, 1 if some were kept.

    Raises
    ------
    UserError
        There is no such run, or the store is a server.
    """
    arguments, values = parse_arguments("rm", words, [], KEYS, rest="RUN")
    if len(values.keys() & {"sweep", "filter"}) + bool(arguments) != 1:
        raise UserError('rm: say which runs in one way: RUN ..., sweep=NAME, or filter="...".')
    is_dry = read_switch("rm", values, "dry_run")
    is_registered_included = read_switch("rm", values, "registered")

    from bakeoff.pipeline.tracking.inventory import read_inventory
    from bakeoff.pipeline.tracking.removal import plan_runs
    from bakeoff.pipeline.tracking.store import open_store

    store = open_store(values.get("tracking.uri"), values.get("tracking.experiment", "bakeoff"), create=False)
    inventory = read_inventory(store, "rm")
    removal = plan_runs(store, inventory, _find_run_ids(store, arguments, values), is_registered_included)
    carry_out(store, removal, is_dry=is_dry)
    return EXIT_KEPT if removal.kept else 0


def _find_run_ids(store: Store, arguments: Sequence[str], values: Mapping[str, str]) -> list[str]:
    from bakeoff.pipeline.tracking.find_run import find_run_id
    from bakeoff.pipeline.tracking.reading.stored_runs import search_stored_runs
    from bakeoff.pipeline.tracking.run_record import find_sweep_runs

    if "sweep" in values:
        return find_sweep_runs(store, values["sweep"])
    if "filter" in values:
        found = search_stored_runs(store, values["filter"])
        if not found:
            raise UserError(f"rm: filter={values['filter']!r} selects no run in {store.uri}.")
        return [run.run_id for run in found]
    return [find_run_id(store, word, "rm") for word in arguments]
