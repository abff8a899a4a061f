"""The loop over splits: fit, prune and score; preprocessing, tuning and the learner use training rows only."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from joblib import parallel_config
from sklearn.utils.parallel import Parallel, delayed

from bakeoff.pipeline.errors import InvalidPredictions, placing_errors
from bakeoff.pipeline.experiment import stage_log
from bakeoff.pipeline.experiment.decision import decide
from bakeoff.pipeline.experiment.experiment import Experiment, FittedModel, FoldResult, find_unseen_values
from bakeoff.pipeline.experiment.fitting import (
    fit_pipeline,
    make_pipeline,
    make_tuning_data,
    predict_part,
    prune_learner,
)
from bakeoff.pipeline.experiment.stage_log import RowLog, RowSet, Stopwatch, unique_messages
from bakeoff.pipeline.identity.source_code import get_finder
from bakeoff.pipeline.stages.pruning import NoPruning
from bakeoff.pipeline.stages.scoring.metrics import compute_score, compute_scores
from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.stages.splitting import Split, Splits
from bakeoff.pipeline.stages.tuning import GridTuning, NoTuning

MAX_PROCESSES_PER_CORE = 8
"""The maximum number of processes per core; more would only wait for one another and use more memory."""
MAX_UNSHARED_ROWS = 10_000
"""The number of rows of all fits up to which ``n_jobs=-1`` starts no processes, whose imports take seconds."""


def evaluate_splits(experiment: Experiment, splits: Sequence[Split], n_jobs: int = 1) -> Iterator[FoldResult]:
    """Evaluate each split.

    Parameters
    ----------
    experiment : Experiment
    splits : sequence of Split
    n_jobs : int
        The number of processes that share the splits, with one BLAS thread each; -1 for one per core, unless the
        splits have few rows.

    Yields
    ------
    FoldResult
        The results, in order.
    """
    n_rows = experiment.fits_per_split * sum(len(split.train) for split in splits)
    is_small = n_jobs < 0 and n_rows <= MAX_UNSHARED_ROWS
    n_processes = 1 if is_small else limit_processes(n_jobs, len(splits))
    if n_processes == 1:
        for number, split in enumerate(splits):
            yield evaluate_split(experiment, number, split)
        return
    # More BLAS threads than cores would slow each other down.
    with parallel_config("loky", inner_max_num_threads=1, initializer=get_finder().install):
        # A count in another process would not reach this one.
        experiment = replace(experiment, count_fit=object)
        parallel = Parallel(n_jobs=n_processes, return_as="generator")
        calls = (delayed(evaluate_split)(experiment, number, split) for number, split in enumerate(splits))
        yield from parallel(calls)


def evaluate_split(experiment: Experiment, number: int, split: Split) -> FoldResult:
    """Fit on one split and score every part that has rows.

    Raises
    ------
    InvalidPredictions
        The learner, or a candidate of tuning, returns predictions that cannot be scored; the message names the fold.
    """
    with placing_errors(f"fold {number}", InvalidPredictions):
        model = fit_model(experiment, split, number)
        parts = {"train": split.train, "validation": split.validation, "test": split.test}
        predictions: dict[str, Predictions] = {}
        log = RowLog(len(experiment.dataset.y), dict(model.seen))
        with warnings.catch_warnings(record=True, action="always") as caught:
            for part, rows in parts.items():
                if len(rows):
                    predictions[part] = predict_part(experiment, model.predictor, part, rows, log)
            # The scores of the test part come first in all lists, and the headline first among them.
            scores: dict[str, float] = {}
            for part in ("test", "validation", "train"):
                if part in predictions:
                    by_name = compute_scores(experiment.select_metrics(part), predictions[part])
                    scores |= {f"{part}_{name}": value for name, value in by_name.items()}
    model = replace(model, warnings=unique_messages(caught, model.warnings))
    unseen, n_unseen_rows = find_unseen_values(experiment.dataset, split)
    return FoldResult(
        number=number,
        split=split,
        model=model,
        scores=scores,
        predictions=predictions["test"],
        seen=log.seen,
        unseen=unseen,
        n_unseen_rows=n_unseen_rows,
    )


def fit_final_model(experiment: Experiment, splits: Splits, last: FoldResult) -> FittedModel:
    """Return the run's model: the scored one under holdout, otherwise one fitted in the same way on all rows."""
    if splits.refit is None:
        return last.model
    with placing_errors("the model fitted on all rows", InvalidPredictions):
        return fit_model(experiment, splits.refit)


