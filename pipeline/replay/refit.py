"""A finished run, fitted again from what the store holds: its folds and its model, with the scores that it has stored.

A run is deterministic, so that its folds need not be kept: they can be made again. Whatever differs from the stored
run (its rows, or any of its scores) is refused instead of being shown under its name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.card.report import SCORE_PREFIXES, summarize_folds
from bakeoff.pipeline.config.targets import require_names
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult, evaluate_splits, fit_final_model
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment, leave_out_candidates
from bakeoff.pipeline.experiment.results import ShowProgress
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_config import restore_config
from bakeoff.pipeline.tracking.stored_runs import StoredRun, read_stored_runs

SCORE_TOLERANCE = 1e-9
"""Relative: other processors add in another order, which changes the last digits only."""
MAX_DIFFERENCES_SHOWN = 3
FIGURES_KEY = "figures"
"""The figures of the stored run are not drawn again."""


@dataclass(frozen=True)
class LoadedRun:
    """A finished run, with its experiment built again; nothing is fitted yet.

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


def load_run(store: Store, run_id: str, trust: Sequence[str], dataset_path: str | None = None) -> LoadedRun:
    """Build the experiment of a finished run from its configuration and its dataset.

    Parameters
    ----------
    store : Store
    run_id : str
        Of a run that exists.
    trust : sequence of str
        Packages that the user trusts now; what the store says to trust does not count.
    dataset_path : str, optional
        Where the file of the dataset is now, if it was moved.

    Raises
    ------
    UserError
        The run is not finished, it has no configuration, it calls code of a package that is not trusted, or its dataset
        is not there any more or has changed.
    """
    (stored,) = read_stored_runs(store, [run_id])
    if not stored.is_finished:
        raise UserError(
            f"run {run_id} is {stored.status}: only a finished run can be fitted again; repeat it with "
            "`bakeoff rerun --failed`, or name another run."
        )
    spec = restore_config(store, run_id, trust, dataset_path)
    require_names({key: value for key, value in spec.items() if key != FIGURES_KEY}, "", trust)
    experiment = build_experiment(spec, PartCache())
    _require_same_rows(stored, experiment)
    splits = experiment.make_splits()
    return LoadedRun(stored, spec, leave_out_candidates(experiment, splits), splits)


def refit_run(run: LoadedRun, show_progress: ShowProgress) -> tuple[list[FoldResult], FittedModel]:
    """Evaluate all folds of a run again, and fit its model.

    Parameters
    ----------
    run : LoadedRun
    show_progress : ShowProgress

    Raises
    ------
    UserError
        A score differs from the stored one.
    """
    n_jobs = run.spec.get("n_jobs", 1)
    results = evaluate_splits(run.experiment, run.splits.folds, n_jobs=n_jobs)
    folds = list(show_progress(results, len(run.splits.folds), run.stored.name))
    # Scores are compared before the model is fitted, because a run that differs has no use for one.
    _require_same_scores(run, folds)
    return folds, fit_final_model(run.experiment, run.splits, folds[-1])


def _require_same_rows(stored: StoredRun, experiment: Experiment) -> None:
    digest = stored.tags.get("dataset_digest", "")
    current = experiment.dataset.digest()
    if digest != current:
        raise UserError(
            f"the rows of dataset {experiment.dataset.name} are not those of run {stored.run_id}: their digest was "
            f"{digest or 'not stored'}, and is {current} now. Restore the file, or run again."
        )


def _require_same_scores(run: LoadedRun, folds: Sequence[FoldResult]) -> None:
    """Compare every stored mean and standard deviation of a score with the one of the new folds."""
    current = summarize_folds(run.experiment, folds)
    differences = []
    for name, value in run.stored.metrics.items():
        if name.startswith(SCORE_PREFIXES) and not _is_same(value, current.get(name)):
            found = "missing" if name not in current else f"{current[name]:.10g}"
            differences.append(f"{name} was {value:.10g} and is {found}")
    if differences:
        shown = "; ".join(differences[:MAX_DIFFERENCES_SHOWN])
        more = len(differences) - MAX_DIFFERENCES_SHOWN
        rest = f"; and {more} more" if more > 0 else ""
        raise UserError(
            f"run {run.stored.run_id}, fitted again, has other scores: {shown}{rest}. The code or the versions of "
            "packages have changed since; run it again."
        )


def _is_same(stored: float, current: float | None) -> bool:
    if current is None:
        return False
    # A score that is not defined is the same result if it was not defined then.
    if math.isnan(stored) or math.isnan(current):
        return math.isnan(stored) and math.isnan(current)
    return math.isclose(stored, current, rel_tol=SCORE_TOLERANCE, abs_tol=SCORE_TOLERANCE)
