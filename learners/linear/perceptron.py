"""Perceptron: walk past the rows, and whenever one lies on the wrong side of the plane, turn the plane towards it.

With labels y_i = ±1, from the start (ω0, b0), row after row:

    if y_i (ω·x_i + b) ≤ 0:    ω ← ω + η y_i x_i,    b ← b + η y_i.

That is stochastic gradient descent on the loss L(ω, b) = -Σ_{i in M} y_i (ω·x_i + b), M being the rows met on the
wrong side.  If a plane separates the classes, some pass makes no mistake and learning ends; which plane it ends with
depends on the start and on the order of the rows.  If none does, it never ends, and ``max_iter`` stops it.
More than two classes: each against the rest.

Cost: O(n d) per pass and O(d + 256) per mistake; O(m d c) to predict.

Reference: F. Rosenblatt, "The perceptron", Psychological Review 65, 1958; the average: Y. Freund and R. E. Schapire,
"Large margin classification using the perceptron algorithm", Machine Learning 37, 1999.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.base.multiclass import one_against_rest
from bakeoff.learners.base.paths import checked_values
from bakeoff.learners.linear.base import LinearClassifier
from bakeoff.learners.linear.blocked_pass import Stand, Walk


class Perceptron(LinearClassifier):
    """The perceptron, plain or averaged, for two or more classes.

    Parameters
    ----------
    eta0 : float, default=1.0
        The learning rate η, above 0.  From the start 0 it changes no prediction.
    coef_init : array-like that broadcasts to (k, d), or None, default=None
        ω0 of each of the k problems (1 for two classes, else c); None is 0.
    intercept_init : array-like that broadcasts to (k,), or None, default=None
        b0 of each problem; None is 0.
    fit_intercept : bool, default=True
        Whether to learn b; otherwise it stays b0.
    max_iter : int, default=100
        The most passes over the rows, for each problem.
    tol : float or None, default=None
        None is the lecture's loop: pass after pass until one makes no mistake.  A number also ends learning, without
        a warning, when ``n_iter_no_change`` passes in a row brought L / n no lower than its least so far less ``tol``.
        That is scikit-learn's rule, whose default is 1e-3: it spares passes where no plane separates the classes, but
        may end before one that does is found.
    n_iter_no_change : int, default=5
        Only for ``tol``.
    shuffle : bool, default=False
        Whether each pass has a new order, drawn with ``random_state``; otherwise all go in row order.
    averaged : bool, default=False
        Whether to keep the mean of the plane over all rows met, which is steadier when mistakes never end, in place of
        the last plane.
    class_weight : dict, "balanced" or None, default=None
        Multiplies η for the rows of a class, so that its mistakes turn the plane further.  Of more than two classes
        each has its weight where it stands against the rest, whose rows have 1 there, as in scikit-learn.
    random_state : int, RandomState instance or None, default=None
        Only for ``shuffle``.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    coef_ : ndarray of shape (c, d), or (1, d) for two classes
    intercept_ : ndarray of shape (c,), or (1,) for two classes
    n_iter_ : int
        The passes that the longest problem took.
    loss_curve_ : list of float, one per pass
        L, each row of M taken when it was met, summed over the problems; 0 at the end if all were separated.

    Examples
    --------
    >>> model = Perceptron().fit([[3, 3], [4, 3], [1, 1]], [1, 1, -1])
    >>> model.coef_, model.intercept_
    (array([[1., 1.]]), array([-3.]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "coef_init": ["array-like", Real, None],
        "intercept_init": ["array-like", Real, None],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "averaged": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
    }

    path_parameters: ClassVar[tuple[str, ...]] = ("max_iter",)

    def __init__(
        self,
        eta0: float = 1.0,
        coef_init: Any = None,
        intercept_init: Any = None,
        fit_intercept: bool = True,
        max_iter: int = 100,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        shuffle: bool = False,
        averaged: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.eta0 = eta0
        self.coef_init = coef_init
        self.intercept_init = intercept_init
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.averaged = averaged
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Pass over the rows until no mistake is left, or as ``max_iter`` and ``tol`` say.

        There are no weights of rows: a row met twice is not a row met once with twice the rate.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self

        Raises
        ------
        ValueError
            One class only; cells that are no finite numbers; a start of the wrong shape; a class's weight not positive.

        Warns
        -----
        ConvergenceWarning
            The last of ``max_iter`` passes still made mistakes.
        """
        (stands,) = self._train(*self._check_fit(X, y), [self.max_iter])
        self._adopt(stands)
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Walk once for many numbers of passes: fewer passes are the first of more (see `learners.base.paths`)."""
        values = checked_values(self, parameter, values)
        if sample_weight is not None:
            raise TypeError("Perceptron takes no sample_weight; give None.")
        checked = clone(self)
        rows = checked._check_fit(X, y)
        for value, stands in zip(values, checked._train(*rows, values), strict=True):
            fitted = copy(checked)
            fitted.max_iter = value
            fitted._adopt(stands)
            yield fitted

    def _train(
        self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray, stops: Sequence[int]
    ) -> Iterator[tuple[Stand, ...]]:
        """Walk once in each of the k problems; return where all of them stand after so many passes, for each stop."""
        signs = one_against_rest(codes, len(self.classes_))  # (k, n)
        rates = self._rates(signs, weight)  # (k, n)
        start = self._start(len(signs), X.shape[1])  # (k, d + 1)
        rows = np.column_stack([X, np.full(len(X), float(self.fit_intercept))])  # (n, d + 1)
        unit = _unit(rows)
        if unit != 1.0:
            rows, start = rows / unit, start / unit
        # Seeds of their own: what one problem draws does not depend on how many passes another made.
        seeds = check_random_state(self.random_state).randint(2**31, size=len(signs))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            problems = zip(signs, rates, start, seeds, strict=True)
            walks = [self._walk(rows, *problem, unit, stops) for problem in problems]
        return zip(*walks, strict=True)

    def _walk(
        self,
        rows: np.ndarray,
        sign: np.ndarray,
        rates: np.ndarray,
        plane: np.ndarray,
        seed: int,
        unit: float,
        stops: Sequence[int],
    ) -> list[Stand]:
        """Pass over the rows of one problem until none is wrong, or the loss falls no more, or the last stop."""
        rows *= sign[:, None]
        walk = Walk(rows, rates, plane, averaged=self.averaged)
        random_state = np.random.RandomState(seed)
        enough = None if self.tol is None else self.tol * len(rows) / unit / unit
        stands: dict[int, Stand] = {}
        ended, passes = False, 0
        while not ended and passes < max(stops, default=0):
            walk.pass_over(random_state.permutation(len(rows)) if self.shuffle else None)
            passes += 1
            ended = not walk.mistakes or (enough is not None and walk.idle(enough) >= self.n_iter_no_change)
            if ended or passes in stops:
                stand = walk.stand(ended=ended)
                stands[passes] = Stand(stand.plane * unit, [loss * unit * unit for loss in stand.losses], ended)
        rows *= sign[:, None]  # as they were: the next problem needs no copy either
        return [stands[min(stop, passes)] for stop in stops]

    def _adopt(self, stands: Sequence[Stand]) -> None:
        """Be the planes that the walks came to."""
        planes = np.array([stand.plane for stand in stands])  # (k, d + 1)
        if not np.isfinite(planes).all():
            raise ValueError("Perceptron: the plane's weights outgrew floats; rescale the columns, or lower eta0.")
        losses = np.zeros(max(len(stand.losses) for stand in stands))
        for stand in stands:
            losses[: len(stand.losses)] += stand.losses
        self.coef_, self.intercept_ = planes[:, :-1].copy(), planes[:, -1].copy()
        self.n_iter_, self.loss_curve_ = len(losses), losses.tolist()
        if not all(stand.ended for stand in stands):
            warnings.warn(
                f"Perceptron: the last of max_iter={self.max_iter} passes still made mistakes; the classes may not be "
                "separable by a plane (averaged=True is steadier then), or raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _rates(self, signs: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return η of each row in each problem, of shape (k, n), from the weights of the rows' classes, (n,)."""
        if not (weight > 0).all():
            raise ValueError(f"class_weight gives {weight.min():g} to a class; every weight must be positive.")
        with np.errstate(over="ignore"):  # what comes of it is looked at
            return self.eta0 * np.where((signs > 0) | (len(signs) == 1), weight, 1.0)

    def _start(self, k: int, d: int) -> np.ndarray:
        """Return ω0 and b0 of each problem, of shape (k, d + 1)."""
        start = np.zeros((k, d + 1))
        given = {"coef_init": (self.coef_init, start[:, :d])}
        if self.fit_intercept:
            given["intercept_init"] = (self.intercept_init, start[:, d])
        for name, (value, place) in given.items():
            if value is not None:
                try:
                    place[...] = value
                except (TypeError, ValueError) as error:
                    raise ValueError(
                        f"{name} has shape {np.shape(value)}, which does not fit {place.shape}, the shape of this "
                        "problem; give numbers that broadcast to it, or None."
                    ) from error
        if not np.isfinite(start).all():
            raise ValueError("coef_init and intercept_init must be finite numbers; give others, or None for 0.")
        return start


def _unit(rows: np.ndarray) -> float:
    """Return 1, or for absurdly large or small cells a power of two near the largest, so that products stay floats."""
    peak = max(rows.max(), -rows.min())
    return 1.0 if peak == 0 or 1e-100 < peak < 1e100 else float(np.ldexp(1.0, np.frexp(peak)[1] - 1))
