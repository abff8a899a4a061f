"""By which metrics the training rows are scored: ``evaluation.train_metrics``."""

from __future__ import annotations

from typing import Any, Literal, get_args

from bakeoff.pipeline.errors import UserError

TrainMetrics = Literal["headline", "all"]
TRAIN_METRICS_KEY = "train_metrics"
SCORING_KEYS = ("metrics", "costs", TRAIN_METRICS_KEY)
"""Keys of the evaluation that say how predictions are judged; the others say how rows are divided."""


def choose_train_metrics(given: Any) -> TrainMetrics:
    """Return ``evaluation.train_metrics``; without it, training rows are scored by the headline alone.

    The headline suffices to see how far a model fits its training rows better than others, and the other metrics of
    training rows would double the numbers that a run stores.

    Raises
    ------
    UserError
        It is neither headline nor all.
    """
    if given is None:
        return "headline"
    for allowed in get_args(TrainMetrics):
        if given == allowed:
            known: TrainMetrics = allowed
            return known
    raise UserError(
        f"evaluation.{TRAIN_METRICS_KEY}={given!r} must be headline, which scores training rows by the first metric, "
        "or all, which scores them by all metrics."
    )