def fit_model(experiment: Experiment, split: Split, number: int = -1) -> FittedModel:
    """Tune, fit and prune on the parts of one split; the test part is only scored, before pruning.

    Parameters
    ----------
    experiment : Experiment
    split : Split
    number : int
        The number of the fold; -1 for the model fitted on all rows.
    """
    log = RowLog(len(experiment.dataset.y))
    if len(split.reserve):
        log.seen[stage_log.RESERVE] = RowSet.of(split.reserve, log.n)
    stopwatch = Stopwatch(experiment.tables.read_clock)
    with warnings.catch_warnings(record=True, action="always") as caught:
        pipeline, candidates = make_pipeline(experiment), None
        if not isinstance(experiment.tuning, NoTuning):
            data = make_tuning_data(experiment, split, number)
            log.note(stage_log.TUNING, data.X)
            pipeline, candidates = experiment.tuning.tune(pipeline, data)
        stopwatch.lap("tune")
        # Tuning returns an unfitted pipeline: the best candidate is fitted on all training rows.
        target = fit_pipeline(experiment, pipeline, split.train, log)
        experiment.count_fit()
        stopwatch.lap("fit")
        # Pruning changes the learner in place, so the scores of the whole tree must be computed before.
        scores_before_pruning = _score_before_pruning(experiment, target.invert(pipeline), split, log)
        stopwatch.lap("score")
        path = prune_learner(experiment, pipeline, target, split, log)
        stopwatch.lap("prune")
        predictor, threshold = decide(experiment, pipeline, split, log)
        stopwatch.lap("decide")
    tuning = experiment.tuning
    has_raced = isinstance(tuning, GridTuning) and tuning.race is not None and candidates is not None
    # These fits of candidates were not needed.
    n_fits_saved = tuning.count_fits() - tuning.count_fits(candidates) if has_raced else None
    has_run = {
        "fit": True,
        "tune": candidates is not None,
        "prune": path is not None,
        "decide": experiment.decision_folds is not None,
    }
    return FittedModel(
        pipeline,
        split,
        path=path,
        candidates=candidates,
        scores_before_pruning=scores_before_pruning,
        n_fits=experiment.tuning.count_fits(candidates) + (experiment.decision_folds or 0),
        n_fits_saved=n_fits_saved,
        seconds={stage: stopwatch.seconds[stage] for stage, is_used in has_run.items() if is_used},
        warnings=unique_messages(caught),
        seen=log.seen,
        # The target is transformed only in regression, and thresholds exist only in classification.
        predictor=target.invert(predictor),
        threshold=threshold,
    )


def _score_before_pruning(experiment: Experiment, model: Any, split: Split, log: RowLog) -> dict[str, float]:
    """Return the headline score on validation and test rows; empty if the run does not prune.

    It is also empty with calibration or a threshold, which the tree before pruning lacks.
    """
    if isinstance(experiment.pruning, NoPruning) or experiment.calibration.is_on or experiment.threshold.is_on:
        return {}
    scores = {}
    for part, rows in {"validation": split.validation, "test": split.test}.items():
        if len(rows):
            predictions = predict_part(experiment, model, part, rows, log)
            scores[part] = compute_score(experiment.headline_metric, predictions)
    return scores


def count_most_processes() -> int:
    """Return the maximum number of processes on this machine."""
    from joblib import cpu_count

    return MAX_PROCESSES_PER_CORE * int(cpu_count())


def limit_processes(n_asked: int, n_tasks: int) -> int:
    """Return the number of processes to start for a number of tasks.

    Parameters
    ----------
    n_asked : int
        The requested number; -1 for one per core, -2 for one less.
    n_tasks : int
        The number of tasks that the processes share.
    """
    from joblib import effective_n_jobs

    n_wanted = effective_n_jobs(n_asked) if n_asked < 0 else n_asked
    return max(1, min(n_wanted, n_tasks, count_most_processes()))
