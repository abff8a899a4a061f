"""Scores under plain names with their natural sign: lower is better for errors, higher for accuracies.

The formulas are scikit-learn's. A score that is not defined on some rows (ROC AUC if a class is absent) is NaN and not
0.
"""

from bakeoff.pipeline.stages.scoring.metrics import (
    CLASSIFICATION,
    DEFAULTS,
    REGRESSION,
    Metric,
    choose_metrics,
    compute_scores,
    get_task_metrics,
)
from bakeoff.pipeline.stages.scoring.predictions import Predictions, count_confusions, encode_labels, predict_rows

__all__ = [
    "CLASSIFICATION",
    "DEFAULTS",
    "REGRESSION",
    "Metric",
    "Predictions",
    "choose_metrics",
    "compute_scores",
    "count_confusions",
    "encode_labels",
    "get_task_metrics",
    "predict_rows",
]
