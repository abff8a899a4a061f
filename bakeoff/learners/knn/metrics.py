"""Metrics: coordinates of rows, and the distances between them.

A metric converts rows to coordinates, stored column by column in an array of shape (columns, rows), and measures the
distances between them in a unit in which the squares of differences neither overflow nor underflow. `fit_metric` fits
the metric that the parameters of k-NN select to the training rows: units, ranges, covariances.

For rows x and z with column weights w (1 by default) the p-norm distance is

    d(x, z) = (Σ_j w_j |x_j - z_j|^p)^(1/p),        at p = ∞ the largest w_j |x_j - z_j|,

where p = 1 is the Manhattan and p = 2 the Euclidean distance. In a nominal column the difference is 0 or 1. Gower is
the mean over columns of |x_j - z_j| / range_j and of nominal differences. Hamming is the fraction of columns that
differ. Mahalanobis √((x-z)ᵀ V⁻¹ (x-z)) is a Euclidean distance in other coordinates: with the Cholesky factorisation
V = LLᵀ of the covariance, Δᵀ V⁻¹ Δ = ‖L⁻¹ Δ‖², so rows are centred, scaled and multiplied by L⁻¹.

A column with a missing cell is excluded, and the sum is scaled up to all columns by Σ w / Σ_present w. The distance
between two rows without a common column is infinite.

Terms are added column by column, always in the same order, so that all searches compute bit-identical distances.

Cost: O(nd) to fit, for Mahalanobis O(nd² + d³); O(e) per pair of rows with e coordinates.

References
----------
J. C. Gower, "A general coefficient of similarity and some of its properties", Biometrics 27, 1971.
P. C. Mahalanobis, "On the generalised distance in statistics", Proceedings of the National Institute of Sciences of
India 2, 1936.
"""

from __future__ import annotations

import itertools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING


