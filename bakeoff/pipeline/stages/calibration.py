"""Calibration: probabilities that agree with frequencies, learnt on rows not used to fit the model.

These rows are the validation part. If pruning or tuning uses that part, or there is none, the outputs come from
models fitted on inner folds of the training rows, each predicting the fold that it has not seen.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if

from bakeoff.pipeline.errors import UserError, did_you_mean, require_folds

if TYPE_CHECKING:
    from sklearn.calibration import CalibratedClassifierCV

METHODS = {"platt": "sigmoid", "isotonic": "isotonic", "temperature": "temperature"}
"""The names of the methods here and in scikit-learn."""
MAX_CROSS_FOLDS = 5
DECISION = "decision_function"
PROBABILITY = "predict_proba"


@dataclass(frozen=True)
class Outputs:
    """The outputs for m rows of models that have not seen them.

    Attributes
    ----------
    scores : ndarray of shape (m,) or (m, c)
        Decision values, or probabilities.
    method : {"decision_function", "predict_proba"}
    classes : ndarray of shape (c,)
        The sorted classes, in the order of the columns of the scores.
    truth : ndarray of shape (m,)
    weights : ndarray of shape (m,) or None
        How much each row counts.
    """

    scores: np.ndarray
    method: str
    classes: np.ndarray
    truth: np.ndarray
    weights: np.ndarray | None = None


@final
@dataclass(frozen=True)
class NoCalibration:
    """Leave the learner's probabilities as they are."""

    is_on: bool = False
    folds: int = 0

    def add_methods(self, learner: Any) -> Any:
        """Return the learner unchanged."""
        return learner

    def calibrate(self, model: Any, outputs: Outputs) -> Any:
        """Return the model."""
        return model

    def predict_unseen(self, outputs: Outputs, seed: int) -> Outputs:
        """Return the outputs."""
        return outputs


@final
@dataclass(frozen=True)
class Calibration:
    """Calibrate decision values or probabilities with scikit-learn's ``CalibratedClassifierCV``.

    Parameters
    ----------
    method : {"platt", "isotonic", "temperature"}
        A logistic curve with two parameters per class, a monotone step function per class, or one temperature for all
        classes.
    folds : int
        The number of inner folds of the training rows; 0 calibrates on the validation part.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines", 1999. B. Zadrozny and C. Elkan, "Transforming
    classifier scores into accurate multiclass probability estimates", KDD 2002. C. Guo et al., "On calibration of
    modern neural networks", ICML 2017.
    """

    method: str
    folds: int = 0

    is_on = True

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            suggestion = did_you_mean(str(self.method), METHODS)
            raise UserError(f"calibration.method={self.method!r} is not a method. {suggestion}")
        require_folds("calibration.folds", self.folds, "calibrate")

    def add_methods(self, learner: Any) -> Any:
        """Return an unfitted estimator with the methods that the calibrated learner will have."""
        from sklearn.calibration import CalibratedClassifierCV

        return CalibratedClassifierCV(learner)

    def calibrate(self, model: Any, outputs: Outputs) -> CalibratedClassifierCV:
        """Return a fitted model with calibrated probabilities, whose prediction is the most probable class.

        Parameters
        ----------
        model : estimator
            A fitted model, which does not change.
        outputs : Outputs
            Outputs of the model, or of models fitted in the same way on other rows.
        """
        calibrated = self._fit(outputs, np.arange(len(outputs.truth)))
        frozen = FrozenEstimator(model)
        # From here on, outputs come from the model; the calibrators were fitted on recorded outputs.
        calibrated.calibrated_classifiers_[0].estimator = frozen
        return calibrated.set_params(estimator=frozen, cv=None)

    def predict_unseen(self, outputs: Outputs, seed: int) -> Outputs:
        """Return calibrated probabilities of the same rows, each by calibrators that have not seen the row.

        Parameters
        ----------
        outputs : Outputs
        seed : int
            The seed for the folds in which the calibrators are fitted.

        Returns
        -------
        Outputs
            Outputs remain uncalibrated if a class has a single row, which cannot be left out.
        """
        n_rarest = np.unique(outputs.truth, return_counts=True)[1].min()
        if n_rarest < 2:
            return outputs
        folds = StratifiedKFold(min(MAX_CROSS_FOLDS, int(n_rarest)), shuffle=True, random_state=seed)
        probabilities = np.empty((len(outputs.truth), len(outputs.classes)))  # (m, c)
        for fitted_on, held_out in folds.split(outputs.truth, outputs.truth):
            calibrated = self._fit(outputs, fitted_on)
            probabilities[held_out] = calibrated.predict_proba(held_out[:, np.newaxis])
        return replace(outputs, scores=probabilities, method=PROBABILITY)

    def _fit(self, outputs: Outputs, rows: np.ndarray) -> CalibratedClassifierCV:
        """Return calibrators fitted on some of the rows; their input is the position of a row."""
        from sklearn.calibration import CalibratedClassifierCV

        recorded = FrozenEstimator(RecordedOutputs(outputs).fit())
        everything = np.arange(len(rows))
        # scikit-learn requires folds even if the model is not refitted, so one fold contains all rows.
        calibrated = CalibratedClassifierCV(recorded, method=METHODS[self.method], cv=[(everything, everything)])
        weights = None if outputs.weights is None else outputs.weights[rows]
        with warnings.catch_warnings():
            # The recorded model is not fitted, so it need not accept weights.
            warnings.filterwarnings("ignore", "Since FrozenEstimator does not appear to accept", UserWarning)
            return calibrated.fit(rows[:, np.newaxis], outputs.truth[rows], sample_weight=weights)


class RecordedOutputs(ClassifierMixin, BaseEstimator):
    """A classifier with known outputs for m rows, whose inputs are the positions of the rows.

    Parameters
    ----------
    outputs : Outputs
        Their method is the only one that is available.
    """

    def __init__(self, outputs: Outputs) -> None:
        self.outputs = outputs

    def fit(self, X: Any = None, y: Any = None) -> RecordedOutputs:
        """Set the classes; the arguments are not used."""
        self.classes_ = self.outputs.classes
        return self

    @available_if(lambda recorded: recorded.outputs.method == DECISION)
    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the decision values of rows, given by their positions (k, 1)."""
        return self._look_up(X)

    @available_if(lambda recorded: recorded.outputs.method == PROBABILITY)
    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the probabilities of rows, given by their positions (k, 1)."""
        return self._look_up(X)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class with the highest score for rows, given by their positions (k, 1)."""
        scores = self._look_up(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)  # (k,)
        predicted: np.ndarray = self.classes_[codes]
        return predicted

    def _look_up(self, X: np.ndarray) -> np.ndarray:
        rows: np.ndarray = self.outputs.scores[np.asarray(X).ravel()]
        return rows
