"""A finished run fitted again from the store, with its stored scores.

A run is deterministic, so its folds can be recomputed and do not have to be stored. If the rows or any score differ
from the stored run, it is refused rather than shown under its name.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.pipeline.audit import Audit
from bakeoff.pipeline.checks import check_splits
from bakeoff.pipeline.commands.repetition.differences import SCORES, compare_values, write_number
from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.config.targets import require_names
from bakeoff.pipeline.errors import InvalidPredictions, UserError, placing_errors
from bakeoff.pipeline.experiment import (
    Experiment,
    FittedModel,
    FoldResult,
    evaluate_split,
    evaluate_splits,
    fit_final_model,
)
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment, leave_out_candidates
from bakeoff.pipeline.model.training_record import SCORE_PREFIXES
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import GridTuning
from bakeoff.pipeline.sweep.job_runner import Meter
from bakeoff.pipeline.sweep.jobs import ShowWork
from bakeoff.pipeline.text.wording import name_first
from bakeoff.pipeline.tracking import names, stored_config
from bakeoff.pipeline.tracking.card import summarize_folds
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import TRIED_TAG, StoredRun, read_stored_runs

MAX_SHOWN = 3
"""The maximum number of differing scores in a message."""
FIGURES_KEY = "figures"
"""The figures of the stored run are not drawn again."""


@dataclass(frozen=True)
class LoadedRun:
    """A finished run whose experiment has been rebuilt but not fitted.

    Attributes
    ----------
    stored : StoredRun
    spec : mapping
        The settled configuration.
    experiment : Experiment
    splits : Splits
    """

    stored: StoredRun
    spec: Mapping[str, Any]
    experiment: Experiment
    splits: Splits


def read_finished_run(store: Store, run_id: str) -> StoredRun:
    """Return a stored run; raise UserError if it did not finish."""
    (stored,) = read_stored_runs(store, [run_id])
    if not stored.is_finished:
        raise UserError(
            f"run {run_id} is {stored.status}: only a finished run can be fitted again; repeat it with "
            "`bakeoff rerun --failed`, or name another run."
        )
    return stored


def load_run(request: RefitRequest) -> tuple[Store, LoadedRun]:
    """Return the store of a request, and its run with an experiment built from its configuration and its dataset.

    Trust recorded in the store does not count.

    Raises
    ------
    UserError
        There is no such run, it is not finished, has no configuration or calls code of an untrusted package, or its
        dataset is missing or has changed.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    run_id = names.find_run_id(store, request.run, request.dataset)
    stored = read_finished_run(store, run_id)
    spec = stored_config.restore_config(store, run_id, request.trust, request.dataset__path)
    require_names({key: value for key, value in spec.items() if key != FIGURES_KEY}, "", request.trust)
    experiment = repeat_tuning(build_experiment(spec, PartCache()), stored)
    dataset = experiment.dataset
    digest = stored.tags.get("dataset_digest", "")
    if digest != dataset.digest():
        raise UserError(
            f"the rows of dataset {dataset.name} are not those of run {stored.run_id}: their digest was "
            f"{digest or 'not stored'}, and is {dataset.digest()} now. Restore the file, or run again."
        )
    splits = experiment.make_splits()
    return store, LoadedRun(stored, spec, leave_out_candidates(experiment, splits), splits)


def repeat_tuning(experiment: Experiment, run: StoredRun) -> Experiment:
    """Return an experiment that tries as many candidates in each fold as a run whose tuning had a budget."""
    tuning = experiment.tuning
    if TRIED_TAG not in run.tags or not isinstance(tuning, GridTuning):
        return experiment
    return replace(experiment, tuning=replace(tuning, tried=tuple(json.loads(run.tags[TRIED_TAG]))))


def refit_run(run: LoadedRun, show_work: ShowWork) -> tuple[list[FoldResult], FittedModel]:
    """Evaluate all folds of a run again and fit its model.

    Parameters
    ----------
    run : LoadedRun
    show_work : callable

    Raises
    ------
    UserError
        A score differs from the stored one.
    """
    n_jobs = run.spec.get("n_jobs", 1)
    meter = Meter(run.experiment, run.splits, show_work)
    folds = list(meter.count_folds(evaluate_splits(meter.experiment, run.splits.folds, n_jobs=n_jobs)))
    # Scores are compared before the model is fitted, because a run that differs does not need one.
    _require_same_scores(run, folds)
    return folds, fit_final_model(meter.experiment, run.splits, folds[-1])


def score_reserve(run: LoadedRun) -> FoldResult:
    """Fit the procedure of a run on all rows outside its reserve, and score it on the reserve.

    The split is ``run.splits.final``. Nothing else scores these rows, so every call is a look at them.

    Parameters
    ----------
    run : LoadedRun

    Returns
    -------
    FoldResult
        Its number is -1, as for a model fitted on all rows.

    Raises
    ------
    UserError
        The run has no reserve, or too few rows are outside it.
    """
    final = run.splits.final
    if final is None:
        raise UserError(
            f"run {run.stored.run_id} has no reserve, which is set aside before the first fold; repeat its command "
            "with evaluation.reserve=0.2."
        )
    check_splits(run.experiment, Splits((final,), refit=None))
    with placing_errors("the reserve", InvalidPredictions):
        fold = evaluate_split(run.experiment, -1, final)
    Audit().check_fold(fold)
    return fold


def _require_same_scores(run: LoadedRun, folds: Sequence[FoldResult]) -> None:
    """Compare every stored mean and standard deviation of a score with that of the new folds."""
    names = [name for name in run.stored.metrics if name.startswith(SCORE_PREFIXES)]
    current = summarize_folds(run.experiment, folds)
    stored, now = (
        {(name, ""): write_number(values[name]) for name in names if name in values}
        for values in (run.stored.metrics, current)
    )
    differences = [each for each in compare_values(SCORES, stored, now).differences if not each.is_close]
    if differences:
        shown = name_first([f"{each.name} was {each.stored} and is {each.now}" for each in differences], MAX_SHOWN)
        raise UserError(
            f"run {run.stored.run_id}, fitted again, has other scores: {shown}. The code or the versions of packages "
            "have changed since; run it again."
        )
