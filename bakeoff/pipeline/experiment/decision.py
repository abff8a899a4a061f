"""Turn a fitted pipeline into a predictor with calibrated probabilities and a threshold between two classes.

Both are learnt on the same rows, which were not used to fit the pipeline: the validation part, or the inner
folds of the training rows, each of which is predicted by a pipeline fitted without it. A threshold is chosen
on probabilities whose calibrators have not seen the row either, so no row is used for two choices.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import stage_log
from bakeoff.pipeline.experiment.experiment import Experiment, derive_seed
from bakeoff.pipeline.experiment.fitting import fit_pipeline, prune_learner, select_weights
from bakeoff.pipeline.experiment.stage_log import RowLog
from bakeoff.pipeline.stages.calibration import DECISION, PROBABILITY, Outputs
from bakeoff.pipeline.stages.scoring.metrics import compute_score
from bakeoff.pipeline.stages.scoring.predictions import Predictions, compute_decision, predict_probabilities
from bakeoff.pipeline.stages.splitting import Split
from bakeoff.pipeline.stages.threshold import BinaryScores, ChosenThreshold, GivenThreshold, TunedThreshold

RESPOND = {DECISION: compute_decision, PROBABILITY: predict_probabilities}
"""The function that returns checked scores of a fitted model."""


def decide(experiment: Experiment, pipeline: Pipeline, split: Split, log: RowLog) -> tuple[Any, ChosenThreshold | None]:
    """Calibrate a fitted pipeline and set its threshold, as specified by the experiment.

    Parameters
    ----------
    experiment : Experiment
    pipeline : Pipeline
        A pipeline fitted on the training rows of the split, and pruned; it is not modified.
    split : Split
    log : RowLog

    Returns
    -------
    predictor : estimator
    threshold : ChosenThreshold or None
        The threshold that the predictor applies.

    Raises
    ------
    UserError
        A class is missing from the rows to learn on.
    """
    threshold = experiment.threshold
    predictor: Any = pipeline
    outputs: Outputs | None = None
    if experiment.decision_folds is not None:
        outputs = _collect_outputs(experiment, pipeline, split, log)
        predictor = experiment.calibration.calibrate(pipeline, outputs)
    if isinstance(threshold, GivenThreshold):
        chosen = ChosenThreshold(threshold.value, PROBABILITY)
    elif isinstance(threshold, TunedThreshold):
        assert outputs is not None
        unseen = experiment.calibration.predict_unseen(outputs, derive_seed(experiment.seed, "threshold"))
        chosen = threshold.choose(_select_positive(experiment, unseen))
    else:
        return predictor, None
    return chosen.apply(predictor, experiment.dataset.positive), chosen


def list_decision_rows(experiment: Experiment, split: Split) -> np.ndarray:
    """Return the numbers of the rows for calibration and threshold, in the order of the inner folds.

    If folds are ordered by time, the earliest training rows are in no inner fold, because nothing precedes them.
    """
    if not experiment.decision_folds:
        return split.validation
    return np.concatenate([inner.test for inner in list_inner_splits(experiment, split)])


def list_inner_splits(experiment: Experiment, split: Split) -> list[Split]:
    """Return the splits for predicting the training rows, each tested on an inner fold of them."""
    seed = derive_seed(experiment.seed, "decision")
    data = experiment.split_input
    folds = experiment.splitter.make_inner_folds(data, split.train, experiment.decision_folds or 0, seed)
    return [Split(split.train[fitted], split.validation, split.train[held_out]) for fitted, held_out in folds]


def _collect_outputs(experiment: Experiment, pipeline: Pipeline, split: Split, log: RowLog) -> Outputs:
    """Return the outputs for the rows to learn on, each from a pipeline that has not seen the row."""
    # Calibration is learnt from decision values, if there are any, as in scikit-learn.
    preferred = (DECISION, PROBABILITY) if experiment.calibration.is_on else (PROBABILITY, DECISION)
    method = next(name for name in preferred if hasattr(pipeline, name))
    rows = list_decision_rows(experiment, split)
    X = _note_rows(experiment, rows, log)
    if not experiment.decision_folds:
        scores = RESPOND[method](pipeline, X, "validation")
    else:
        scores = _predict_inner_folds(experiment, pipeline, split, method, log)
    truth = experiment.dataset.y[rows]
    if not np.array_equal(np.unique(truth), pipeline.classes_):
        raise UserError(
            f"calibration and threshold are fitted on {len(rows)} rows with the classes "
            f"{', '.join(map(str, np.unique(truth)))}, but the model was fitted on "
            f"{', '.join(map(str, pipeline.classes_))}."
        )
    return Outputs(scores, method, pipeline.classes_, truth, select_weights(experiment, rows))


def _predict_inner_folds(
    experiment: Experiment, pipeline: Pipeline, split: Split, method: str, log: RowLog
) -> np.ndarray:
    """Return the outputs for the rows of the inner folds, of shape (m,) or (m, c), by copies fitted without each."""
    outputs: list[np.ndarray] = []
    for inner in list_inner_splits(experiment, split):
        copy = clone(pipeline)
        inner_log = RowLog(log.n)
        target = fit_pipeline(experiment, copy, inner.train, inner_log)
        prune_learner(experiment, copy, target, inner, inner_log)
        experiment.count_fit()
        for seen in inner_log.seen.values():
            _note_rows(experiment, seen.to_rows(), log)
        if not np.array_equal(copy.classes_, pipeline.classes_):
            missing = next(iter(set(pipeline.classes_) - set(copy.classes_)))
            raise UserError(
                f"an inner fold of the training rows has {len(inner.train)} rows, none of them in class {missing}; "
                "set calibration.folds=0 or threshold.folds=0 to use the validation part."
            )
        outputs.append(RESPOND[method](copy, experiment.dataset.X.iloc[inner.test], "inner validation"))
    return np.concatenate(outputs)


def _note_rows(experiment: Experiment, rows: np.ndarray, log: RowLog) -> pd.DataFrame:
    """Record rows as used by calibration, threshold or both, and return their table."""
    X = experiment.dataset.X.iloc[rows]  # (m, d)
    if experiment.calibration.is_on:
        log.note(stage_log.CALIBRATION, X)
    if experiment.threshold.is_chosen:
        log.note(stage_log.THRESHOLD, X)
    return X


def _select_positive(experiment: Experiment, outputs: Outputs) -> BinaryScores:
    """Return the scores of the positive class, and a function that scores a division of the rows."""
    positive = experiment.dataset.positive
    is_second = outputs.classes[1] == positive
    if outputs.scores.ndim == 2:
        scores = outputs.scores[:, int(is_second)]  # (m,)
    else:
        scores = outputs.scores if is_second else -outputs.scores  # (m,)
    metric = experiment.threshold_metric or experiment.headline_metric
    return BinaryScores(
        scores=scores,
        method=outputs.method,
        score_threshold=partial(_score_division, experiment, outputs),
        greater_is_better=metric.greater_is_better,
    )


def _score_division(experiment: Experiment, outputs: Outputs, is_positive: np.ndarray) -> float:
    """Return the score obtained if the given rows (m,) are predicted to be in the positive class."""
    metric = experiment.threshold_metric or experiment.headline_metric
    positive = experiment.dataset.positive
    (negative,) = (label for label in outputs.classes if label != positive)
    predictions = Predictions(
        truth=outputs.truth,
        predicted=np.where(is_positive, np.array(positive, outputs.classes.dtype), negative),
        probabilities=outputs.scores if outputs.method == PROBABILITY else None,
        decision=outputs.scores if outputs.method == DECISION else None,
        classes=experiment.dataset.classes,
        positive=positive,
        weights=outputs.weights,
    )
    return compute_score(metric, predictions)
