"""Base class of the classifier and the regressor: the parameters, the stored rows, and the search for neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.base.input_checks import check_path_values, with_input_tags
from bakeoff.learners.knn.brute_force import BruteForce, CachedSearch
from bakeoff.learners.knn.fit_metric import fit_metric, warn_of_power
from bakeoff.learners.knn.metrics import (
    METRICS,
    METRICS_OF_COLUMNS,
    SAMPLE_ROWS,
    are_plain_coordinates,
    copy_transposed,
    has_missing,
    name_metric,
)
from bakeoff.learners.knn.neighbor_searcher import MIN_BRUTE_FORCE_COLUMNS, NeighborSearcher, choose_algorithm
from bakeoff.learners.knn.ranking import (
    TIE_PRECISION,
    choose_ties,
    compute_vote_shares,
    count_rows_needed,
    select_sample_weights,
)


class KNeighborsBase(NeighborSearcher):
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

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), allow_nan=self._accepts_missing(), categorical=True)
