"""``bakeoff.ship``: fits the procedure of a run on all rows and registers the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bakeoff.pipeline.commands.serve.ship import ship_run
from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.config.trust import read_trust
from bakeoff.pipeline.model.pyfunc import Model
from bakeoff.pipeline.python.call import own_process_state, warn_of
from bakeoff.pipeline.tracking.models import load_model

if TYPE_CHECKING:
    from bakeoff.pipeline.python.run import RunResult
    from bakeoff.pipeline.python.sweep import SweepResult


def ship(
    run: str | RunResult | SweepResult,
    name: str,
    *,
    dataset: str = "",
    trust: Sequence[str] = (),
    tracking__uri: str | None = None,
    tracking__experiment: str | None = None,
) -> Model:
    """Fit the whole procedure of a run on all rows, and register the model.

    Parameters
    ----------
    run : str, RunResult or SweepResult
        The id of a run, ``latest`` or ``best``; the result of a run; or the result of a sweep, whose best run is used.
    name : str
        The name of the registered model with an alias, such as ``titanic@champion``.
    dataset : str
        Restricts ``latest`` and ``best`` to runs on this dataset.
    trust : sequence of str
        User-defined packages whose code may be called.
    tracking__uri, tracking__experiment : str, optional
        The store; by default that of the result, or else that of `run`.

    Returns
    -------
    Model
        The model, as returned by `load`. Possible problems with the model or the score of its run are reported as
        `BakeoffWarning`.

    Raises
    ------
    UserError
        The run does not exist or did not finish, its rows have changed, or the name is invalid. Nothing is stored.
    """
    from bakeoff.pipeline.python.sweep import SweepResult, find_store, list_run_ids

    store = {"tracking__uri": tracking__uri, "tracking__experiment": tracking__experiment}
    request = RefitRequest(
        run=run.best_run if isinstance(run, SweepResult) else list_run_ids(run)[0],
        dataset=dataset,
        trust=read_trust(trust),
        **find_store([run], store),
    )
    with own_process_state():
        shipped = ship_run(request, name)
        model = load_model(replace(request, run=shipped.word))
    warn_of(shipped.remarks)
    return model
