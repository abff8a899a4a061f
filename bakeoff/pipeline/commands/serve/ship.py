"""Shipping, which fits the procedure of a run on all rows, stores the model, and registers it under a name."""

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

from bakeoff.pipeline.checks import check_splits
from bakeoff.pipeline.commands.repetition.refit import LoadedRun, load_run
from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.experiment import Experiment, FittedModel, fit_model, make_pipeline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.experiment.fitting import make_tuning_data
from bakeoff.pipeline.experiment.stage_log import unique_messages
from bakeoff.pipeline.identity.config_hash import hash_config
from bakeoff.pipeline.model.training_record import TrainingRecord, make_training_record
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.stages.splitting import Split, Splits
from bakeoff.pipeline.stages.tuning import NoTuning
from bakeoff.pipeline.tracking.card import describe_run_lines, format_mean, write_tuned
from bakeoff.pipeline.tracking.history import count_looks
from bakeoff.pipeline.tracking.models import store_version
from bakeoff.pipeline.tracking.names import ModelName, find_alias, find_headline, parse_model_name
from bakeoff.pipeline.tracking.provenance import read_versions
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun


def fit_on_all_rows(experiment: Experiment) -> FittedModel:
    """Tune, fit, prune, calibrate and set the threshold as in a run, but with all rows and without a test part.

    Tuning on a validation part chooses the parameters on that part; the chosen candidate is then fitted on all rows,
    including the rows of that part, as scikit-learn's ``GridSearchCV`` does with ``refit=True``. Tuning on inner folds
    has no such part.

    Parameters
    ----------
    experiment : Experiment
        The experiment of a run, which has passed the checks.

    Returns
    -------
    FittedModel
        The model, whose split contains the rows of the fit and the rows of any validation part that was kept.

    Raises
    ------
    UserError
        There are too few rows for the inner folds or for a validation part.
    """
    needs_other_rows = experiment.pruning.needs_rows or experiment.decision_folds == 0
    split = _make_split(experiment, with_validation=needs_other_rows)
    is_tuned_first = experiment.tuning.needs_rows
    tuning_split = _make_split(experiment, with_validation=True) if is_tuned_first else split
    check_splits(experiment, Splits((tuning_split,), refit=None))
    return _tune_and_fit(experiment, tuning_split, split) if is_tuned_first else fit_model(experiment, split)


def _make_split(experiment: Experiment, *, with_validation: bool) -> Split:
    # The seed of the run's splits is used, so that the model of a cross-validation is fitted on the same rows again.
    seed = derive_seed(experiment.seed, "split")
    return experiment.splitter.make_full_split(experiment.split_input, seed, with_validation=with_validation)


