"""Base class of the classifier and the regressor: the parameters, the stored rows, and the search for neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.base.estimator import Learner
from bakeoff.learners.base.paths import check_path_values
from bakeoff.learners.knn.graph import build_graph, drop_self_neighbors
from bakeoff.learners.knn.metric.coordinates import copy_transposed, has_missing
from bakeoff.learners.knn.metric.fit_metric import fit_metric
from bakeoff.learners.knn.metric.names import METRICS, name_metric
from bakeoff.learners.knn.sample_weight import count_rows_needed, describe_too_few_rows, select_sample_weights
from bakeoff.learners.knn.search.cached_search import CachedSearch
from bakeoff.learners.knn.search.choose_algorithm import choose_algorithm
from bakeoff.learners.knn.voting import compute_vote_shares


class KNeighborsBase(Learner):
    """Abstract: stored training rows, and the search for those nearest to a query.

    The parameters are those of `KNeighborsClassifier`. A subclass calls `_store_rows` in ``fit`` and predicts from
    `_iterate_votes`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "distance", "gaussian"}), callable],
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
        "algorithm": [StrOptions({"auto", "brute", "kd_tree"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(METRICS), callable],
        "p": [Interval(Real, 1, None, closed="both")],  # also rejects infinity
        "metric_params": [dict, None],
        "feature_weights": ["array-like", None],
        "ties": [StrOptions({"first", "all", "random"})],
        "missing": [StrOptions({"ignore", "error"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "random_state": ["random_state"],
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
        ties: str = "first",
        missing: str = "ignore",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
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
            Not decreasing along a row; only if ``return_distance``.
        index : ndarray of shape (m, n_neighbors), int
            Positions in the table given to ``fit``.

        Raises
        ------
        ValueError
            ``n_neighbors`` is below 1 or exceeds the number of training rows (without X: of other training rows).
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        most = self.n_samples_fit_ - (X is None)
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"n_neighbors is {k!r}; it must be an integer from 1 to {most}.")
        if k > most:
            raise ValueError(describe_too_few_rows(int(k), self.n_samples_fit_, most))
        if X is None:
            rows, distance = self._find_own_neighbors(int(k))
        else:
            Q = self._compute_coordinates(self._check_query(X))
            rows, distance = self._find_neighbors(Q, int(k))
        index = self._row_positions[rows]
        return (distance, index) if return_distance else index

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """Return the graph with an edge from each query to each of its nearest training rows.

        Parameters
        ----------
        X, n_neighbors
            As in `kneighbors`.
        mode : {"connectivity", "distance"}
            Whether the length of an edge is 1 or the distance.

        Returns
        -------
        csr_matrix of shape (m, n)
            SciPy's sparse matrix; its columns are the rows passed to ``fit``.
        """
        if mode not in ("connectivity", "distance"):
            raise ValueError(f"mode is {mode!r}; it must be 'connectivity' or 'distance'.")
        distance, index = self.kneighbors(X, n_neighbors)
        lengths = distance if mode == "distance" else None
        return build_graph(index, lengths, self._n_rows_given)

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit once for many numbers of neighbours, which share one search (see `bakeoff.learners.base.paths`)."""
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
        self._check_cells(X)
        order = self._choose_order()
        self._store_positions(sample_weight, order)
        self._store_weights(weight[order])
        self._count_rows_needed(self.n_neighbors)  # raises an error if there are too few rows
        self._build_search(X[order])
        return order

    def _choose_order(self) -> np.ndarray | slice:
        """Return the order of the rows, in which the first of several equally distant rows counts as the nearest."""
        if self.ties == "random":
            return check_random_state(self.random_state).permutation(self.n_samples_fit_)
        return slice(None)

    def _store_positions(self, sample_weight: Any, order: np.ndarray | slice) -> None:
        """Store the positions of the rows of positive weight in the table passed to ``fit``."""
        given = np.asarray(1.0 if sample_weight is None else sample_weight)
        if given.ndim == 0:
            self._n_rows_given = self.n_samples_fit_
            positions = np.arange(self.n_samples_fit_)
        else:
            self._n_rows_given = given.size
            positions = np.flatnonzero(given)
        self._row_positions = positions[order]  # (n,)

    def _store_weights(self, weight: np.ndarray) -> None:
        self._weight = weight  # (n,)
        self._unit_weights = bool((weight == 1.0).all())  # then the weight of k rows is k
        if self._unit_weights:
            self._cumulative_weight = np.arange(1.0, weight.size + 1.0)  # (n,)
        else:
            self._cumulative_weight = np.cumsum(np.sort(weight))  # (n,), of the rows with the smallest weights

    def _build_search(self, X: np.ndarray) -> None:
        nominal = np.array([values is not None for values in self.categories_])  # (d,)
        columns = copy_transposed(X)  # (d, n)
        self._fitted_metric = fit_metric(
            columns, nominal, self.metric, self.p, self.metric_params, self.feature_weights
        )
        T = self._fitted_metric.compute_coordinates(columns)  # (e, n)
        self._search = choose_algorithm(self._fitted_metric, T, self.algorithm, self.leaf_size, self.metric)

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
        whole_ties = self.ties == "all"
        needed = self._count_rows_needed(self.n_neighbors)
        Q = self._compute_coordinates(X)
        for start, rows, distance in self._search_in_blocks(Q, needed, whole_ties=whole_ties):
            # Without ties and sample weights, exactly k neighbours of weight 1 were found.
            if self._unit_weights and not whole_ties:
                if self.weights == "uniform":
                    yield start, rows, np.full(rows.shape, 1.0 / needed)
                    continue
                sample_weight = np.ones(rows.shape)
            else:
                k = self.n_neighbors
                sample_weight = select_sample_weights(rows, distance, self._weight, k, whole_ties=whole_ties)
            share = compute_vote_shares(distance, sample_weight, self.weights, self.bandwidth)
            yield start, rows, share

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

    def _count_rows_needed(self, k: int) -> int:
        """Return a number of rows whose total weight is certainly at least k."""
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
                f"X has rows without a single value (the first: {empty[0]}), which have no neighbours; drop them."
            )

    def _accepts_missing(self) -> bool:
        """Return whether the parameters allow missing cells."""
        complete_only = callable(self.metric) or self.metric == "mahalanobis" or self.algorithm == "kd_tree"
        return self.missing == "ignore" and not complete_only