class Metric(ABC):
    """Abstract: coordinates of rows, and distances between them.

    Attributes
    ----------
    unit : float
        The factor by which the distances below must be multiplied: a power of two, 1 for ordinary data.
    """

    unit: float = 1.0

    def measure_magnitudes(self, Q: np.ndarray) -> np.ndarray:
        """Return the magnitude of queries Q (e, m), to which the rounding of their distances is relative: (m,).

        It is 0 where rounding is relative only to the distance.
        """
        return np.zeros(Q.shape[1])

    @abstractmethod
    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return the coordinates (e, m) of rows C (d, m), which may be overwritten.

        C contains the rows column by column; see `bakeoff.learners.knn.metrics.copy_transposed`.
        """

    @abstractmethod
    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (e, m) and T (e, n): shape (m, n).

        If ``missing`` is False, there is no NaN.
        """

    @abstractmethod
    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``."""


POWER_BY_METRIC = {
    "euclidean": 2.0,
    "l2": 2.0,
    "nan_euclidean": 2.0,
    "manhattan": 1.0,
    "l1": 1.0,
    "cityblock": 1.0,
    "chebyshev": np.inf,
    "linf": np.inf,
    "infinity": np.inf,
}
"""The p-norms that have names."""

METRIC_BY_POWER = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}
"""One name for each of them."""

METRICS_OF_COLUMNS = {*POWER_BY_METRIC, "minkowski", "p", "hamming", "gower"}
"""Metrics that are sums over columns, so that a column with a missing cell can be left out."""

METRICS = {*METRICS_OF_COLUMNS, "mahalanobis"}
"""All values of ``metric`` that are names."""


def name_metric(metric: str | Callable[..., float], p: float) -> str | Callable[..., float]:
    """Return the canonical name of a metric with several names, or the callable; p is the power of "minkowski"."""
    if callable(metric):
        return metric
    if metric in ("minkowski", "p"):
        return METRIC_BY_POWER.get(float(p), "minkowski")
    if metric in POWER_BY_METRIC:
        return METRIC_BY_POWER[POWER_BY_METRIC[metric]]
    return metric


MIN_ROWS_PER_TILE = 256
"""Minimum number of rows transposed at once."""

CELLS_PER_TILE = 2048
"""Number of cells transposed at once: tiles that fit into the cache are transposed twice as fast as the whole table."""


def copy_transposed(X: np.ndarray) -> np.ndarray:
    """Return a copy of a table X (m, d), column by column: shape (d, m)."""
    m, d = X.shape
    columns = np.empty((d, m))
    step = max(MIN_ROWS_PER_TILE, CELLS_PER_TILE // d)
    for start in range(0, m, step):
        columns[:, start : start + step] = X[start : start + step].T
    return columns


def has_missing(Z: np.ndarray) -> bool:
    """Return whether any cell is NaN."""
    return bool(Z.size) and bool(np.isnan(Z.min()))  # the minimum of NaN and any number is NaN


MIN_ORDINARY_SIZE = 1e-140
MAX_ORDINARY_SIZE = 1e150
"""Sizes between which the unit is 1."""

MAX_UNIT_EXPONENT = 1000
"""The largest unit, and the inverse of the smallest, is 2 to this power."""


def compute_half_ranges(C: np.ndarray) -> np.ndarray:
    """Return (largest - smallest) / 2 of each column of C (d, n): shape (d,), 0 for a column without values.

    Both values are halved before the subtraction, since the range itself may overflow.
    """
    largest = np.fmax.reduce(C, axis=1)  # (d,)
    smallest = np.fmin.reduce(C, axis=1)  # (d,)
    half = largest / 2 - smallest / 2
    return np.where(np.isnan(half), 0.0, half)


def choose_unit(size: float) -> float:
    """Return a unit in which the size has ordinary magnitude: a power of two, so that scaling by it is exact."""
    if size == 0 or MIN_ORDINARY_SIZE <= size <= MAX_ORDINARY_SIZE:
        return 1.0
    exponent = np.clip(np.frexp(size)[1], -MAX_UNIT_EXPONENT, MAX_UNIT_EXPONENT)
    return float(2.0**exponent)


SAMPLE_ROWS = 128
"""Number of rows in which a column that varies is expected to vary."""


def are_plain_coordinates(X: np.ndarray) -> bool:
    """Return whether the cells of X (n, d) are complete, and need neither a unit nor an offset."""
    total = float(np.einsum("ij,ij->", X, X))  # NaN if a cell is missing; otherwise a bound on every square
    if not total < MAX_ORDINARY_SIZE**2:
        return False
    ranges = np.ptp(X[:SAMPLE_ROWS], axis=0)  # (d,)
    return bool(ranges.min() > 2 * MIN_ORDINARY_SIZE)


MAX_COORDINATE = 1e150
"""The largest coordinate: its square, summed over columns, can still be represented as a float."""

CELLS_PER_PAIR_BLOCK = 2**15
"""Number of cells of pairs compared at once: 256 KiB."""


class MinkowskiMetric(Metric):
    """A p-norm over scaled columns, some of which may be nominal, possibly rotated.

    Parameters
    ----------
    p : float
        At least 1; may be infinite.
    columns : ndarray of shape (e,), int
        The columns of X that the distance uses.
    nominal : ndarray of shape (e,), bool
    factor : ndarray of shape (e,)
        The multiplier of a difference in each column.
    column_weight : ndarray of shape (e,)
        The weight of each column in the scaling for missing cells, and in the mean.
    offset : ndarray of shape (e,), optional
        Subtracted before scaling.
    rotation : ndarray of shape (e, e), optional
        Multiplies the scaled row from the left.
    mean : bool
        Whether to divide the sum by the sum of the column weights.
    unit : float
    """

    def __init__(
        self,
        p: float,
        columns: np.ndarray,
        nominal: np.ndarray,
        factor: np.ndarray,
        column_weight: np.ndarray,
        *,
        offset: np.ndarray | None = None,
        rotation: np.ndarray | None = None,
        mean: bool = False,
        unit: float = 1.0,
    ) -> None:
        self.p = p
        self.columns = columns
        self.nominal = nominal
        self.factor = factor
        self.column_weight = column_weight
        self.offset = np.zeros(columns.size) if offset is None else offset
        self.rotation = rotation
        self.mean = mean
        self.unit = unit
        self._scale = np.where(nominal, 1.0, factor)  # codes are compared, not measured
        # Checked once here, because every table of queries uses it.
        self._has_scale = bool((self._scale != 1).any())
        self._has_offset = bool(self.offset.any())
        self._has_nominal = bool(nominal.any())

    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return the coordinates (e, m) of rows C (d, m), which may be overwritten.

        Raises
        ------
        ValueError
            If a cell is so large that its square overflows.
        """
        Z = C if self.columns.size == C.shape[0] else C[self.columns]  # (e, m)
        with np.errstate(over="ignore"):
            if self._has_offset:
                Z -= self.offset[:, None]
            if self._has_scale:
                Z *= self._scale[:, None]
        if self.rotation is not None:
            # Compute column by column: the last bits of a matrix product would depend on the number of rows.
            Z = np.stack([_combine_columns(coefficients, Z) for coefficients in self.rotation])
        self._check_coordinates(Z)
        return Z

    def _check_coordinates(self, Z: np.ndarray) -> None:
        measured = Z[~self.nominal] if self._has_nominal else Z
        largest = np.fmax.reduce(measured, axis=None, initial=0.0)
        smallest = np.fmin.reduce(measured, axis=None, initial=0.0)
        if max(largest, -smallest) > MAX_COORDINATE:
            raise ValueError(
                f"X has values more than {MAX_COORDINATE:g} times as large as the differences between training rows: "
                "no distance can be computed from them; correct or drop those rows."
            )

    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (e, m) and T (e, n): shape (m, n)."""

        def subtract_column(j: int) -> np.ndarray:
            queries = Q[j][:, None]  # (m, 1)
            rows = T[j][None, :]  # (1, n)
            return self._subtract_cells(j, queries, rows, missing)

        return self.compute_norm(subtract_column, missing=missing)

    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``."""
        if self.p == 2 and not (missing or self.mean or self._has_nominal):
            return _measure_euclidean_pairs(Q, query, T, row)

        def subtract_column(j: int) -> np.ndarray:
            return self._subtract_cells(j, Q[j][query], T[j][row], missing)

        return self.compute_norm(subtract_column, missing=missing)

    def measure_magnitudes(self, Q: np.ndarray) -> np.ndarray:
        """Return the distances of queries Q (e, m) from the origin, without nominal and missing cells: (m,)."""

        def read_column(j: int) -> np.ndarray:
            if self.nominal[j]:
                return np.zeros(Q.shape[1])
            return np.nan_to_num(Q[j])

        return self.compute_norm(read_column)

    def compute_norm(self, subtract_column: Callable[[int], np.ndarray], *, missing: bool = False) -> np.ndarray:
        """Return the norm of differences.

        Parameters
        ----------
        subtract_column : callable
            Maps j in 0..e-1 to a new array of differences in column j, with NaN where a cell is missing.
        missing : bool
            Whether NaN may occur.
        """
        if self.p == 2:
            total = self._sum_powers(subtract_column, self.p, missing)
            return np.sqrt(total, out=total)
        if self.p in (1.0, np.inf):
            return self._sum_powers(subtract_column, self.p, missing)

        # |x|^p may exceed the range of floats, so differences are divided by the largest one first.
        largest = self._sum_powers(subtract_column, np.inf, missing)
        divisible = (largest > 0) & np.isfinite(largest)
        divisor = np.where(divisible, largest, 1.0)
        total = self._sum_powers(lambda j: subtract_column(j) / divisor, self.p, missing)
        return divisor * total ** (1 / self.p)

    def _subtract_cells(self, j: int, a: np.ndarray, b: np.ndarray, missing: bool) -> np.ndarray:
        """Return the differences between cells a and b of column j; in a nominal column they are 0 or its factor."""
        if not self.nominal[j]:
            return a - b
        difference = (a != b) * self.factor[j]
        if missing:
            absent = np.isnan(a) | np.isnan(b)
            difference[absent] = np.nan
        return difference

    def _sum_powers(self, subtract_column: Callable[[int], np.ndarray], p: float, missing: bool) -> np.ndarray:
        """Return Σ_j |difference_j|^p, scaled up for missing cells and divided for a mean; the largest one at p = ∞."""
        accumulate = np.maximum if p == np.inf else np.add
        total: np.ndarray | None = None
        present_weight: Any = 0.0  # of the columns without a missing cell, for each pair
        whole_weight = 0.0
        for j, weight in enumerate(self.column_weight.tolist()):
            term = subtract_column(j)
            whole_weight += weight
            if missing:
                absent = np.isnan(term)
                term[absent] = 0.0
                present_weight = present_weight + weight * ~absent
            _raise_magnitudes(term, p)
            total = term if total is None else accumulate(total, term, out=total)
        assert total is not None  # a metric has at least one column
        # Missing columns are assumed to differ as much as the present ones.
        if missing:
            comparable = present_weight > 0
            if p != np.inf:
                total *= whole_weight / np.where(comparable, present_weight, 1.0)
            total = np.where(comparable, total, np.inf)
        return total / whole_weight if self.mean else total