def _tune_and_fit(experiment: Experiment, tuning_split: Split, split: Split) -> FittedModel:
    """Choose the candidate on one split, and fit it on another whose training part includes all of those rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = make_tuning_data(experiment, tuning_split)
        chosen, candidates = experiment.tuning.tune(make_pipeline(experiment), data)
    settled = replace(experiment, learner=chosen[-1], tuning=NoTuning())
    model = fit_model(settled, split)
    n_candidate_fits = experiment.tuning.count_fits(candidates) - 1
    return replace(
        model,
        candidates=candidates,
        n_fits=model.n_fits + n_candidate_fits,
        warnings=unique_messages(caught, model.warnings),
    )


CURE = (
    "For an unbiased score, use rows that no run has used (evaluation=fixed dataset.test_path=FILE), or a single "
    "run that makes the choice within each training part (tuning=grid evaluation=kfold)."
)


def describe_choice(store: Store, run: StoredRun) -> list[str]:
    """Return why the score of a run may be optimistic, and how to obtain an unbiased one; empty if nothing was chosen.

    The best of several scores is, on average, higher than the score of its configuration on new rows.

    Parameters
    ----------
    store : Store
    run : StoredRun

    References
    ----------
    Cawley, G. C. and Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
    performance evaluation. Journal of Machine Learning Research 11, 2079-2107.
    """
    headline = find_headline(run.params, run.metrics)
    digest = run.tags.get("dataset_digest", "")
    n_configurations = count_looks(store, digest, config_hash=run.tags.get("config_hash", ""))
    if headline is None or n_configurations < 2:
        return []
    return [
        f"{n_configurations} configurations have been scored on these rows; if the run was chosen for its {headline}, "
        f"that score is optimistic. {CURE}"
    ]


def describe_procedure(experiment: Experiment, model: FittedModel) -> list[str]:
    """Return a sentence for each choice of tuning, pruning, calibration and threshold, with the rows it used.

    Parameters
    ----------
    experiment : Experiment
    model : FittedModel
        The model returned by `fit_on_all_rows`.
    """
    sentences = []
    if chosen := write_tuned(model):
        sentences.append(f"tuned on {_name_tuning_rows(experiment)}: {chosen}")
    if model.path is not None:
        sentences.append(f"pruned: leaves {model.path.leaves[0]} → {model.path.leaves[-1]}")
    calibration = experiment.calibration
    if isinstance(calibration, Calibration):
        rows = (
            f"{calibration.folds} inner folds" if calibration.folds else f"{len(model.split.validation):,} other rows"
        )
        sentences.append(f"calibrated by {calibration.method} on {rows}")
    return [*sentences, *describe_run_lines(experiment, [], model)]


def describe_score(run: LoadedRun) -> list[str]:
    """Return the headline score of a run, and the number of rows on which the scored models were fitted."""
    headline = find_headline(run.stored.params, run.stored.metrics)
    if headline is None:
        return []
    score = format_mean(dict(run.stored.metrics), headline)
    n_folds = len(run.splits.folds)
    n_train = f"{run.splits.mean_rows['train']:,.0f} rows"
    models = (
        f"model was fitted on {n_train}" if n_folds == 1 else f"{n_folds} models were fitted on {n_train} on average"
    )
    return [f"{headline} {score} was measured in its run, whose {models}"]


def _name_tuning_rows(experiment: Experiment) -> str:
    """Return a description of the rows on which the candidates were scored."""
    if not experiment.tuning.needs_rows:
        return f"{experiment.tuning.folds} inner folds"
    n_rows = len(_make_split(experiment, with_validation=True).validation)
    return f"{n_rows:,} of the rows before the fit on all of them"


@dataclass(frozen=True)
class ShippedModel:
    """A model fitted on all rows and registered.

    Attributes
    ----------
    name : ModelName
    version : int
    previous_version : int or None
        The version that had the alias before.
    record : TrainingRecord
        The training record, which identifies the run that the model comes from.
    facts : tuple of str
        Sentences on the rows of the fit, the choices made, and the score of the run.
    remarks : tuple of str
        Sentences on possible problems with the model or its score.
    """

    name: ModelName
    version: int
    previous_version: int | None
    record: TrainingRecord
    facts: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The name of the model on the command line, such as ``titanic@champion`` or ``titanic/3``."""
        return str(self.name) if self.name.alias else f"{self.name}/{self.version}"


def ship_run(request: RefitRequest, word: str, announce: Callable[[str], None] = lambda sentence: None) -> ShippedModel:
    """Fit the procedure of a finished run on all rows, store the model in the run's experiment, and register it.

    The run does not change, and no new run is created. If the fit or a write fails, nothing is left behind.

    Parameters
    ----------
    request : RefitRequest
    word : str
        The name under which to register the model, with an alias for its new version: ``NAME@ALIAS``.
    announce : callable
        Receives a sentence before the fit, which may take long.

    Raises
    ------
    UserError
        The run does not exist or did not finish, its rows have changed, it calls untrusted code, or the model cannot be
        stored under this name.
    """
    name = parse_model_name(word, "as")
    store, run = load_run(request)
    announce(f"fitting the procedure of run {run.stored.run_id} ({run.stored.name}) on all rows")
    model = fit_on_all_rows(run.experiment)
    record = _make_record(run, model)
    rows = f"{record.dataset}: {record.describe_rows()}"
    facts = (rows, *describe_procedure(run.experiment, model), *describe_score(run))
    choice = describe_choice(store, run.stored)
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
    # The store does not preserve the order of metrics.
    names = [name for name in first if name in stored.metrics] + sorted(stored.metrics)
    return make_training_record(
        run.experiment,
        model,
        run_id=stored.run_id,
        run_name=stored.name,
        dataset_config=run.spec["dataset"],
        scores={name: stored.metrics[name] for name in names},
        versions=read_versions(),
    )


def _describe_audit(run: LoadedRun) -> list[str]:
    """Return the findings of the run's audit, such as a column that reveals the target."""
    try:
        warnings = json.loads(run.stored.tags.get("audit_warnings", "[]"))
    except ValueError:  # truncated, because it exceeded the maximum length of a tag
        warnings = ["too long for a tag; see the page of the run"]
    return [f"the audit of the run found: {warning}" for warning in warnings]


def _describe_changes(run: LoadedRun) -> list[str]:
    """Return a sentence if the code or the package versions differ from those of the run."""
    stored_hash = run.stored.tags.get("config_hash")
    if stored_hash == hash_config(run.spec, run.experiment.dataset.digest()):
        return []
    run_id = run.stored.run_id
    return [
        f"the code or the versions of packages have changed since run {run_id}: the model uses the current ones, "
        f"but its scores were measured with the former ones; `bakeoff replay {run_id}` shows the differences."
    ]


def _make_tags(record: TrainingRecord) -> dict[str, str]:
    """Return the tags of a version for tables and pages: rows, scores of the run, and the digest of the data."""
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
