"""``bakeoff.ship``: the procedure of a run, fitted on all rows and registered under a name."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.config.trust import read_trust
from bakeoff.pipeline.model import Model
from bakeoff.pipeline.python.keywords import reject_unknown_keywords
from bakeoff.pipeline.python.notes import warn_of
from bakeoff.pipeline.python.process_state import own_process_state
from bakeoff.pipeline.python.run_result import RunResult
from bakeoff.pipeline.python.stored_results import find_store, name_run
from bakeoff.pipeline.python.sweep_result import SweepResult
from bakeoff.pipeline.shipping.request import ShipRequest
from bakeoff.pipeline.shipping.ship import ship_run
from bakeoff.pipeline.tracking.loading import load_model


@reject_unknown_keywords({"alias": "give it with the name: ship(run, 'titanic@champion')"})
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
        The id of a run, ``latest`` or ``best``; the result of a run; or a sweep, whose best run it is then.
    name : str
        Of the registered model, with an alias: ``titanic@champion``.
    dataset : str
        Restricts ``latest`` and ``best`` to the runs on a dataset.
    trust : sequence of str
        Packages of your own whose code may be called.
    tracking__uri, tracking__experiment : str, optional
        The store; by default that of the result, else as for `run`.

    Returns
    -------
    Model
        As `load` returns it. What may be wrong with it or with the score of its run is a `BakeoffWarning`.

    Raises
    ------
    UserError
        There is no such run, it did not finish, its rows have changed, or the name is not valid. Nothing is stored.
    """
    results = [] if isinstance(run, str) else [run]
    request = ShipRequest(
        run=run.best_run if isinstance(run, SweepResult) else name_run(run),
        name=name,
        dataset=dataset,
        trust=read_trust(trust),
        **find_store(results, tracking__uri, tracking__experiment),
    )
    with own_process_state():
        shipped = ship_run(request, is_chosen=isinstance(run, SweepResult))
        model = load_model(shipped.word, request.tracking__uri, request.tracking__experiment, trust=request.trust)
    warn_of(shipped.remarks)
    return model
