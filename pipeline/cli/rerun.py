"""``bakeoff rerun --failed``: the jobs of earlier sweeps that did not finish, read from the store."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.store import open_store

OWN = ("sweep", "tracking.uri", "tracking.experiment")


def failed_jobs(words: Sequence[str]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the overrides of each job that failed, and the words that are left for the sweep.

    Parameters
    ----------
    words : sequence of str
        ``--failed``, and optionally ``sweep=NAME``, ``tracking.uri=URI``, ``tracking.experiment=NAME`` and keys of
        sweeps, such as ``workers=2``.

    Raises
    ------
    UserError
        ``--failed`` is not there, or there is no store.
    """
    if "--failed" not in words:
        raise UserError(
            "rerun: say what to run again; the form is: bakeoff rerun --failed [sweep=NAME] [KEY=VALUE ...]"
        )
    given = dict(word.split("=", 1) for word in words if word.split("=", 1)[0] in OWN and "=" in word)
    store = open_store(given.get("tracking.uri"), given.get("tracking.experiment", "bakeoff"), create=False)
    history.end_orphans(store)
    stored = [f"{key}={value}" for key, value in given.items() if key != "sweep"]
    jobs = [_with(overrides, stored) for overrides in history.find_failed_jobs(store, given.get("sweep"))]
    return jobs, [word for word in words if word != "--failed" and word.split("=", 1)[0] not in OWN]


def _with(overrides: Sequence[str], further: Sequence[str]) -> tuple[str, ...]:
    keys = {word.split("=", 1)[0] for word in further}
    return (*(word for word in overrides if word.split("=", 1)[0] not in keys), *further)
