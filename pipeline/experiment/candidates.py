"""The candidates of tuning that the rows allow: none needs more rows than the smallest part that it is fitted on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from bakeoff.pipeline.experiment.experiment import Experiment
from bakeoff.pipeline.experiment.fitting import make_tuning_splits
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import GridTuning

UNDECLARED_ROW_BOUNDED_PARAMETERS = ("n_neighbors",)
"""The parameters of that kind in scikit-learn, whose estimators do not declare them."""


def get_row_bounded_parameters(estimator: Any) -> tuple[str, ...]:
    """Return the parameters of an estimator that must not exceed the number of training rows.

    A learner lists them in ``row_bounded_parameters``.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.
    """
    declared: tuple[str, ...] | None = getattr(estimator, "row_bounded_parameters", None)
    if declared is not None:
        return declared
    parameters = estimator.get_params()
    return tuple(name for name in UNDECLARED_ROW_BOUNDED_PARAMETERS if name in parameters)


def leave_out_candidates(experiment: Experiment, splits: Splits) -> Experiment:
    """Return the experiment, without the candidates that need more rows than there are if its tuning is not strict.

    The smallest part that a candidate is fitted on decides, so that all folds have the same candidates.

    Parameters
    ----------
    experiment : Experiment
    splits : Splits
    """
    tuning = experiment.tuning
    if not isinstance(tuning, GridTuning) or tuning.strict:
        return experiment
    bounded = get_row_bounded_parameters(experiment.learner)
    if not bounded:
        return experiment
    largest = dict.fromkeys(bounded, count_smallest_inner_part(experiment, splits))
    return replace(experiment, tuning=replace(tuning, largest=largest))


def count_smallest_inner_part(experiment: Experiment, splits: Splits) -> int:
    """Return the number of rows of the smallest part that a candidate of tuning is fitted on."""
    inner_folds = experiment.tuning.folds
    n_rows = splits.min_train_rows
    if not inner_folds:
        return n_rows
    if not experiment.rows_belong_together:
        return n_rows - math.ceil(n_rows / inner_folds)
    return min(len(fitted) for split in splits.fitted for fitted, _ in make_tuning_splits(experiment, split))
