"""Shipping: the procedure of a run is fitted on all rows, stored, and registered under a name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from bakeoff.pipeline.experiment import FittedModel
from bakeoff.pipeline.identity.config_hash import hash_config
from bakeoff.pipeline.model import TrainingRecord, make_training_record
from bakeoff.pipeline.replay.refit import LoadedRun, load_run
from bakeoff.pipeline.shipping.choice import describe_choice
from bakeoff.pipeline.shipping.full_fit import fit_on_all_rows
from bakeoff.pipeline.shipping.procedure import describe_procedure, describe_score
from bakeoff.pipeline.shipping.request import ShipRequest
from bakeoff.pipeline.tracking.find_run import BEST, find_headline, find_run_id
from bakeoff.pipeline.tracking.models import store_version
from bakeoff.pipeline.tracking.provenance import read_versions
from bakeoff.pipeline.tracking.registry import ModelName, find_alias, parse_model_name
from bakeoff.pipeline.tracking.store import open_store


@dataclass(frozen=True)
class ShippedModel:
    """A model that was fitted on all rows and registered.

    Attributes
    ----------
    name : ModelName
    version : int
    previous_version : int or None
        The version that had the alias before.
    record : TrainingRecord
        Names the run that the model comes from.
    facts : tuple of str
        What it was fitted on, what was chosen, and the score of its run.
    remarks : tuple of str
        What may be wrong with it or with its score.
    """

    name: ModelName
    version: int
    previous_version: int | None
    record: TrainingRecord
    facts: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The word that names it on the command line, such as ``titanic@champion`` or ``titanic/3``."""
        return str(self.name) if self.name.alias else f"{self.name}/{self.version}"


def ship_run(
    request: ShipRequest, announce: Callable[[str], None] = lambda sentence: None, *, is_chosen: bool = False
) -> ShippedModel:
    """Fit the procedure of a finished run on all rows, store the model in the experiment of the run, and register it.

    The run does not change, and there is no new one. If the fit or a write fails, nothing stays.

    Parameters
    ----------
    request : ShipRequest
    announce : callable
        Receives a sentence before the fit, which may take long.
    is_chosen : bool
        Whether the run was chosen by its score, as the word ``best`` chooses it.

    Raises
    ------
    UserError
        There is no such run, it did not finish, its rows have changed, it calls code that is not trusted, or the model
        cannot be stored under this name.
    """
    name = parse_model_name(request.name, "as")
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    run_id = find_run_id(store, request.run, request.dataset)
    run = load_run(store, run_id, request.trust, request.dataset__path)
    announce(f"fitting the procedure of run {run_id} ({run.stored.name}) on all rows")
    model = fit_on_all_rows(run.experiment)
    record = _make_record(run, model)
    rows = f"{record.dataset}: {record.describe_rows()}"
    facts = (rows, *describe_procedure(run.experiment, model), *describe_score(run))
    choice = describe_choice(store, run.stored, is_best=is_chosen or request.run == BEST)
    previous = find_alias(store, name) if name.alias else None
    version = store_version(
        store,
        name,
        model.predictor,
        record,
        trust=request.trust,
        tags=_make_tags(record),
        description="\n".join([*facts, *choice]),
    )
    return ShippedModel(
        name=name,
        version=version.version,
        previous_version=None if previous is None else previous.version,
        record=record,
        facts=facts,
        remarks=(*choice, *_describe_audit(run), *_describe_changes(run), *model.warnings),
    )


def _make_record(run: LoadedRun, model: FittedModel) -> TrainingRecord:
    """Return the record of the model, with the scores of the run, the headline first."""
    stored = run.stored
    headline = find_headline(stored.params, stored.metrics)
    first = [] if headline is None else [headline, f"{headline}_std"]
    # The store does not keep the order of metrics.
    names = [name for name in first if name in stored.metrics] + sorted(stored.metrics)
    return make_training_record(
        run.experiment,
        model,
        run_id=stored.run_id,
        run_name=stored.name,
        dataset_config=run.spec["dataset"],
        scores={name: stored.metrics[name] for name in names},
        n_folds=len(run.splits.folds),
        versions=read_versions(),
    )


def _describe_audit(run: LoadedRun) -> list[str]:
    """Return what the audit of the run found, such as a column that gives the target away."""
    try:
        warnings = json.loads(run.stored.tags.get("audit_warnings", "[]"))
    except ValueError:  # cut, because it was longer than a tag may be
        warnings = ["more than a tag holds; see the page of the run"]
    return [f"the audit of the run found: {warning}" for warning in warnings]


def _describe_changes(run: LoadedRun) -> list[str]:
    """Return that the code or the versions of packages are not those of the run, if they are not."""
    stored_hash = run.stored.tags.get("config_hash")
    if stored_hash == hash_config(run.spec, run.experiment.dataset.digest()):
        return []
    run_id = run.stored.run_id
    return [
        f"the code or the versions of packages have changed since run {run_id}: the model is of the present ones, and "
        f"its scores are of the former ones; `bakeoff replay {run_id}` says what differs."
    ]


def _make_tags(record: TrainingRecord) -> dict[str, str]:
    """Return what tables and pages show of a version: the rows, the scores of the run, and the digest of the data."""
    counts = {name: getattr(record, name) for name in ("n_rows", "n_train", "n_validation", "n_test")}
    tags = {
        "run_name": record.run_name,
        "dataset": record.dataset,
        "dataset_digest": record.dataset_digest,
        "rows": record.describe_rows(),
        "headline": record.headline,
    }
    numbers = {**counts, **record.scores}
    return tags | {name: repr(value) for name, value in numbers.items()}
