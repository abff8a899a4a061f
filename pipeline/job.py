"""A job: one settled configuration, from preflight to the last value that is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from bakeoff.pipeline import preflight
from bakeoff.pipeline.audit import Audit, AuditVerdict, NoAudit
from bakeoff.pipeline.config.import_target import find_target
from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.config.own_options import list_own_names
from bakeoff.pipeline.config.settle import to_yaml
from bakeoff.pipeline.description import describe_run
from bakeoff.pipeline.errors import UserError, hiding_values
from bakeoff.pipeline.experiment import (
    Experiment,
    FittedModel,
    FoldResult,
    evaluate_splits,
    fit_final_model,
    order_classes,
)
from bakeoff.pipeline.figure_choice import FigureChoice, choose_figures
from bakeoff.pipeline.job_secrets import hide_in_warnings
from bakeoff.pipeline.part_cache import PartCache
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.preprocessing import AutoPreprocessing, choose_preprocessing
from bakeoff.pipeline.stages.scoring import (
    SCORING_KEYS,
    TRAIN_METRICS_KEY,
    Metric,
    Target,
    choose_metrics,
    choose_train_metrics,
    name_entry,
)
from bakeoff.pipeline.stages.splitting import DEFAULT_MAX_FOLDS, Splits
from bakeoff.pipeline.stages.tuning import list_candidate_learners
from bakeoff.pipeline.storage_check import uses_own_code
from bakeoff.pipeline.tracking import RunDescription, RunStopped, Tracker

ContinueRule = Callable[[Experiment, Sequence[FoldResult]], bool]
"""Decides, from the folds so far, whether to evaluate the next one."""


class ShowProgress(Protocol):
    """Displays the folds as they pass through."""

    def __call__(self, folds: Iterator[FoldResult], total: int, title: str) -> Iterator[FoldResult]:
        """Yield each fold."""


@dataclass(frozen=True)
class PreparedJob:
    """A job that passed preflight.

    Attributes
    ----------
    spec : mapping
        The settled configuration.
    experiment : Experiment
    splits : Splits
    figure_choice : FigureChoice
        The figures to draw, and why others are left out.
    description : RunDescription
    audit : Audit or NoAudit
        Checks each fold after it was evaluated.
    audit_verdict : AuditVerdict
        Of the checks before the first fit.
    """

    spec: Mapping[str, Any]
    experiment: Experiment
    splits: Splits
    figure_choice: FigureChoice
    description: RunDescription
    audit: Audit | NoAudit = field(default_factory=NoAudit)
    audit_verdict: AuditVerdict = field(default_factory=AuditVerdict)


@dataclass(frozen=True)
class JobResult:
    """The result of a job.

    Attributes
    ----------
    experiment : Experiment
    folds : list of FoldResult
    model : FittedModel
        The run's model.
    run_id : str or None
    stopped : str
        After how many folds the run was stopped; empty if it was completed.
    audit_warnings : tuple of str
        What the audit found.
    """

    experiment: Experiment
    folds: list[FoldResult]
    model: FittedModel
    run_id: str | None
    stopped: str = ""
    audit_warnings: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The mean headline score on test rows."""
        scores = [fold.scores[f"test_{self.experiment.headline}"] for fold in self.folds]
        return sum(scores) / len(scores)


def build_experiment(spec: Mapping[str, Any], resources: PartCache) -> Experiment:
    """Build the experiment that a settled configuration describes.

    Parameters
    ----------
    spec : mapping
    resources : PartCache

    Raises
    ------
    UserError
    """
    trust = spec["trust"]
    splitter_node = {key: value for key, value in spec["evaluation"].items() if key not in SCORING_KEYS}
    # The dataset is built first, because its errors are the most important ones for the user.
    dataset = resources.get_dataset(spec)
    preprocessing = resources.build("preprocessing", spec["preprocessing"], trust)
    learner = order_classes(resources.build("learner", spec["learner"], trust), dataset)
    tuning = resources.build("tuning", spec["tuning"], trust)
    # What suits the learner must suit each candidate of tuning, which may accept less than the learner itself.
    variants = list_candidate_learners(learner, tuning) if isinstance(preprocessing, AutoPreprocessing) else [learner]
    chosen = choose_preprocessing(preprocessing, variants, dataset.X)
    calibration = resources.build("calibration", spec["calibration"], trust)
    threshold = resources.build("threshold", spec["threshold"], trust)
    # Calibration gives probabilities to learners that have none.
    scored = calibration.add_methods(learner)
    return Experiment(
        dataset=dataset,
        preprocessing=chosen.transformer,
        preprocessing_summary=chosen.summary,
        learner=learner,
        tuning=tuning,
        pruning=resources.build("pruning", spec["pruning"], trust),
        splitter=resources.build("evaluation", splitter_node, trust),
        metrics=_choose_metrics(spec, dataset, scored, spec["evaluation"].get("metrics")),
        seed=spec["seed"],
        balance=resources.build("balance", spec["balance"], trust),
        target=resources.build("target", spec["target"], trust),
        calibration=calibration,
        threshold=threshold,
        threshold_metric=_choose_threshold_metric(spec, dataset, scored),
        train_metrics=choose_train_metrics(spec["evaluation"].get(TRAIN_METRICS_KEY)),
        max_folds=spec.get("max_folds", DEFAULT_MAX_FOLDS),
    )


