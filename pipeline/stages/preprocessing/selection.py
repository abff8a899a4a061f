"""Selection of the columns that are associated with the target, for classes and for numbers alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.feature_selection import (
    SelectPercentile,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)

from bakeoff.pipeline.errors import UserError, did_you_mean


def make_selection(percentile: float = 50, score: str = "f_test") -> SelectPercentile:
    """Return a step that selects the columns with the highest scores.

    Parameters
    ----------
    percentile : float
        The percentage of the columns to keep.
    score : {"f_test", "mutual_information"}
        The F statistic of a linear association, or the mutual information with the target.

    Returns
    -------
    SelectPercentile
        scikit-learn's; its functions of scores are either for classes or for numbers, and here the target decides.

    Raises
    ------
    UserError
        The score does not exist.
    """
    if score not in SCORES:
        raise UserError(f"preprocessing: score={score!r} is not a score of columns. {did_you_mean(str(score), SCORES)}")
    return SelectPercentile(score_func=SCORES[score], percentile=percentile)


def score_f_test(X: Any, y: np.ndarray) -> Any:
    """Return the F statistic and the p-value of each column of X (n, d), both of shape (d,)."""
    with warnings.catch_warnings():
        # scikit-learn warns of columns that vary in no class, among them those that tell the classes apart.
        warnings.simplefilter("ignore")
        return f_regression(X, y) if _is_numeric(y) else f_classif(X, y)


def score_mutual_information(X: Any, y: np.ndarray) -> Any:
    """Return the mutual information of each column of X (n, d) with the target in nats, of shape (d,)."""
    # The estimate adds a little noise to break ties, which must be the same in each run.
    estimate = mutual_info_regression if _is_numeric(y) else mutual_info_classif
    return estimate(X, y, random_state=0)


SCORES: Mapping[str, Callable[..., Any]] = {"f_test": score_f_test, "mutual_information": score_mutual_information}


def _is_numeric(y: np.ndarray) -> bool:
    """Whether a target is of numbers; classes are text or integers."""
    return np.asarray(y).dtype.kind == "f"
