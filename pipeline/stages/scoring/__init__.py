"""Scores with plain names and their natural sign: lower is better for errors, higher for accuracies.

The formulas are scikit-learn's. A score that is not defined on some rows (such as ROC AUC if a class is absent) is NaN
rather than 0.
"""

from bakeoff.pipeline.stages.scoring.choice import (
    COST_SENTENCE,
    SCORING_KEYS,
    TRAIN_METRICS_KEY,
    TrainMetrics,
    choose_metrics,
    choose_train_metrics,
)
from bakeoff.pipeline.stages.scoring.entries import describe_definition, is_bounded, is_greater_better, name_entry
from bakeoff.pipeline.stages.scoring.metrics import (
    CLASSIFICATION,
    COST,
    DEFAULTS,
    REGRESSION,
    Metric,
    compute_score,
    compute_scores,
    get_task_metrics,
    needs_decision,
)
from bakeoff.pipeline.stages.scoring.outputs import (
    compute_decision,
    get_classes,
    locate_labels,
    predict_probabilities,
    predict_values,
)
from bakeoff.pipeline.stages.scoring.predictions import Predictions, predict_rows
from bakeoff.pipeline.stages.scoring.scorers import Target, list_scorer_names

__all__ = [
    "CLASSIFICATION",
    "COST",
    "COST_SENTENCE",
    "DEFAULTS",
    "REGRESSION",
    "SCORING_KEYS",
    "TRAIN_METRICS_KEY",
    "Metric",
    "Predictions",
    "Target",
    "TrainMetrics",
    "choose_metrics",
    "choose_train_metrics",
    "compute_decision",
    "compute_score",
    "compute_scores",
    "describe_definition",
    "get_classes",
    "get_task_metrics",
    "is_bounded",
    "is_greater_better",
    "list_scorer_names",
    "locate_labels",
    "name_entry",
    "needs_decision",
    "predict_probabilities",
    "predict_rows",
    "predict_values",
]
