"""Perceptron (`definitions.perceptron`), trained a block of rows at a time.

With labels y_i = ±1, from the initial plane (ω0, b0), row after row:

    if y_i (ω·x_i + b) ≤ 0:    ω ← ω + η y_i x_i,    b ← b + η y_i.

This is stochastic gradient descent on the loss L(ω, b) = -Σ_{i in M} y_i (ω·x_i + b), where M is the set of rows that
are on the wrong side of the plane when they are processed. If the classes are linearly separable, eventually a pass
makes no mistake and training ends; the result depends on the initial plane and on the order of the rows. Otherwise
only ``max_iter`` ends the training, and the last plane may be a bad one: the pocket holds the plane with the fewest
mistakes on the training rows. Several classes are trained one against the rest.

*Blocks*: the lecture's loop computes the margin of each row when the row is processed. Here one product gives the
margins of a block of rows. The first one that is not positive is the next mistake: the plane is updated, and the
margins of the next few rows are computed anew, because the next mistake is probably among them. Rows are processed in
order and none is skipped, so the result equals that of the lecture's loop. For one or two columns and many mistakes,
the lecture's loop in Python's own numbers takes half as long (see `run_scalar_pass`).

Cost per pass: O(n d), and O(32 d) per mistake; O(m d c) to predict.

References: F. Rosenblatt, "The perceptron", Psychological Review 65, 1958; the pocket: S. I. Gallant, "Perceptron-based
learning algorithms", IEEE Transactions on Neural Networks 1, 1990; the average: Y. Freund and R. E. Schapire, "Large
margin classification using the perceptron algorithm", Machine Learning 37, 1999.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.base.estimator import label_one_against_rest
from bakeoff.learners.base.input_checks import check_path_values
from bakeoff.learners.linear.base import LinearClassifier

BLOCK_ROWS = 256
"""Rows of a block, which stay in the cache."""

SCALAR_ROWS = 1024
"""Rows whose numbers are made at a time for `run_scalar_pass`: they stay in the cache."""

MAX_SCALAR_PLANE_SIZE = 3
"""The columns for which `run_scalar_pass` is written, one of them for the intercept."""

LOOKAHEAD_ROWS = 32
"""Rows whose margins are computed after a mistake; a multiple of 4, the rows that BLAS computes together, so that the
last bits of a margin do not depend on it."""

ROWS_PER_MISTAKE_FOR_SCAN = 24
"""If mistakes are more frequent than one in this number of rows, a Python loop finds the next one faster than NumPy."""


class Snapshot(NamedTuple):
    """The state of training after some passes."""

    plane: np.ndarray  # (d + 1,)
    losses: list[float]  # one for each pass
    ended: bool  # whether further passes would have no effect, or too small a one


class Pocket:
    """The plane with the fewest mistakes so far (Gallant 1990); of equal ones, the last.

    The initial plane predicts the most frequent class.

    Parameters
    ----------
    rows : ndarray of shape (n, d + 1)
        Those of `BlockedPass`.
    rates : ndarray of shape (n,)
        The weight of a mistake at each row.

    Attributes
    ----------
    plane : ndarray of shape (d + 1,)
    """

    plane: np.ndarray

    def __init__(self, rows: np.ndarray, rates: np.ndarray) -> None:
        self._rows = rows
        self._rates = rates
        self._cost = np.inf
        constant = np.zeros(rows.shape[1])
        constant[-1] = np.average(rows[:, -1], weights=rates)
        self.offer(constant)

    def offer(self, plane: np.ndarray) -> None:
        """Keep a plane if it makes no more mistakes than the one in the pocket."""
        is_right = self._rows @ plane > 0  # not so if the weights overflowed
        cost = float(self._rates[~is_right].sum())
        if cost <= self._cost:
            self._cost = cost
            self.plane = plane.copy()


class BlockedPass:
    """The plane of one two-class problem, and the passes that train it.

    The rows are multiplied by their label and have a column ±1 for the intercept: row i is y_i (x_i, 1), the plane is
    (ω, b), their product is the margin y_i (ω·x_i + b), and a mistake adds η times the row to the plane.

    Parameters
    ----------
    rows : ndarray of shape (n, d + 1)
    rates : ndarray of shape (n,)
        η of each row.
    plane : ndarray of shape (d + 1,)
        The initial plane.
    averaged : bool
        Whether the result is the mean of the plane over all rows processed.

    Attributes
    ----------
    losses : list of float
        -Σ margin over the mistakes of each pass.
    n_mistakes : int
        The mistakes of the last pass; before the first pass, n.
    plane : ndarray of shape (d + 1,)
        The plane after the last pass.
    """

    def __init__(self, rows: np.ndarray, rates: np.ndarray, plane: np.ndarray, *, averaged: bool) -> None:
        self.losses: list[float] = []
        self.n_mistakes = len(rows)
        self._rows = rows
        self._rates = rates
        self.plane = plane.copy()
        self._margins = np.empty(len(rows))  # (n,), positive for rows without a mistake
        self._block = RowBlock(rows, rates, self._margins, self.plane)
        self._averaged = averaged
        self._weighted_updates = np.zeros_like(plane)  # (d + 1,), each update times the number of rows before it
        self._best_loss = np.inf
        self._n_passes_without_progress = 0

    def run_pass(self, order: np.ndarray) -> None:
        """Process all rows once, in the given order of shape (n,).

        The number of mistakes in the last pass decides which method is the fastest.
        """
        has_many_mistakes = self.n_mistakes * ROWS_PER_MISTAKE_FOR_SCAN > len(self._rows)
        if has_many_mistakes and self.plane.size <= MAX_SCALAR_PLANE_SIZE:
            self._process_scalars(order)
        else:
            self._block.process(order)
        (wrong,) = (self._margins <= 0).nonzero()  # positions in the order
        if self._averaged:
            mistaken_rows = order[wrong]
            n_before = len(self.losses) * len(self._rows) + wrong
            self._weighted_updates += (self._rates[mistaken_rows] * n_before) @ self._rows[mistaken_rows]
        self.n_mistakes = wrong.size
        self.losses.append(-float(self._margins[wrong].sum()))

    def take_snapshot(self, *, ended: bool) -> Snapshot:
        """Return the last plane, or the mean of the plane over all rows processed."""
        plane = self.plane.copy()
        if self._averaged:
            # A late update was part of the plane for few rows only: subtract its share for the rows before it.
            n_processed = len(self.losses) * len(self._rows)
            plane -= self._weighted_updates / n_processed
        return Snapshot(plane, self.losses.copy(), ended)

    def count_passes_without_progress(self, tol: float) -> int:
        """Count the last consecutive passes that did not lower the best loss by at least ``tol``.

        Call this once after each pass.
        """
        if self.losses[-1] > self._best_loss - tol:
            self._n_passes_without_progress += 1
        else:
            self._n_passes_without_progress = 0
        self._best_loss = min(self._best_loss, self.losses[-1])
        return self._n_passes_without_progress

    def _process_scalars(self, order: np.ndarray) -> None:
        for first in range(0, order.size, SCALAR_ROWS):
            span = slice(first, first + SCALAR_ROWS)
            rows = self._rows.take(order[span], axis=0)
            run_scalar_pass(rows, self._rates[order[span]], self._margins[span], self.plane)


class RowBlock:
    """Final: space for 256 rows, through which all rows pass in the order of each pass.

    After a mistake, only the margins of the next few rows are computed, because the next mistake is probably among
    them; if it is not, the margins of all further rows are computed.

    Parameters
    ----------
    rows : ndarray of shape (n, d + 1)
    rates, margins : ndarray of shape (n,)
    plane : ndarray of shape (d + 1,)
    """

    def __init__(self, rows: np.ndarray, rates: np.ndarray, margins: np.ndarray, plane: np.ndarray) -> None:
        self._rows = rows
        self._rates = rates
        self._margins = margins
        self._plane = plane
        self._has_unit_rates = (rates == 1).all()
        self._block = np.empty((min(len(rows), BLOCK_ROWS), plane.size))
        self._updates = self._block if self._has_unit_rates else np.empty_like(self._block)
        # For a mistake at row i: its update, and the product with the next rows. They are sliced once for all passes.
        self._steps: list[tuple[np.ndarray, Any]] = []
        for stop, update in enumerate(self._updates, 1 + LOOKAHEAD_ROWS):
            next_rows = self._block[stop - LOOKAHEAD_ROWS : stop]
            self._steps.append((update, next_rows.dot if stop <= len(self._block) else None))

    def process(self, order: np.ndarray) -> None:
        """Update the plane at each misclassified row; store the margins of these rows when they are processed."""
        self._margins[:] = 1.0
        for first in range(0, order.size, BLOCK_ROWS):
            numbers = order[first : first + BLOCK_ROWS]
            start = len(self._block) - numbers.size  # the last block is at the end of the space, as the steps are
            block = self._block[start:]
            self._rows.take(numbers, 0, block, "clip")  # the other modes copy
            if not self._has_unit_rates:
                np.multiply(block, self._rates[numbers, None], self._updates[start:])
            self._process_block(start, first - start)

    def _process_block(self, start: int, shift: int) -> None:
        """Process the rows from ``start``; row i of the space is row i + ``shift`` of the pass."""
        # Local variables instead of attributes: a noisy problem spends most of its time in this loop.
        plane = self._plane
        steps = self._steps
        add = np.add
        # The same memory for NumPy and for Python, which reads a single number in a fraction of the time.
        margins = self._margins.data
        next_margins = np.empty(LOOKAHEAD_ROWS)
        next_numbers = next_margins.data
        dot = None
        while start < len(steps):
            if dot is None:
                numbers = self._block[start:].dot(plane).data
            else:
                dot(plane, next_margins)
                numbers = next_numbers
            for i, margin in enumerate(numbers, start):
                if margin <= 0.0:
                    margins[i + shift] = margin
                    update, dot = steps[i]
                    add(plane, update, plane)
                    start = i + 1
                    break
            else:
                start += len(numbers)
                dot = None


def run_scalar_pass(rows: np.ndarray, rates: np.ndarray, margins: np.ndarray, plane: np.ndarray) -> None:
    """Process rows of at most two columns, one after the other in Python's own numbers.

    In Python, computing a product of three terms is faster than calling NumPy.

    Parameters
    ----------
    rows : ndarray of shape (n, d + 1)
    rates : ndarray of shape (n,)
    margins : ndarray of shape (n,)
        Replaced by the margins of misclassified rows when they are processed, and 1 elsewhere.
    plane : ndarray of shape (d + 1,)
        Updated in place.
    """
    # With one column of features, a column of zeros is used as the first of two.
    columns = [np.zeros(len(rows)), *rows.T][-MAX_SCALAR_PLANE_SIZE:]
    w1, w2, b = [0.0, *plane.tolist()][-MAX_SCALAR_PLANE_SIZE:]
    numbers = (column.tolist() for column in [*columns, rates])
    margins[:] = 1.0
    margin_numbers = margins.data
    for i, (x1, x2, one, rate) in enumerate(zip(*numbers, strict=True)):
        margin = w1 * x1 + w2 * x2 + b * one
        if margin <= 0.0:
            w1 += rate * x1
            w2 += rate * x2
            b += rate * one
            margin_numbers[i] = margin
    plane[:] = [w1, w2, b][-plane.size :]


class Perceptron(LinearClassifier):
    """The perceptron, with the best, the last or the mean plane, for two or more classes.

    Parameters
    ----------
    eta0 : float, default=1.0
        The learning rate η, above 0. It does not affect predictions if the initial plane is 0.
    coef_init : array-like that broadcasts to (k, d), or None, default=None
        ω0 of each of the k problems (1 for two classes, else c); None is 0.
    intercept_init : array-like that broadcasts to (k,), or None, default=None
        b0 of each problem; None is 0.
    fit_intercept : bool, default=True
        Whether to fit b; otherwise it stays b0.
    max_iter : int, default=100
        Maximum number of passes over the rows, for each problem.
    tol : float or None, default=None
        None corresponds to the lecture's loop: passes continue until one makes no mistake. With a number, training
        also ends, without a warning, after ``n_iter_no_change`` consecutive passes in which L / n did not fall below
        its minimum so far by at least ``tol``. That is scikit-learn's rule, with a default of 1e-3: it saves passes
        if the classes are not separable, but training may end before a separating plane is found.
    n_iter_no_change : int, default=5
        Number of consecutive passes for ``tol``.
    shuffle : bool, default=True
        Whether the rows are shuffled before each pass, with ``random_state``; otherwise all passes are in row order, as
        in the lecture.
    pocket : bool, default=True
        Whether the result is the plane with the fewest mistakes on the training rows (weighted by η), among those after
        each pass and, with ``fit_intercept``, the one that predicts the most frequent class; otherwise it is the last
        plane, as in the lecture. They differ only if the last pass makes mistakes.
    averaged : bool, default=False
        Whether the result is the mean of the plane over all rows processed, instead of one plane. The mean varies less
        if the classes are not separable.
    class_weight : dict, "balanced" or None, default=None
        Multiplies η for the rows of a class. With more than two classes, the weight of a class applies only in its
        own problem, in which the rows of the other classes have weight 1, as in scikit-learn.
    random_state : int, RandomState instance or None, default=None
        Used by ``shuffle``.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    coef_ : ndarray of shape (c, d), or (1, d) for two classes
    intercept_ : ndarray of shape (c,), or (1,) for two classes
    n_iter_ : int
        Number of passes of the problem that took longest.
    loss_curve_ : list of float, one per pass
        L of each pass, summed over the problems, with the margin of each row when it is processed; 0 if all are
        separated.

    Examples
    --------
    >>> model = Perceptron(shuffle=False).fit([[3, 3], [4, 3], [1, 1]], [1, 1, -1])
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
        "pocket": ["boolean"],
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
        shuffle: bool = True,
        pocket: bool = True,
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
        self.pocket = pocket
        self.averaged = averaged
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train until a pass makes no mistake, or until ``max_iter`` or ``tol`` ends it.

        There is no ``sample_weight``, because a row that occurs twice is not equivalent to one row with twice the
        rate.

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
            Only one class; a cell that is not a finite number; an initial plane of the wrong shape; a class weight that
            is not positive.

        Warns
        -----
        ConvergenceWarning
            Rows were still misclassified in the last of ``max_iter`` passes.
        """
        (snapshots,) = self._train(*self._check_fit(X, y), [self.max_iter])
        self._set_fitted(snapshots)
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Train once for several values of ``max_iter``, whose passes are the same (see `input_checks`)."""
        values = check_path_values(self, parameter, values)
        if sample_weight is not None:
            raise TypeError("Perceptron does not support sample_weight; pass None.")
        checked = clone(self)
        rows = checked._check_fit(X, y)
        for value, snapshots in zip(values, checked._train(*rows, values), strict=True):
            fitted = copy(checked)
            fitted.max_iter = value
            fitted._set_fitted(snapshots)
            yield fitted

    def _train(
        self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray, max_iters: Sequence[int]
    ) -> Iterator[tuple[Snapshot, ...]]:
        """Train each of the k two-class problems once; yield the snapshots of all problems for each ``max_iter``."""
        signs = label_one_against_rest(codes, len(self.classes_))  # (k, n)
        rates = self._learning_rates(signs, weight)  # (k, n)
        planes = self._initial_planes(len(signs), X.shape[1])  # (k, d + 1)
        # Row by row, whatever the layout of X: blocks of rows are taken in each pass.
        rows = np.full((X.shape[0], X.shape[1] + 1), float(self.fit_intercept))
        rows[:, :-1] = X
        unit = _choose_unit(rows)
        if unit != 1.0:
            rows = rows / unit
            planes = planes / unit
        # A seed for each problem: its orders do not depend on the number of passes of the others.
        seeds = check_random_state(self.random_state).randint(2**31, size=len(signs))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            problems = zip(signs, rates, planes, seeds, strict=True)
            snapshots = [self._train_problem(rows, *problem, unit, max_iters) for problem in problems]
        return zip(*snapshots, strict=True)

    def _train_problem(
        self,
        rows: np.ndarray,
        sign: np.ndarray,
        rates: np.ndarray,
        plane: np.ndarray,
        seed: int,
        unit: float,
        max_iters: Sequence[int],
    ) -> list[Snapshot]:
        """Pass over the rows of one problem until a pass makes no mistake, or ``tol`` or the largest limit ends it."""
        # The rows are multiplied by the labels in place, and this is undone below, so that no problem copies them.
        rows *= sign[:, None]
        trainer = BlockedPass(rows, rates, plane, averaged=self.averaged)
        random_state = np.random.RandomState(seed)
        pocket = Pocket(rows, rates) if self.pocket and not self.averaged else None
        snapshots: dict[int, Snapshot] = {}
        n_passes = 0
        ended = False
        while not ended and n_passes < max(max_iters, default=0):
            order = random_state.permutation(len(rows)) if self.shuffle else np.arange(len(rows))
            trainer.run_pass(order)
            n_passes += 1
            ended = trainer.n_mistakes == 0 or self._has_stalled(trainer, len(rows), unit)
            if pocket is not None:
                pocket.offer(trainer.plane)
            if ended or n_passes in max_iters:
                plane, losses, _ = trainer.take_snapshot(ended=ended)
                if pocket is not None and np.isfinite(plane).all():
                    plane = pocket.plane
                losses_in_units = [loss * unit * unit for loss in losses]
                snapshots[n_passes] = Snapshot(plane * unit, losses_in_units, ended)
        rows *= sign[:, None]
        return [snapshots[min(max_iter, n_passes)] for max_iter in max_iters]

    def _has_stalled(self, trainer: BlockedPass, n: int, unit: float) -> bool:
        """Return whether ``tol`` ends the training after the last pass."""
        if self.tol is None:
            return False
        tol = self.tol * n / unit / unit
        return trainer.count_passes_without_progress(tol) >= self.n_iter_no_change

    def _set_fitted(self, snapshots: Sequence[Snapshot]) -> None:
        """Set the fitted attributes from the snapshot of each problem."""
        planes = np.array([snapshot.plane for snapshot in snapshots])  # (k, d + 1)
        if not np.isfinite(planes).all():
            raise ValueError("Perceptron: the weights overflowed; rescale the columns, or lower eta0.")
        losses = np.zeros(max(len(snapshot.losses) for snapshot in snapshots))
        for snapshot in snapshots:
            losses[: len(snapshot.losses)] += snapshot.losses
        self.coef_ = planes[:, :-1].copy()
        self.intercept_ = planes[:, -1].copy()
        self.n_iter_ = len(losses)
        self.loss_curve_ = losses.tolist()
        if not all(snapshot.ended for snapshot in snapshots):
            warnings.warn(
                f"Perceptron: rows were still misclassified in the last of max_iter={self.max_iter} passes. The "
                "classes may not be linearly separable, in which case averaged=True is more stable; otherwise increase "
                "max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _learning_rates(self, signs: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return η of each row in each problem, of shape (k, n), from the weight of each row's class, (n,)."""
        if not (weight > 0).all():
            raise ValueError(f"class_weight assigns {weight.min():g} to a class; every weight must be positive.")
        is_two_class = len(signs) == 1
        weighted = (signs > 0) | is_two_class  # (k, n), the rows of the rest have weight 1
        with np.errstate(over="ignore"):  # `_set_fitted` rejects the result
            return self.eta0 * np.where(weighted, weight, 1.0)

    def _initial_planes(self, k: int, d: int) -> np.ndarray:
        """Return ω0 and b0 of each problem, of shape (k, d + 1)."""
        planes = np.zeros((k, d + 1))
        _fill("coef_init", self.coef_init, planes[:, :d])
        if self.fit_intercept:
            _fill("intercept_init", self.intercept_init, planes[:, d])
        if not np.isfinite(planes).all():
            raise ValueError("coef_init and intercept_init must be finite numbers, or None to start from 0.")
        return planes


def _fill(name: str, value: Any, target: np.ndarray) -> None:
    """Write the value of a parameter into an array; None leaves it as it is."""
    if value is None:
        return
    try:
        target[...] = value
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} has shape {np.shape(value)}, which cannot be broadcast to {target.shape}, the shape that "
            "this problem requires; give numbers of that shape, or None."
        ) from error


def _choose_unit(rows: np.ndarray) -> float:
    """Return a unit in which products neither overflow nor underflow: 1, or a power of two near the largest cell."""
    peak = max(rows.max(), -rows.min())
    if peak == 0 or 1e-100 < peak < 1e100:
        return 1.0
    _, exponent = np.frexp(peak)
    return float(np.ldexp(1.0, exponent - 1))
