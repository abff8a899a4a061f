"""A job, from the checks of its settled configuration to the last stored value."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.pipeline.audit import Audit, AuditVerdict, NoAudit
from bakeoff.pipeline.checks import FigureChoice, check_experiment, check_splits, choose_figures
from bakeoff.pipeline.checks.storage import check_models, uses_own_code
from bakeoff.pipeline.config import settle, words
from bakeoff.pipeline.errors import hiding_values
from bakeoff.pipeline.experiment import (
    Experiment,
    FittedModel,
    FoldResult,
    evaluate_splits,
    fit_final_model,
)
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment, leave_out_candidates
from bakeoff.pipeline.identity.config_hash import hash_config
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.sweep.work import Meter, ShowWork, ignore_work
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking import RunDescription, RunStopped, Tracker
from bakeoff.pipeline.tracking.description import describe_run

ContinueRule = Callable[[Experiment, Sequence[FoldResult]], bool]
"""Returns whether to evaluate the next fold, given the folds so far."""


@dataclass(frozen=True)
class PreparedJob:
    """A job that passed the checks.

    Attributes
    ----------
    spec : mapping
        The settled configuration.
    experiment : Experiment
    splits : Splits
    figure_choice : FigureChoice
        The figures to draw, and the reasons for omitting others.
    description : RunDescription
    audit : Audit or NoAudit
        Audits each fold after its evaluation.
    audit_verdict : AuditVerdict
        The result of the audit checks before the first fit.
    is_tried : bool
        Whether nothing is left to be tried by the process that runs the job.
    """

    spec: Mapping[str, Any]
    experiment: Experiment
    splits: Splits
    figure_choice: FigureChoice
    description: RunDescription
    audit: Audit | NoAudit
    audit_verdict: AuditVerdict
    is_tried: bool


@dataclass(frozen=True)
class JobResult:
    """The result of a job.

    Attributes
    ----------
    prepared : PreparedJob
    folds : list of FoldResult
    model : FittedModel
        The run's model.
    run_id : str or None
    stopped : str
        A note on the number of folds after which the run was stopped; empty if it was completed.
    """

    prepared: PreparedJob
    folds: list[FoldResult]
    model: FittedModel
    run_id: str | None
    stopped: str = ""


def prepare_job(
    spec: Mapping[str, Any],
    invocation: words.Invocation,
    resources: PartCache,
    *,
    job_hash: str | None = None,
    tries_own_code: bool = True,
) -> PreparedJob:
    """Build and check a job; nothing is stored, and nothing is fitted except in checks on a few rows.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    invocation : Invocation
    resources : PartCache
    job_hash : str, optional
        The ``config_hash`` under which the job was planned.
    tries_own_code : bool
        Whether user-defined learners may be fitted on a few rows.

    Raises
    ------
    UserError
    """
    with hiding_values(json.dumps(spec, default=str)):
        spec = settle_rows(spec, resources)
        experiment = build_experiment(spec, resources)
        check_experiment(experiment)
        splits = experiment.make_splits()
        experiment = leave_out_candidates(experiment, splits)
        check_splits(experiment, splits)
        is_tried = tries_own_code or not uses_own_code(experiment, spec["trust"])
        if is_tried:
            check_models(spec, experiment, splits, resources.tried)
        # A figure that cannot be drawn must be rejected before the fit, which may take hours.
        choice = choose_figures(spec.get("figures", []), experiment, splits, spec["trust"])
        audit = resources.build("audit", spec["audit"], spec["trust"])
        verdict = audit.check(experiment, splits)
        job_hash = job_hash or hash_config(spec, experiment.dataset.digest())
        description = describe_run(spec, invocation, experiment, splits, verdict, job_hash)
        return PreparedJob(spec, experiment, splits, choice, description, audit, verdict, is_tried)


def settle_rows(spec: Mapping[str, Any], resources: PartCache) -> dict[str, Any]:
    """Return a settled configuration with the choices that depend on whether the dataset names validation rows."""
    return settle.settle_decision_rows(spec, has_free_rows=resources.get_dataset(spec).names_validation_rows)


def always_continue(experiment: Experiment, folds: Sequence[FoldResult]) -> bool:
    """Return True, so that every fold is evaluated."""
    return True


def execute_job(
    prepared: PreparedJob,
    tracker: Tracker,
    show_work: ShowWork = ignore_work,
    should_continue: ContinueRule = always_continue,
) -> JobResult:
    """Evaluate the folds, fit the run's model and store both.

    Parameters
    ----------
    prepared : PreparedJob
    tracker : Tracker
    show_work : callable
        Receives the number of fits and folds that are done, now and then.
    should_continue : callable
        (experiment, folds so far) -> whether to evaluate the next fold; called after each fold.

    Raises
    ------
    UserError
        The store cannot be written; nothing was fitted.
    Exception
        Any error of a learner; the run is stored as FAILED, with the traceback.
    """
    configuration = prepared.description.config
    experiment = prepared.experiment
    splits = prepared.splits
    n_folds = len(splits.folds)
    meter = Meter(experiment, splits, show_work)
    evaluated = evaluate_splits(meter.experiment, splits.folds, n_jobs=prepared.spec.get("n_jobs", 1))
    folds: list[FoldResult] = []
    try:
        with hiding_values(configuration), tracker.start_run(prepared.description, experiment) as run:
            for fold in meter.count_folds(evaluated):
                fold = replace(fold, model=_hide_in_warnings(fold.model, configuration))
                prepared.audit.check_fold(fold)
                last = fold
                run.record_fold(fold)
                folds.append(fold)
                # The rule is called after the last fold as well, because a study records its score.
                if not should_continue(experiment, folds) and len(folds) < n_folds:
                    raise RunStopped(f"after {len(folds)} of {n_folds} folds")
            model = _hide_in_warnings(fit_final_model(meter.experiment, splits, last), configuration)
            run.finish(model, prepared.figure_choice.figures)
    except RunStopped as stopped:
        return JobResult(prepared, folds, folds[-1].model, run.run_id, str(stopped))
    return JobResult(prepared, folds, model, run.run_id)


def _hide_in_warnings(model: FittedModel, configuration: str) -> FittedModel:
    """Return a model whose warnings contain no values of variables used in a configuration."""
    warnings = tuple(hide_secrets(warning, configuration) for warning in model.warnings)
    # Under holdout, the run and its only fold share the same model object.
    return model if warnings == model.warnings else replace(model, warnings=warnings)
