"""Transform the target of a regression for the fit; predictions and scores stay in the original units.

In every fold and inner fold, the transformer is fitted only on the targets of the training rows, and its inverse is
applied to each prediction. A learner that estimates a mean then estimates the mean on the other scale: under the
logarithm, its predictions are geometric means, which are below the mean of a skewed target.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer

from bakeoff.pipeline.errors import UserError, first_line

RELATIVE_TOLERANCE = 1e-6
"""The relative tolerance for a target that is transformed and transformed back."""


class FittedTarget:
    """A transformation of targets, fitted on n training rows; this one leaves them unchanged."""

    def transform(self, y: np.ndarray) -> np.ndarray:
        """Return targets (m,) in the units used to fit the learner, shape (m,)."""
        return y

    def invert(self, model: Any) -> Any:
        """Return an estimator with the predictions of a fitted model, in the original units of the target."""
        return model


@final
@dataclass(frozen=True)
class FittedTransformer(FittedTarget):
    """A transformer, and the n targets on which it was fitted.

    Attributes
    ----------
    transformer : transformer
        Fitted on a column.
    y : ndarray of shape (n,)
    """

    transformer: Any
    y: np.ndarray

    def transform(self, y: np.ndarray) -> np.ndarray:
        """Return transformed targets."""
        transformed: np.ndarray = self.transformer.transform(y[:, np.newaxis]).ravel()
        return transformed

    def invert(self, model: Any) -> TransformedTargetRegressor:
        """Return scikit-learn's regressor, which applies the inverse of the transformer to each prediction."""
        # The model is frozen, so only the transformer is fitted again, on the same targets.
        predictor = TransformedTargetRegressor(
            regressor=FrozenEstimator(model), transformer=self.transformer, check_inverse=False
        )
        return predictor.fit(self.y[:, np.newaxis], self.y)


@final
@dataclass(frozen=True)
class NoTarget:
    """Leave the target as it is."""

    is_on: bool = False

    def fit(self, y: np.ndarray) -> FittedTarget:
        """Return a transformation that changes nothing."""
        return FittedTarget()


@final
@dataclass(frozen=True)
class TransformedTarget:
    """Transform the target by an invertible scikit-learn transformer.

    Parameters
    ----------
    transformer : transformer
    """

    transformer: Any

    is_on = True

    def __post_init__(self) -> None:
        for method in ("fit", "transform", "inverse_transform"):
            if not hasattr(self.transformer, method):
                raise UserError(
                    f"target.transformer={type(self.transformer).__name__} has no method {method}; name a transformer "
                    "with an inverse, such as sklearn.preprocessing.PowerTransformer."
                )

    def fit(self, y: np.ndarray) -> FittedTarget:
        """Fit a copy of the transformer on targets (n,)."""
        return FittedTransformer(clone(self.transformer).fit(y[:, np.newaxis]), y)

    def check(self, y: np.ndarray, target: str) -> None:
        """Require that the transformation is defined for all targets (n,), and that its inverse restores them.

        Raises
        ------
        UserError
        """
        name = type(self.transformer).__name__
        column = y[:, np.newaxis]  # (n, 1)
        with np.errstate(all="ignore"):
            try:
                fitted = clone(self.transformer).fit(column)
                transformed = fitted.transform(column)
                returned = fitted.inverse_transform(transformed) if np.isfinite(transformed).all() else None
            except (ValueError, TypeError) as error:
                raise UserError(f"target: {name} rejects {target!r}: {first_line(error)}") from error
        if returned is None:
            bad = y[~np.isfinite(transformed).all(axis=1)]  # (k,)
            raise UserError(
                f"target: the transformation is not defined for {len(bad)} of the {len(y)} values of {target!r}, "
                f"with a minimum of {bad.min():g}; log needs values above 0, and log1p values above -1; "
                "target=power accepts all values."
            )
        scale = np.abs(y).max()
        if not np.allclose(returned.ravel(), y, rtol=RELATIVE_TOLERANCE, atol=RELATIVE_TOLERANCE * scale):
            raise UserError(
                f"target: the inverse of {name} does not restore the values of {target!r}, so predictions would "
                "be in different units; choose another target, or target=none."
            )


def make_function(function: str) -> FunctionTransformer:
    """Return a transformer that applies an invertible function to each target.

    Parameters
    ----------
    function : {"log", "log1p"}

    Raises
    ------
    UserError
    """
    # Both inverses accept every prediction, whereas the inverse of the square root maps -2 and 2 to the same target.
    pairs = {"log": (np.log, np.exp), "log1p": (np.log1p, np.expm1)}
    if function not in pairs:
        raise UserError(f"target.transformer.function={function!r} must be one of {', '.join(pairs)}.")
    forward, inverse = pairs[function]
    return FunctionTransformer(forward, inverse, validate=True, check_inverse=False)
