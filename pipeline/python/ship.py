"""``bakeoff.ship``: the procedure of a run, fitted on all rows and registered under a name."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.config.trust.trusted_packages import read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model import Model
from bakeoff.pipeline.python.keywords import reject_unknown_keywords
from bakeoff.pipeline.python.notes import warn_of
from bakeoff.pipeline.python.process_state import own_process_state
from bakeoff.pipeline.python.run_result import RunResult
from bakeoff.pipeline.python.sweep_result import SweepResult
from bakeoff.pipeline.shipping import ShippedModel, ShipRequest, ship_run
from bakeoff.pipeline.tracking import load_model
from bakeoff.pipeline.tracking.find_run import BEST, find_run_id
from bakeoff.pipeline.tracking.registry import parse_model_name
from bakeoff.pipeline.tracking.store import open_store


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
    word = _name_run(run)
    settings = _read_settings(run)
    uri = tracking__uri or settings.get("uri")
    experiment = tracking__experiment or settings.get("experiment") or "bakeoff"
    packages = read_trust(trust)
    is_best = word == BEST or isinstance(run, SweepResult)
    with own_process_state():
        shipped = _ship_word(word, name, dataset, packages, uri, experiment, is_best=is_best)
        model = load_model(shipped.word, uri, experiment, trust=packages, verb="ship")
    warn_of(shipped.remarks)
    return model


def _ship_word(
    word: str, name: str, dataset: str, trust: tuple[str, ...], uri: str | None, experiment: str, *, is_best: bool
) -> ShippedModel:
    """Ship the run that a word names; each error begins with the name of the function."""
    try:
        request = ShipRequest(parse_model_name(name, "name"), trust, is_best=is_best)
        store = open_store(uri, experiment, create=False)
        return ship_run(store, find_run_id(store, word, "ship", dataset), request)
    except UserError as error:
        raise UserError(f"ship: {str(error).removeprefix('ship: ')}") from None


def _name_run(run: str | RunResult | SweepResult) -> str:
    if isinstance(run, SweepResult):
        return run.best_run
    if not isinstance(run, RunResult):
        return run
    if run.run_id is None:
        raise UserError(f"ship: the run {run.name} is not stored (tracking=none), so that it cannot be shipped.")
    return run.run_id


def _read_settings(run: str | RunResult | SweepResult) -> dict[str, str | None]:
    """Return the settings of the store of a result; empty for a word."""
    if isinstance(run, str):
        return {}
    settings = run.tracking if isinstance(run, SweepResult) else run.config["tracking"]
    return {key: settings.get(key) for key in ("uri", "experiment")}