def _raise_magnitudes(term: np.ndarray, p: float) -> None:
    """Replace differences by |difference|^p, or by |difference| at p = ∞."""
    if p == 2:
        np.square(term, out=term)
        return
    np.abs(term, out=term)
    if p not in (1.0, np.inf):
        term **= p


def _measure_euclidean_pairs(Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the same as `MinkowskiMetric.compute_norm`, with fewer calls.

    A sum over the first axis adds column by column. Summation differs for a single pair, so the distance is computed
    for two copies of it.
    """
    size = query.size
    if size == 1:
        query = np.repeat(query, 2)
        row = np.repeat(row, 2)
    squares = np.empty(query.size)  # of the distances
    stored_by_column = T.flags.c_contiguous
    step = max(2, CELLS_PER_PAIR_BLOCK // Q.shape[0])
    edges = [*range(0, query.size - 1, step), query.size]  # no block has a single pair
    for start, stop in itertools.pairwise(edges):
        # A table that is stored row by row is read row by row: `take` would copy it.
        chosen = row[start:stop]
        difference = T.take(chosen, axis=1) if stored_by_column else T.T[chosen].T.copy()  # (e, pairs)
        difference -= Q.take(query[start:stop], axis=1)
        np.square(difference, out=difference)
        np.add.reduce(difference, axis=0, out=squares[start:stop])
    return np.sqrt(squares[:size], out=squares[:size])


def _combine_columns(coefficients: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return Σ_j c_j Z_j for coefficients c (e,) and columns Z (e, m): shape (m,)."""
    total = np.zeros(Z.shape[1])
    for coefficient, column in zip(coefficients.tolist(), Z, strict=True):
        if coefficient:
            total += coefficient * column
    return total


class CallableMetric(Metric):
    """A metric that is computed by a function of two rows, with nominal cells as codes.

    Only brute force can use it, with one call for each pair: all other searches rely on properties of the metric.

    Parameters
    ----------
    function : callable
        Maps two arrays of shape (d,) to a nonnegative number.
    parameters : dict
        Additional keyword arguments of the function.
    """

    def __init__(self, function: Callable[..., float], parameters: dict[str, Any]) -> None:
        self.function = function
        self.parameters = parameters

    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return C (d, m) itself."""
        return C

    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (d, m) and T (d, n): shape (m, n)."""
        m = Q.shape[1]
        n = T.shape[1]
        query, row = np.divmod(np.arange(m * n), n)
        return self.measure_pairs(Q, query, T, row, missing=missing).reshape(m, n)

    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``.

        Raises
        ------
        ValueError
            If the function returns NaN or a negative number.
        """
        queries = np.ascontiguousarray(Q.T)  # (m, d)
        rows = np.ascontiguousarray(T.T)  # (n, d)
        pairs = zip(query.tolist(), row.tolist(), strict=True)
        values = (self.function(queries[i], rows[j], **self.parameters) for i, j in pairs)
        distance = np.fromiter(values, dtype=np.float64, count=query.size)
        valid = distance >= 0
        if not valid.all():
            wrong = distance[~valid][0]
            raise ValueError(f"metric: the callable returned {wrong} for two rows; a distance must be non-negative.")
        return distance


MIN_HALF_RANGE = 1e-300
"""A column with a smaller range counts as constant, since the inverse of its range may not be a float."""

MIN_RELATIVE_HALF_RANGE = RELATIVE_CELL_ROUNDING
"""A column with a smaller range, relative to its cells, counts as constant: its cells differ only by rounding."""

PARAMETERS_BY_METRIC = {
    "mahalanobis": frozenset({"V", "VI"}),
    "minkowski": frozenset({"p", "w"}),
    "p": frozenset({"p", "w"}),
}
TAKES_BY_METRIC = {
    "mahalanobis": "either V or VI",
    "minkowski": "w, the weights of the columns, and p",
    "p": "w, the weights of the columns, and p",
}


def fit_metric(
    C: np.ndarray,
    nominal: np.ndarray,
    metric: Any,
    p: float,
    metric_params: dict[str, Any] | None,
    feature_weights: Any,
) -> Metric:
    """Return the metric selected by the parameters, fitted to the training rows.

    Parameters
    ----------
    C : ndarray of shape (d, n)
        The training rows, column by column.
    nominal : ndarray of shape (d,), bool
    metric : str or callable
    p : float
        The power of ``metric="minkowski"``.
    metric_params : dict or None
        V or VI of Mahalanobis, w or p of Minkowski, or keyword arguments of a callable.
    feature_weights : array-like of shape (d,) or None

    Raises
    ------
    ValueError
        If a parameter does not fit the metric or the columns.
    """
    given = dict(metric_params or {})
    _check_metric_params(metric, given)
    if callable(metric) or metric == "mahalanobis":
        if feature_weights is not None:
            raise ValueError(f"feature_weights has no meaning for metric={metric!r}; scale the columns, or pass None.")
        if callable(metric):
            return CallableMetric(metric, given)
        return _fit_mahalanobis(C, nominal, given)

    p = given.get("p", p)
    if p < 1:
        raise ValueError(f"metric_params={{'p': {p}}} must be at least 1: below 1, a p-norm is not a metric.")
    feature_weights = _choose_weights(feature_weights, given)
    # A column of weight 0 is excluded: its cells are not even compared.
    weight = _check_feature_weights(feature_weights, C.shape[0])  # (d,)
    columns = np.flatnonzero(weight)  # (e,)
    if columns.size < C.shape[0]:
        C = C[columns]
        nominal = nominal[columns]
        weight = weight[columns]
    if metric == "hamming":
        return _fit_hamming(columns, weight)
    if metric == "gower":
        return _fit_gower(C, columns, nominal, weight)
    power = POWER_BY_METRIC.get(metric, float(p))
    return _fit_p_norm(power, C, columns, nominal, weight)


def warn_of_power(metric: Any, metric_params: dict[str, Any] | None) -> None:
    """Warn if a power is given twice."""
    if metric in ("minkowski", "p") and "p" in (metric_params or {}):
        message = "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored."
        warnings.warn(message, SyntaxWarning, stacklevel=4)


def _check_metric_params(metric: Any, given: dict[str, Any]) -> None:
    if callable(metric):
        return
    allowed = PARAMETERS_BY_METRIC.get(metric, frozenset())
    is_ambiguous = set(given) == {"V", "VI"}
    if not set(given) <= allowed or is_ambiguous:
        takes = TAKES_BY_METRIC.get(metric, "none (use feature_weights to weight columns)")
        raise ValueError(f"metric_params has the keys {sorted(given)}, but metric={metric!r} accepts {takes}.")


def _choose_weights(feature_weights: Any, given: dict[str, Any]) -> Any:
    """Return the weights of the columns, from one of the two parameters that set them."""
    if "w" not in given:
        return feature_weights
    if feature_weights is not None:
        raise ValueError("feature_weights and metric_params={'w': …} both set the weights; give only one of them.")
    return given["w"]


def _find_varying(C: np.ndarray) -> np.ndarray:
    """Return whether each column of C (e, n) varies by more than the rounding of its cells: shape (e,)."""
    half = compute_half_ranges(C)
    size = np.fmax.reduce(np.abs(C), axis=1)  # (e,), NaN for a column without values
    return half > np.maximum(MIN_HALF_RANGE, MIN_RELATIVE_HALF_RANGE * np.nan_to_num(size, nan=0.0))


def _check_feature_weights(feature_weights: Any, d: int) -> np.ndarray:
    """Return the weight of each column: shape (d,)."""
    if feature_weights is None:
        return np.ones(d)
    weight = np.asarray(feature_weights, dtype=np.float64)
    if weight.shape != (d,):
        raise ValueError(
            f"feature_weights has shape {weight.shape}, but X has {d} features: give one weight for each feature."
        )
    valid = np.isfinite(weight) & (weight >= 0)
    if not valid.all() or not weight.any():
        raise ValueError("feature_weights must be finite and non-negative, with at least one above 0.")
    return weight


def _fit_hamming(columns: np.ndarray, weight: np.ndarray) -> MinkowskiMetric:
    """Return the weighted fraction of columns that differ."""
    all_nominal = np.ones(columns.size, dtype=bool)
    return MinkowskiMetric(1.0, columns, all_nominal, weight, weight, mean=True)


def _fit_gower(C: np.ndarray, columns: np.ndarray, nominal: np.ndarray, weight: np.ndarray) -> MinkowskiMetric:
    """Return the weighted mean of |difference| / range and of nominal differences."""
    factor = np.where(nominal, weight, weight * _invert_ranges(C))  # (e,)
    return MinkowskiMetric(1.0, columns, nominal, factor, weight, mean=True)


def _invert_ranges(C: np.ndarray) -> np.ndarray:
    """Return 1 / range of each column of C (e, n): shape (e,), 0 for a constant column, in which no rows differ."""
    half = compute_half_ranges(C)
    varies = _find_varying(C)
    divisor = np.where(varies, half, 1.0)
    return np.where(varies, 0.5 / divisor, 0.0)


def _fit_p_norm(
    p: float, C: np.ndarray, columns: np.ndarray, nominal: np.ndarray, weight: np.ndarray
) -> MinkowskiMetric:
    """Return the weighted p-norm, in a unit in which the squares of ordinary differences can be represented."""
    factor = weight if p == np.inf else weight ** (1 / p)  # (e,)
    half = np.where(nominal, 1.0, compute_half_ranges(C))  # (e,)
    unit = choose_unit(float((half * factor).max()))

    # Only differences matter, so a constant column may be shifted to 0. Otherwise, a value of 1e200 in it would
    # dominate.
    constant = (half == 0) & ~np.isnan(C[:, 0])
    offset = np.where(constant, C[:, 0], 0.0)
    return MinkowskiMetric(p, columns, nominal, factor / unit, weight, offset=offset, unit=unit)


MIN_UNEXPLAINED_VARIANCE = 1e-13
"""The smallest fraction of a column's variance that the columns before it may leave unexplained."""

MAX_ASYMMETRY = 1e-8
"""The largest difference of the two halves of a covariance that counts as rounding, as a correlation."""


def _fit_mahalanobis(C: np.ndarray, nominal: np.ndarray, given: dict[str, Any]) -> MinkowskiMetric:
    """Return the Mahalanobis distance with a given covariance or that of the training rows.

    Parameters
    ----------
    C : ndarray of shape (d, n)
        The training rows, column by column.
    nominal : ndarray of shape (d,), bool
    given : dict
        V (the covariance), VI (its inverse), or nothing.

    Raises
    ------
    ValueError
        If there are nominal columns or only one row, or the matrix is not a covariance or has no inverse.
    """
    d, n = C.shape
    if nominal.any():
        raise ValueError("metric='mahalanobis' supports numbers only, but X has nominal columns; use metric='gower'.")
    if given:
        scale = np.ones(d)
        rounding = np.zeros(d)
        V = _check_covariance(next(iter(given.values())), d)
    else:
        # The unit of a column cancels out, so each is scaled to a size whose square can be represented.
        half_ranges = compute_half_ranges(C)
        scale = np.array([1 / choose_unit(half) for half in half_ranges.tolist()])  # (d,)
        V = _estimate_covariance(C, scale)
        rounding = (RELATIVE_CELL_ROUNDING * np.abs(C).max(axis=1) * scale) ** 2  # (d,), as a variance

    lower = _factor_covariance(V, rounding)
    rotation = lower.T if "VI" in given else np.linalg.inv(lower)
    centre = (C / n).sum(axis=1)  # (d,)
    return MinkowskiMetric(2.0, np.arange(d), nominal, scale, np.ones(d), offset=centre, rotation=rotation)


def _check_covariance(V: Any, d: int) -> np.ndarray:
    V = np.asarray(V, dtype=np.float64)
    valid = V.shape == (d, d) and np.isfinite(V).all()
    if not valid or not _is_symmetric(V):
        raise ValueError(
            f"metric_params: V or VI must be a finite symmetric matrix of shape ({d}, {d}); got shape {V.shape}."
        )
    return V


def _is_symmetric(V: np.ndarray) -> bool:
    """Return whether both halves of V (d, d) agree, relative to the deviations of the two columns of each entry."""
    deviation = np.sqrt(np.abs(np.diag(V)))  # (d,)
    return bool((np.abs(V - V.T) <= MAX_ASYMMETRY * np.outer(deviation, deviation)).all())


def _estimate_covariance(C: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the sample covariance, with divisor n - 1, of rows C (d, n) after scaling: shape (d, d)."""
    if C.shape[1] < 2:
        raise ValueError(
            "metric='mahalanobis' estimates the covariance from at least 2 rows, but training has 1 sample; give V."
        )
    scaled = C * scale[:, None]  # (d, n)
    return np.atleast_2d(np.cov(scaled, ddof=1))


def _factor_covariance(V: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Return the lower triangular L with V = LLᵀ: shape (d, d), given the rounding error of each variance (d,)."""
    try:
        lower = np.linalg.cholesky(V)
    except np.linalg.LinAlgError:
        lower = np.zeros_like(V)

    # The squared pivot is the part of the column's variance that is not explained by the columns before it.
    unexplained = np.square(np.diag(lower))  # (d,)
    if not (unexplained > MIN_UNEXPLAINED_VARIANCE * np.diag(V) + len(V) * rounding).all():
        raise ValueError(
            "metric='mahalanobis': the covariance V is singular or not positive definite (constant or collinear "
            "columns, or fewer rows than columns); drop such columns or give metric_params={'V': ...}."
        )
    return lower
