"""The names of bakeoff's metrics for each task, with the sentences that ``bakeoff list`` shows at once."""

from collections.abc import Mapping

COST = "cost"
"""The name of the metric of ``evaluation.costs``."""
SENTENCES: Mapping[str, Mapping[str, str]] = {
    "classification": {
        "accuracy": "Fraction of rows whose class is predicted.",
        "error": "Fraction of rows whose class is not predicted.",
        "balanced_accuracy": "Mean recall of the classes that occur.",
        "precision": "Precision of the positive class, or the mean over classes.",
        "recall": "Recall of the positive class, or the mean over classes.",
        "f1": "F1 of the positive class, or the mean over classes.",
        "mcc": "Matthews's correlation of true and predicted classes, from -1 to 1.",
        "kappa": "Cohen's kappa: agreement beyond chance, at most 1.",
        "log_loss": "Mean negative log-probability of the true class, in nats.",
        "brier": "Mean squared error of the probabilities: at most 1 for two classes, and 2 for more.",
        "roc_auc": "Area under the ROC curve, or the mean over classes.",
        "average_precision": "Area under precision against recall of the positive class, or the mean over classes.",
        COST: "Mean cost of a row, by evaluation.costs.",
    },
    "regression": {
        "r2": "Fraction of the variance explained, at most 1.",
        "rmse": "Root of the mean squared error.",
        "mse": "Mean squared error.",
        "mae": "Mean absolute error.",
        "mape": "Mean of the absolute errors as fractions of the targets, none of which may be 0.",
        "median_error": "Median absolute error.",
        "max_error": "Largest absolute error.",
        "pinball": "Pinball loss of the median: half of the mean absolute error.",
    },
}
LOWER_IS_BETTER = frozenset({"error", "log_loss", "brier", COST, *SENTENCES["regression"]} - {"r2"})
DEFAULTS = {
    "classification": ("accuracy", "error", "precision", "recall", "f1", "log_loss", "roc_auc"),
    "regression": ("r2", "rmse", "mse", "mae"),
}
"""The default metrics of each task, the headline first."""
