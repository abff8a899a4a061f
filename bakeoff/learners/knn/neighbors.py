"""k nearest neighbours: the majority class, or the mean target, of the k training rows nearest to the query.

    N(q) = the k rows with the smallest d(q, x_i);    ŷ(q) = argmax_c Σ_{i ∈ N(q)} v_i [y_i = c],  or  Σ v_i y_i / Σ v_i

with votes v (`bakeoff.learners.knn.ranking`) and distance d (`bakeoff.learners.knn.metrics`). This is a lazy learner:
``fit`` only stores the rows, possibly in a tree. With k = n it is the global method, in which every row votes.

`bakeoff.learners.definitions.k_nearest_neighbors` states the algorithm. This implementation finds the same neighbours
faster: it searches for many queries at once, and computes exact distances only for candidates, which a float32 matrix
product or a kd-tree selects (`bakeoff.learners.knn.searchers`).

Locally weighted linear regression fits a least-squares plane to the neighbours of each query:

    minimise over a, b:  Σ_i v_i (y_i - a - b·(x_i - q))²,        the prediction at q is a

Relative to the weighted means, the plane is ȳ + b·(x - x̄), evaluated at q. Among all solutions b, the one of minimum
norm is used, with columns scaled by their spread among the neighbours, so that a plane also exists for few or collinear
neighbours. With a single neighbour, the prediction is its target.

Cost of m queries: O(mnd) by brute force, about O(md log n) by a kd-tree in few dimensions; planes take
O(m k d min(k, d)).

References
----------
T. Cover and P. Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information Theory 13, 1967.
T. M. Cover, "Estimation by the nearest neighbor rule", IEEE Transactions on Information Theory 14, 1968.
W. S. Cleveland and S. J. Devlin, "Locally weighted regression", JASA 83, 1988.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.base.estimator import Learner, ProbabilisticClassifier, Regressor
from bakeoff.learners.base.input_checks import check_path_values, with_input_tags
from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING
from bakeoff.learners.knn.metrics import (
    METRICS,
    METRICS_OF_COLUMNS,
    SAMPLE_ROWS,
    are_plain_coordinates,
    copy_transposed,
    fit_metric,
    has_missing,
    name_metric,
    warn_of_power,
)
from bakeoff.learners.knn.ranking import (
    TIE_PRECISION,
    choose_ties,
    compute_vote_shares,
    count_rows_needed,
    describe_too_few_rows,
    select_sample_weights,
)
from bakeoff.learners.knn.searchers import (
    MIN_BRUTE_FORCE_COLUMNS,
    BruteForce,
    CachedSearch,
    choose_algorithm,
)


class KNeighborsBase(Learner):
    """Abstract: stores training rows and finds those nearest to a query.

    The parameters are those of `KNeighborsClassifier`. A subclass calls `_store_rows` in ``fit`` and predicts from
    `_iterate_votes`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "distance", "gaussian"}), callable],
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
        "algorithm": [StrOptions({"auto", "ball_tree", "brute", "kd_tree"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(METRICS), callable],
        "p": [Interval(Real, 1, None, closed="both")],
        "metric_params": [dict, None],
        "feature_weights": ["array-like", None],
        "ties": [StrOptions({"auto", "first", "all", "random"})],
        "missing": [StrOptions({"ignore", "error"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    path_parameters: ClassVar[tuple[str, ...]] = ("n_neighbors",)
    row_bounded_parameters: ClassVar[tuple[str, ...]] = ("n_neighbors",)

    n_neighbors: int
    weights: str | Callable[[np.ndarray], Any]
    bandwidth: float
    algorithm: str
    leaf_size: int
    metric: str | Callable[..., float]
    p: float
    metric_params: dict[str, Any] | None
    feature_weights: Any
    ties: str
    missing: str
    categorical_features: Any
    random_state: Any

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit once for many numbers of neighbours, which share one search (see `input_checks`)."""
        values = check_path_values(self, parameter, values)
        # The neighbours for the largest number contain those for all smaller ones.
        largest = clone(self).set_params(n_neighbors=max(values))
        largest.fit(X, y, sample_weight)
        max_k = largest._count_rows_needed(max(values))
        largest._search = CachedSearch(largest._search, max_k)
        for k in values:
            fitted = copy(largest)
            fitted.n_neighbors = k
            yield fitted

    def _store_rows(self, X: np.ndarray, weight: np.ndarray, sample_weight: Any) -> np.ndarray | slice:
        """Store rows X (n, d) and their weights.

        Returns
        -------
        ndarray of shape (n,), int, or slice
            The order in which the rows are stored, as an index.
        """
        self.n_samples_fit_ = X.shape[0]
        self.effective_metric_ = name_metric(self.metric, self.p)
        warn_of_power(self.metric, self.metric_params)
        keeps_cells = self._can_keep_cells(X)
        if not keeps_cells:
            self._check_cells(X)
        order = self._choose_order()
        self._store_positions(sample_weight, order)
        self._store_weights(weight[order])
        self._count_rows_needed(self.n_neighbors)  # raises an error if there are too few rows
        self._build_search(X[order], keeps_cells)
        self.ties_ = choose_ties(self.ties, self._fitted_metric, any_nominal=self._any_nominal)
        return order

    def _choose_order(self) -> np.ndarray | slice:
        """Return the order of the rows; among equally distant rows, the first counts as the nearest."""
        if self.ties == "random":
            return check_random_state(self.random_state).permutation(self.n_samples_fit_)
        return slice(None)

    def _store_positions(self, sample_weight: Any, order: np.ndarray | slice) -> None:
        """Store the positions, in the table passed to ``fit``, of the rows with positive weight."""
        given = np.asarray(1.0 if sample_weight is None else sample_weight)
        positions = np.flatnonzero(given) if given.ndim else np.arange(self.n_samples_fit_)
        self._row_positions = positions[order]  # (n,)

    def _store_weights(self, weight: np.ndarray) -> None:
        self._weight = weight  # (n,)
        self._unit_weights = bool((weight == 1.0).all())  # then the weight of k rows is k
        if self._unit_weights:
            self._cumulative_weight = np.arange(1.0, weight.size + 1.0)  # (n,)
        else:
            self._cumulative_weight = np.cumsum(np.sort(weight))  # (n,), starting with the smallest weights

    def _can_keep_cells(self, X: np.ndarray) -> bool:
        """Return whether brute force can use the cells of X (n, d) as coordinates, so that no copy is needed."""
        if self.effective_metric_ != "euclidean" or self.algorithm not in ("auto", "brute"):
            return False
        if self._any_nominal or self.metric_params or self.feature_weights is not None:
            return False
        return X.shape[1] >= MIN_BRUTE_FORCE_COLUMNS and are_plain_coordinates(X)

    def _build_search(self, X: np.ndarray, keeps_cells: bool) -> None:
        nominal = np.array([values is not None for values in self.categories_])  # (d,)
        # A Euclidean metric in which the cells are the coordinates is the same for all rows and for the first ones.
        columns = X[:SAMPLE_ROWS].T if keeps_cells else copy_transposed(X)  # (d, n)
        self._fitted_metric = fit_metric(
            columns, nominal, self.metric, self.p, self.metric_params, self.feature_weights
        )
        T = X.T if keeps_cells else self._fitted_metric.compute_coordinates(columns)  # (e, n)
        self._search = choose_algorithm(self._fitted_metric, T, self.algorithm, self.leaf_size, self.metric)
        self._fit_method = "brute" if isinstance(self._search, BruteForce) else "kd_tree"  # scikit-learn's name

    def _iterate_votes(self, X: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Search for the neighbours of checked queries X (m, d), block by block.

        Yields
        ------
        start : int
            The block's first query.
        rows : ndarray of shape (block, K), int
            Each query's neighbours among the stored rows.
        share : ndarray of shape (block, K)
            Each neighbour's share of the vote.
        """
        whole_ties = self.ties_ == "all"
        needed = self._count_rows_needed(self.n_neighbors)
        Q = self._compute_coordinates(X)  # (e, m)
        for start, rows, distance in self._search_in_blocks(Q, needed, whole_ties=whole_ties):
            # Without ties and sample weights, exactly k neighbours of weight 1 were found.
            if self._unit_weights and not whole_ties:
                if self.weights == "uniform":
                    yield start, rows, np.full(rows.shape, 1.0 / needed)
                    continue
                sample_weight = np.ones(rows.shape)
            else:
                k = self.n_neighbors
                block = Q[:, start : start + rows.shape[0]]
                slack = self._measure_slack(block) if whole_ties else None  # (block,)
                sample_weight = select_sample_weights(rows, distance, self._weight, k, slack)
            share = compute_vote_shares(distance, sample_weight, self.weights, self.bandwidth)
            yield start, rows, share

    def _measure_slack(self, Q: np.ndarray) -> np.ndarray:
        """Bound the rounding error of the distances from queries Q (e, m): (m,)."""
        return self._fitted_metric.measure_magnitudes(Q) * (TIE_PRECISION * self._fitted_metric.unit)

    def _count_rows_needed(self, k: int) -> int:
        """Return a row count large enough to guarantee a total weight of at least k."""
        if self._unit_weights and k <= self.n_samples_fit_:
            return k
        return count_rows_needed(k, self._cumulative_weight)

    def _check_cells(self, X: np.ndarray) -> None:
        if not has_missing(X):
            return
        if not self._accepts_missing():
            raise ValueError(
                f"X contains NaN in nominal columns, which {type(self).__name__} with missing={self.missing!r}, "
                f"metric={self.metric!r} and algorithm={self.algorithm!r} does not accept; impute those cells."
            )
        empty = np.flatnonzero(np.isnan(X).all(axis=1))
        if empty.size:
            raise ValueError(
                f"X has rows in which all values are missing (the first: {empty[0]}), which have no neighbours; "
                "drop them."
            )

    def _accepts_missing(self) -> bool:
        """Return whether the parameters allow missing cells."""
        leaves_columns_out = isinstance(self.metric, str) and self.metric in METRICS_OF_COLUMNS
        takes_missing = leaves_columns_out and self.algorithm in ("auto", "brute")
        return self.missing == "ignore" and takes_missing

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest training rows.

        Parameters
        ----------
        X : array-like of shape (m, d), optional
            By default the training rows, in which case a row is not its own neighbour.
        n_neighbors : int, optional
            By default the parameter of the learner. Here it counts rows, not their weight.
        return_distance : bool

        Returns
        -------
        distance : ndarray of shape (m, n_neighbors)
            Nondecreasing along each row; only if ``return_distance``.
        index : ndarray of shape (m, n_neighbors), int
            Positions in the table given to ``fit``.

        Raises
        ------
        ValueError
            If ``n_neighbors`` is below 1 or exceeds the number of training rows (without X: of other training rows).
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        most = self.n_samples_fit_ - (X is None)
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"n_neighbors={k!r} must be an integer from 1 to {most}.")
        if k > most:
            raise ValueError(describe_too_few_rows(int(k), self.n_samples_fit_, most))
        if X is None:
            rows, distance = self._find_own_neighbors(int(k))
        else:
            Q = self._compute_coordinates(self._check_query(X))
            rows, distance = self._find_neighbors(Q, int(k))
        index = self._row_positions[rows]
        return (distance, index) if return_distance else index

    def _compute_coordinates(self, X: np.ndarray) -> np.ndarray:
        """Return the coordinates (e, m) of checked rows X (m, d)."""
        self._check_cells(X)
        return self._fitted_metric.compute_coordinates(copy_transposed(X))

    def _search_in_blocks(
        self, Q: np.ndarray, k: int, *, whole_ties: bool
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield the first query, the rows and the distances of each block of queries Q (e, m)."""
        unit = self._fitted_metric.unit
        step = self._search.choose_block_size(whole_ties=whole_ties)
        for start in range(0, Q.shape[1], step):
            block = Q[:, start : start + step]
            rows, distance = self._search.find_nearest(block, k, whole_ties=whole_ties)
            if unit != 1.0:
                with np.errstate(over="ignore"):  # a distance above 1.8e308 becomes infinite
                    distance = distance * unit
            yield start, rows, distance

    def _find_neighbors(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest stored rows of queries Q (e, m), and their distances, both of shape (m, k)."""
        rows = [np.empty((0, k), dtype=np.intp)]
        distances = [np.empty((0, k))]
        for _, block_rows, block_distances in self._search_in_blocks(Q, k, whole_ties=False):
            rows.append(block_rows)
            distances.append(block_distances)
        return np.concatenate(rows), np.concatenate(distances)

    def _find_own_neighbors(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest other rows of each stored row, in the order of the table passed to ``fit``: (n, k)."""
        rows, distance = self._find_neighbors(self._search.T, k + 1)
        rows, distance = drop_self_neighbors(rows, distance)
        as_given = np.argsort(self._row_positions)
        return rows[as_given], distance[as_given]

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), allow_nan=self._accepts_missing(), categorical=True)


def drop_self_neighbors(rows: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop each stored row from its own neighbours.

    Parameters
    ----------
    rows, distance : ndarrays of shape (n, k + 1)
        The neighbours of the stored rows, in the order of these rows. If more than k rows are equal to a row, it may
        not be among its own neighbours; in that case its last neighbour is dropped.

    Returns
    -------
    rows, distance : ndarrays of shape (n, k)
    """
    n = rows.shape[0]
    others = rows != np.arange(n)[:, None]  # (n, k + 1)
    lacks_itself = others.all(axis=1)
    others[lacks_itself, -1] = False
    rows = rows[others].reshape(n, -1)
    distance = distance[others].reshape(n, -1)
    return rows, distance


class KNeighborsClassifier(ProbabilisticClassifier, KNeighborsBase):
    """Predict the majority class of the k nearest training rows (ties: the smallest class).

    Parameters
    ----------
    n_neighbors : int
        k. With ``sample_weight``, it is a weight: neighbours are added until their total weight is k.
    weights : {"uniform", "distance", "gaussian"} or callable
        The weight of a vote: 1; 1/d, with which only exact matches vote if there are any; exp(-d²/2h²) with the
        bandwidth h; or a function from an array of distances to an array of the same shape.
    bandwidth : float
        h of ``weights="gaussian"``, in the unit of the distances.
    algorithm : {"auto", "ball_tree", "brute", "kd_tree"}
        All algorithms find the same neighbours. ``"kd_tree"`` is SciPy's and requires complete numeric columns;
        ``"auto"`` uses it in few dimensions and brute force otherwise. ``"ball_tree"`` builds no ball tree: it is the
        kd-tree for p-norms of complete numeric columns, and brute force for other metrics; those without the triangle
        inequality are refused.
    leaf_size : int
        The maximum number of rows in a leaf of a tree.
    metric : str or callable
        "minkowski" or "p", "euclidean" or "l2", "manhattan", "l1" or "cityblock", "chebyshev", "linf" or "infinity",
        "mahalanobis", "hamming", "gower": see `bakeoff.learners.knn.metrics`. "nan_euclidean" is "euclidean",
        since a column with a missing cell is left out of every p-norm. A callable receives two rows, with nominal cells
        as codes, and returns their distance. `sklearn_knn` has further metrics.
    p : float
        The power of ``metric="minkowski"``, at least 1; ``inf`` is the largest difference.
    metric_params : dict or None
        ``V`` (the covariance) or ``VI`` (its inverse) of ``metric="mahalanobis"``, which is estimated from the training
        rows, with divisor n - 1, if neither is given; ``w`` (the same as ``feature_weights``) and ``p`` of
        "minkowski"; or keyword arguments of a callable metric.
    feature_weights : array-like of shape (d,) or None
        w_j, which multiplies the term of column j in the distance; 0 excludes the column. For p-norms, "hamming" and
        "gower".
    ties : {"auto", "first", "all", "random"}
        Which of several rows at the k-th distance are used: the first in the order of the training rows; all of them;
        or the first in a random order drawn in ``fit``. ``"auto"`` is ``"all"`` if a nominal column enters the
        distance, because many rows are then equally distant, else ``"first"``. With ``"all"``, distances are equal if
        they differ by at most 16 units in the last place (2⁻⁴⁸) of the distance plus the magnitude of the query, which
        is its distance from the origin after scaling: .1 and .3 are equally far from .2, despite rounding.
    missing : {"ignore", "error"}
        Whether to exclude a column with a missing cell from a distance, which is then scaled up to all columns, or to
        raise an error. Only p-norms, "hamming" and "gower" without a tree can leave columns out; all other searches
        raise the error.
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None
        The nominal columns, in which two values are equal (0) or different (1).
    random_state : int, RandomState or None
        The seed of ``ties="random"``.
    n_jobs : int or None
        Has no effect: the search runs in one process.
    class_order : array-like of the classes or None
        The order that breaks ties between classes with equal votes; by default the smallest class is predicted.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    n_samples_fit_ : int
        n, the number of rows with positive weight.
    effective_metric_ : str or callable
        The metric under its usual name.
    ties_ : {"first", "all", "random"}
        Which rows at the k-th distance are used.

    Notes
    -----
    ``n_neighbors``, ``weights`` and ``bandwidth`` may be changed after ``fit``. ``fit`` and ``predict`` raise
    ValueError if ``n_neighbors`` exceeds the number of training rows (or their total weight).

    The array X passed to ``fit`` must not be changed afterwards: brute force with Euclidean distances keeps a reference
    to an array of floats instead of a copy, as scikit-learn does. A model that is saved has its own copy.

    Examples
    --------
    >>> X = [[-1, 3], [2, 1], [-2, 2], [-1, 2], [-1, 0], [1, 1]]
    >>> y = ["red", "blue", "red", "blue", "blue", "red"]
    >>> KNeighborsClassifier(n_neighbors=3).fit(X, y).predict([[1, 2]])
    array(['blue'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KNeighborsBase._parameter_constraints,
        "class_order": ["array-like", None],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str | Callable[[np.ndarray], Any] = "uniform",
        bandwidth: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: str | Callable[..., float] = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        feature_weights: Any = None,
        ties: str = "auto",
        missing: str = "ignore",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
        class_order: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.feature_weights = feature_weights
        self.ties = ties
        self.missing = missing
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.class_order = class_order

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store the rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer rows than ``n_neighbors``, or parameters do not fit the columns.
        """
        X, codes, weight = self._check_fit(X, y, sample_weight)
        order = self._store_rows(X, weight, sample_weight)
        self._codes = codes[order]
        return self

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        c = self.classes_.size
        scores = np.empty((X.shape[0], c))  # (m, c)
        for start, rows, share in self._iterate_votes(X):
            block = rows.shape[0]
            # Pairs of query and class are numbered consecutively, so that one bincount sums all votes.
            query_and_class = self._codes.take(rows)  # (block, K)
            query_and_class += np.arange(0, block * c, c)[:, None]
            votes = np.bincount(query_and_class.ravel(), weights=share.ravel(), minlength=block * c)
            scores[start : start + block] = votes.reshape(block, c)
        return scores


MIN_RELATIVE_SPREAD = 1e-12
"""A column whose spread is a smaller fraction of its mean is constant up to rounding."""

MIN_RELATIVE_SINGULAR_VALUE = 1e-10
"""Directions with smaller singular values, relative to the largest, are left out of the plane.

So are directions of rounding: near neighbours far from zero vary by little more than the last digits of their cells.
"""


def predict_local_planes(Q: np.ndarray, X: np.ndarray, y: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Fit a plane for each query and evaluate it there.

    Parameters
    ----------
    Q : ndarray of shape (m, d)
    X : ndarray of shape (m, K, d)
        The neighbours' rows.
    y : ndarray of shape (m, K)
    share : ndarray of shape (m, K)
        Votes; each row sums to 1.

    Returns
    -------
    ndarray of shape (m,)
    """
    # Relative to the weighted means, the level and the slope of the plane can be computed separately.
    mean = (share[:, :, None] * X).sum(axis=1)  # (m, d)
    level = (share * y).sum(axis=1)  # (m,)
    offset = _centre_rows(X, mean, share)  # (m, K, d)
    # The rounding error of a constant column's mean must not become a direction of the plane.
    spread = np.abs(offset).max(axis=1)  # (m, d)
    varies = spread > MIN_RELATIVE_SPREAD * np.abs(mean)
    spread = np.where(varies, spread, 1.0)
    scaled = np.where(varies[:, None], offset / spread[:, None], 0.0)  # (m, K, d)
    rounding = RELATIVE_CELL_ROUNDING * np.abs(mean) / spread  # (m, d), the error of each mean, in units of spread
    least = np.sqrt((rounding**2).sum(axis=1, where=varies))  # (m,)
    slope = _fit_slopes(scaled, y - level[:, None], share, np.maximum(MIN_RELATIVE_SINGULAR_VALUE, least))  # (m, d)
    step = np.where(varies, (Q - mean) / spread, 0.0)  # (m, d)
    return level + (step * slope).sum(axis=1)


def _centre_rows(X: np.ndarray, mean: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return neighbours (m, K, d) relative to their weighted means (m, d); 0 for those without a vote (m, K)."""
    takes_part = share > 0  # (m, K)
    offset = (X - mean[:, None]) * takes_part[:, :, None]  # (m, K, d)
    # The rounding error of the mean would otherwise become a direction of the plane.
    rest = (share[:, :, None] * offset).sum(axis=1)  # (m, d)
    offset -= rest[:, None] * takes_part[:, :, None]
    return np.asarray(offset)


def _fit_slopes(rows: np.ndarray, y: np.ndarray, share: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return the slope of minimum norm, of shape (m, d), of y (m, K) on rows (m, K, d) with the votes (m, K).

    Singular values below ``least``, of shape (m,), relative to the largest, are left out.
    """
    # Weighted least squares is least squares on rows multiplied by the square roots of their weights.
    root = np.sqrt(share)  # (m, K)
    design = rows * root[:, :, None]  # (m, K, d)
    target = root * y  # (m, K)
    inverse = np.linalg.pinv(design, rcond=least)  # (m, d, K)
    slope: np.ndarray = (inverse @ target[:, :, None])[:, :, 0]
    return slope


class KNeighborsRegressor(Regressor, KNeighborsBase):
    """Predict the mean target of the k nearest training rows, or the value of a plane through them.

    Parameters
    ----------
    n_neighbors, weights, bandwidth, algorithm, leaf_size, metric, p, metric_params, feature_weights, ties, missing, \
categorical_features, random_state, n_jobs
        As in `KNeighborsClassifier`.
    regression : {"mean", "linear"}
        The mean of the targets, weighted by the votes (locally weighted regression); or the value at the query of the
        weighted least-squares plane through the neighbours (locally weighted linear regression), which requires
        complete numeric columns.

    Attributes
    ----------
    n_samples_fit_ : int
        n, the number of rows with positive weight.
    effective_metric_ : str or callable
    ties_ : {"first", "all", "random"}

    Notes
    -----
    The array X passed to ``fit`` must not be changed afterwards, as for `KNeighborsClassifier`.

    Examples
    --------
    >>> speed, distance = [[4], [8], [12], [16], [20]], [7.0, 16.0, 24.0, 36.0, 50.0]
    >>> KNeighborsRegressor(n_neighbors=2).fit(speed, distance).predict([[13]])
    array([30.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KNeighborsBase._parameter_constraints,
        "regression": [StrOptions({"mean", "linear"})],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str | Callable[[np.ndarray], Any] = "uniform",
        bandwidth: float = 1.0,
        regression: str = "mean",
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: str | Callable[..., float] = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        feature_weights: Any = None,
        ties: str = "auto",
        missing: str = "ignore",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.feature_weights = feature_weights
        self.ties = ties
        self.missing = missing
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.regression = regression

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store the rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer rows than ``n_neighbors``, or parameters do not fit the columns.
        """
        X, y, weight = self._check_fit(X, y, sample_weight)
        order = self._store_rows(X, weight, sample_weight)
        self._y = y[order]
        if self.regression == "linear":
            if any(values is not None for values in self.categories_):
                raise ValueError("regression='linear' supports numbers only, but X has nominal columns; use 'mean'.")
            self._X = np.array(X[order])  # a copy: X may be the caller's own array
        return self

    def _values(self, X: np.ndarray) -> np.ndarray:
        values = np.empty(X.shape[0])  # (m,)
        for start, rows, share in self._iterate_votes(X):
            block = slice(start, start + rows.shape[0])
            y = self._y[rows]  # (block, K)
            if self.regression == "linear":
                values[block] = predict_local_planes(X[block], self._X[rows], y, share)
            else:
                values[block] = _sum_by_query(share * y)
        return values

    def _accepts_missing(self) -> bool:
        return super()._accepts_missing() and self.regression == "mean"


def _sum_by_query(terms: np.ndarray) -> np.ndarray:
    """Return the sum of each row of terms (m, K), added from left to right for any K: shape (m,)."""
    m, width = terms.shape
    query = np.repeat(np.arange(m), width)
    return np.bincount(query, weights=terms.ravel(), minlength=m)
