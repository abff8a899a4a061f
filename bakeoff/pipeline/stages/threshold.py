"""The threshold between two classes: given, or chosen on rows not used to fit the model.

Scores of labels (accuracy, F1, a cost) depend on it; scores of probabilities and rankings do not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier

from bakeoff.pipeline.errors import UserError, require_folds

MAX_CANDIDATES = 200
"""If there are more distinct scores than this, only thresholds at their quantiles are tried."""
SCORE_ROUNDING = 1e-12
"""Scores that differ by at most this fraction of the largest one are equal."""

DEFAULTS = {"predict_proba": 0.5, "decision_function": 0.0}
"""The default threshold of a classifier, by the method that returns its scores."""


@dataclass(frozen=True)
class BinaryScores:
    """The m rows on which a threshold is chosen.

    Attributes
    ----------
    scores : ndarray of shape (m,)
        Probabilities, or decision values, of the positive class.
    method : {"decision_function", "predict_proba"}
    score_threshold : callable
        (whether each row is predicted positive, shape (m,)) -> the score to optimize.
    greater_is_better : bool
    """

    scores: np.ndarray
    method: str
    score_threshold: Callable[[np.ndarray], float]
    greater_is_better: bool


@dataclass(frozen=True)
class ChosenThreshold:
    """A threshold, and the score by which it was chosen.

    Attributes
    ----------
    value : float
        A row is positive if its score is at least this value.
    method : {"decision_function", "predict_proba"}
        The method that gives the scores.
    score : float
        The score on the rows used for the choice; NaN if the threshold was given.
    default_score : float
        The score of the learner's default threshold on the same rows.
    """

    value: float
    method: str
    score: float = float("nan")
    default_score: float = float("nan")

    def apply(self, model: Any, positive: object) -> FixedThresholdClassifier:
        """Return a fitted classifier that predicts the positive class at or above the threshold."""
        # A stored model must not contain labels of NumPy types.
        label = positive.item() if isinstance(positive, np.generic) else positive
        predictor = FixedThresholdClassifier(
            FrozenEstimator(model), threshold=self.value, pos_label=label, response_method=self.method
        )
        # A frozen model is not fitted again; the rows only determine the two classes.
        return predictor.fit(np.zeros((2, 1)), model.classes_)


@final
@dataclass(frozen=True)
class NoThreshold:
    """Return the predictions of the learner."""

    is_on: bool = False
    is_chosen: bool = False
    folds: int = 0
    metric: str | None = None


@final
@dataclass(frozen=True)
class GivenThreshold:
    """Predict the positive class at or above a given probability.

    Parameters
    ----------
    value : float
        The probability, above 0 and below 1.
    """

    value: float

    is_on = True
    is_chosen = False
    folds = 0
    metric = None

    def __post_init__(self) -> None:
        if not 0 < self.value < 1:
            raise UserError(f"threshold.value={self.value!r} must be a probability above 0 and below 1.")


@final
@dataclass(frozen=True)
class TunedThreshold:
    """Choose the threshold with the best score on rows not used to fit the model.

    Parameters
    ----------
    metric : str, optional
        The name of the score; the headline by default.
    folds : int
        The number of inner folds of the training rows; 0 chooses on the validation part.

    References
    ----------
    V. Sheng and C. Ling, "Thresholding for making classifiers cost-sensitive", AAAI 2006.
    """

    metric: str | None = None
    folds: int = 0

    is_on = True
    is_chosen = True

    def __post_init__(self) -> None:
        require_folds("threshold.folds", self.folds, "choose")

    def choose(self, rows: BinaryScores) -> ChosenThreshold:
        """Return the best threshold; ties are broken by the distance to the default threshold of the learner.

        Raises
        ------
        UserError
            The score is not defined for any threshold.
        """
        default = DEFAULTS[rows.method]
        candidates = list_candidates(rows.scores, default)  # (k,)
        values = np.array([rows.score_threshold(rows.scores >= value) for value in candidates])
        if np.isnan(values).all():
            raise UserError(
                "threshold=tuned: the metric is not defined for any threshold on the rows used to choose it; set "
                "another threshold.metric, or fewer threshold.folds, so that these rows have both classes."
            )
        best = np.nanmax(values) if rows.greater_is_better else np.nanmin(values)
        finite = values[np.isfinite(values)]
        rounding = SCORE_ROUNDING * np.abs(finite).max(initial=0.0)
        tied = np.flatnonzero(values >= best - rounding if rows.greater_is_better else values <= best + rounding)
        nearest = tied[np.argmin(np.abs(candidates[tied] - default))]
        default_score = float(values[candidates == default][0])
        return ChosenThreshold(float(candidates[nearest]), rows.method, float(best), default_score)


def list_candidates(scores: np.ndarray, default: float) -> np.ndarray:
    """Return the thresholds to try, in ascending order: between neighbouring scores, at the ends, and the default.

    Parameters
    ----------
    scores : ndarray of shape (m,)
    default : float

    Examples
    --------
    >>> list_candidates(np.array([0.2, 0.4, 0.4, 0.8]), 0.5).tolist()
    [0.2, 0.30000000000000004, 0.5, 0.6000000000000001, 0.8000000000000002]
    """
    different = np.unique(scores)  # (k,)
    middles = (different[:-1] + different[1:]) / 2
    if len(middles) > MAX_CANDIDATES:
        # Quantiles are denser where there are more rows.
        shares = np.linspace(0, 1, MAX_CANDIDATES)
        middles = np.quantile(scores, shares)
    # At the lowest score all rows are positive; above the highest one, none is.
    ends = [different[0], np.nextafter(different[-1], np.inf)]
    return np.unique(np.concatenate([ends, middles, [default]]))
