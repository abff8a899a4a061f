"""Where the runs of results are stored, for the functions that take results in place of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.run_result import RunResult
from bakeoff.pipeline.python.sweep_result import SweepResult


def name_run(run: str | RunResult) -> str:
    """Return the word that names a run: as it is given, or the id of a result.

    Raises
    ------
    UserError
        The run is not stored.
    """
    if isinstance(run, str):
        return run
    if run.run_id is None:
        raise UserError(f"the run {run.name} is not stored (tracking=none), so that nothing can be read of it.")
    return run.run_id


def find_store(results: Sequence[RunResult | SweepResult], uri: str | None, experiment: str | None) -> dict[str, Any]:
    """Return the fields of a request that name the store: as given, else that of the results.

    Parameters
    ----------
    results : sequence of RunResult or SweepResult
    uri, experiment : str or None
        As given.

    Raises
    ------
    UserError
        The results are not stored, or in several stores.
    """
    settings = [_read_settings(result) for result in results]
    found = {}
    for key, given in (("uri", uri), ("experiment", experiment)):
        stored = {str(each[key]) for each in settings if each.get(key) is not None}
        if len(stored) > 1:
            raise UserError(
                f"the results are in several stores (tracking.{key}: {', '.join(sorted(stored))}), and only runs of "
                "one can be compared."
            )
        value = given or next(iter(stored), None)
        if value is not None:
            found[f"tracking__{key}"] = value
    return found


def _read_settings(result: RunResult | SweepResult) -> Mapping[str, Any]:
    settings: Mapping[str, Any] = result.config["tracking"] if isinstance(result, RunResult) else result.tracking
    if not settings:
        raise UserError(f"the runs of sweep {result.name} are not stored (tracking=none).")
    return settings