def _choose_metrics(
    spec: Mapping[str, Any], dataset: Dataset, scored: Any, entries: Sequence[Any] | None
) -> dict[str, Metric]:
    """Return the metrics that are named, each of which was tried on the target of the dataset.

    Parameters
    ----------
    spec : mapping
    dataset : Dataset
    scored : estimator
        Has the methods of the model that is scored.
    entries : sequence or None
        The metrics as ``evaluation.metrics`` names them.
    """
    classes = dataset.classes if dataset.is_classification else None
    target = Target(dataset.y, classes, dataset.positive, has_weights=dataset.weights is not None)
    return choose_metrics(
        entries,
        dataset.task,
        scored,
        target=target,
        costs=spec["evaluation"].get("costs"),
        find_function=partial(find_target, key="evaluation.metrics", trust=spec["trust"]),
        further_names=list_own_names("metric"),
    )


def _choose_threshold_metric(spec: Mapping[str, Any], dataset: Dataset, scored: Any) -> Metric | None:
    """Return the metric that a threshold is chosen by; None is the headline."""
    name = spec["threshold"].get("metric")
    if name is None:
        return None
    # A metric of the user is described once, among the metrics of the run.
    own = [entry for entry in spec["evaluation"].get("metrics") or [] if name_entry(entry) == name]
    try:
        chosen = _choose_metrics(spec, dataset, scored, own or [name])
    except UserError as error:
        message = str(error).replace("evaluation.metrics", "threshold.metric")
        raise UserError(message.replace("; remove it from the list", "; choose another")) from None
    # A metric of costs joins the list by itself, after the one that is named.
    return next(iter(chosen.values()))


def prepare_job(
    spec: Mapping[str, Any], invocation: Invocation, resources: PartCache, tries_own_code: bool = True
) -> PreparedJob:
    """Build and check a job; nothing is stored, and nothing is fitted but the trials of some checks on a few rows.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    invocation : Invocation
    resources : PartCache
    tries_own_code : bool
        Whether a learner of the user is among those that may be fitted on a few rows.

    Raises
    ------
    UserError
    """
    with hiding_values(to_yaml(spec)):
        return _prepare_job(spec, invocation, resources, tries_own_code)


def _prepare_job(
    spec: Mapping[str, Any], invocation: Invocation, resources: PartCache, tries_own_code: bool
) -> PreparedJob:
    experiment = build_experiment(spec, resources)
    preflight.check_experiment(experiment)
    splits = experiment.make_splits()
    experiment = preflight.leave_out_candidates(experiment, splits)
    preflight.check_splits(experiment, splits)
    if tries_own_code or not uses_own_code(experiment, spec["trust"]):
        resources.check_storable(spec, experiment, splits)
    # A figure that cannot be drawn must be rejected before the fit, which may take hours.
    choice = choose_figures(spec.get("figures", []), experiment, splits, spec["trust"])
    audit = resources.build("audit", spec["audit"], spec["trust"])
    verdict = audit.check(experiment, splits)
    description = describe_run(spec, invocation, experiment, splits, verdict)
    return PreparedJob(spec, experiment, splits, choice, description, audit, verdict)


def always_continue(experiment: Experiment, folds: Sequence[FoldResult]) -> bool:
    """Return True: every fold is evaluated."""
    return True


def execute_job(
    prepared: PreparedJob,
    tracker: Tracker,
    show_progress: ShowProgress,
    should_continue: ContinueRule = always_continue,
) -> JobResult:
    """Evaluate the folds, fit the run's model and store both.

    Parameters
    ----------
    prepared : PreparedJob
    tracker : Tracker
    show_progress : ShowProgress
    should_continue : callable
        (experiment, folds so far) -> whether to evaluate the next fold; called after each fold.

    Raises
    ------
    UserError
        The store cannot be written; nothing was fitted.
    Exception
        Any error of a learner; the run is FAILED, with the traceback.
    """
    with hiding_values(prepared.description.config):
        return _execute_job(prepared, tracker, show_progress, should_continue)


def _execute_job(
    prepared: PreparedJob, tracker: Tracker, show_progress: ShowProgress, should_continue: ContinueRule
) -> JobResult:
    experiment = prepared.experiment
    splits = prepared.splits
    n_folds = len(splits.folds)
    evaluated = evaluate_splits(experiment, splits.folds, n_jobs=prepared.spec.get("n_jobs", 1))
    configuration = prepared.description.config
    results = (replace(fold, model=hide_in_warnings(fold.model, configuration)) for fold in evaluated)
    folds: list[FoldResult] = []
    try:
        with tracker.start_run(prepared.description, experiment) as run:
            for fold in show_progress(results, n_folds, prepared.description.name):
                prepared.audit.check_fold(fold)
                last = fold
                kept = fold if splits.is_listed else fold.without_model()
                run.record_fold(kept)
                folds.append(kept)
                # The rule is called after the last fold too, because a study records its score.
                if not should_continue(experiment, folds) and len(folds) < n_folds:
                    raise RunStopped(f"after {len(folds)} of {n_folds} folds")
            model = hide_in_warnings(fit_final_model(experiment, splits, last), configuration)
            run.finish(model, prepared.figure_choice.figures)
    except RunStopped as stopped:
        return JobResult(experiment, folds, folds[-1].model, run.run_id, str(stopped), prepared.audit_verdict.warnings)
    return JobResult(experiment, folds, model, run.run_id, audit_warnings=prepared.audit_verdict.warnings)
