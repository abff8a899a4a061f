"""What classifier and regressor share: the parameters, the stored rows, the neighbours of queries."""

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
from bakeoff.learners.base.paths import checked_values
from bakeoff.learners.knn.graph import build_graph, drop_self_neighbors
from bakeoff.learners.knn.metric.fit_metric import fit_metric
from bakeoff.learners.knn.metric.minkowski import POWER_BY_METRIC, copy_transposed, has_missing
from bakeoff.learners.knn.search.cached_search import CachedSearch
from bakeoff.learners.knn.search.choose_algorithm import choose_algorithm
from bakeoff.learners.knn.voting import compute_vote_shares, select_sample_weights

METRICS = {*POWER_BY_METRIC, "minkowski", "mahalanobis", "hamming", "gower"}


class KNeighborsBase(Learner):
    """Abstract: training rows, kept so that the nearest to a query are found.

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
        "p": [Interval(Real, 1, None, closed="both")],  # infinity, too
        "metric_params": [dict, None],
        "feature_weights": ["array-like", None],
        "ties": [StrOptions({"first", "all", "random"})],
        "missing": [StrOptions({"ignore", "error"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "random_state": ["random_state"],
    }

    path_parameters: ClassVar[tuple[str, ...]] = ("n_neighbors",)

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
            Unless given, the training rows themselves, none of which is then its own neighbour.
        n_neighbors : int, optional
            The parameter of the learner unless given; here it counts rows, not their weight.
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
            ``n_neighbors`` is below 1 or more than the training rows (without X: than the others).
        """
        check_is_fitted(self)
        most = self.n_samples_fit_ - (X is None)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"n_neighbors is {k!r}; it must be an integer from 1 to {most}.")
        if k > most:
            raise ValueError(_describe_too_many_neighbors(int(k), self.n_samples_fit_, most))
        if X is None:
            rows, distance = drop_self_neighbors(*self._find_neighbors(self._search.T, int(k) + 1))
            as_given = np.argsort(self._row)
            rows, distance = rows[as_given], distance[as_given]
        else:
            rows, distance = self._find_neighbors(self._compute_coordinates(self._check_query(X)), int(k))
        return (distance, self._row[rows]) if return_distance else self._row[rows]

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """Return the graph with an edge from each query to each of its nearest training rows.

        Parameters
        ----------
        X, n_neighbors
            As of `kneighbors`.
        mode : {"connectivity", "distance"}
            Whether the length of an edge is 1 or the distance.

        Returns
        -------
        csr_matrix of shape (m, n)
            SciPy's sparse matrix; its columns are the rows given to ``fit``.
        """
        if mode not in ("connectivity", "distance"):
            raise ValueError(f"mode is {mode!r}; it must be 'connectivity' or 'distance'.")
        distance, index = self.kneighbors(X, n_neighbors)
        return build_graph(index, distance if mode == "distance" else None, self._given)

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit once for many numbers of neighbours, which share the search for the same rows (see `learners.paths`)."""
        values = checked_values(self, parameter, values)
        largest = clone(self).set_params(n_neighbors=max(values)).fit(X, y, sample_weight)
        largest._search = CachedSearch(largest._search, largest._count_rows_needed(max(values)))
        for k in values:
            fitted = copy(largest)
            fitted.n_neighbors = k
            yield fitted

    def _store_rows(self, X: np.ndarray, weight: np.ndarray, sample_weight: Any) -> np.ndarray | slice:
        """Store rows X (n, d) and their weights; return the order in which they are stored."""
        n = X.shape[0]
        self.n_samples_fit_ = n
        self.effective_metric_ = _name_metric(self.metric, self.p)
        self._check_cells(X)
        random = self.ties == "random"
        order = check_random_state(self.random_state).permutation(n) if random else slice(None)
        given = np.asarray(1.0 if sample_weight is None else sample_weight)
        self._given = n if given.ndim == 0 else given.size
        self._row = (np.arange(n) if given.ndim == 0 else np.flatnonzero(given))[order]
        self._weight = weight[order]
        self._equal = bool((weight == 1.0).all())  # then k rows weigh k
        self._lightest = np.arange(1.0, n + 1.0) if self._equal else np.cumsum(np.sort(weight))  # (n,)
        self._count_rows_needed(self.n_neighbors)
        nominal = np.array([values is not None for values in self.categories_])
        columns = copy_transposed(X[order])  # (d, n)
        self._fitted_metric = fit_metric(
            columns, nominal, self.metric, self.p, self.metric_params, self.feature_weights
        )
        T = self._fitted_metric.compute_coordinates(columns)  # (e, n)
        self._search = choose_algorithm(self._fitted_metric, T, self.algorithm, self.leaf_size, self.metric)
        return order

    def _iterate_votes(self, X: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield (first query, rows, shares of its vote), the last two of shape (m', K), for the queries in blocks."""
        whole_ties = self.ties == "all"
        weighing = self._count_rows_needed(self.n_neighbors)
        for start, rows, distance in self._search_in_blocks(
            self._compute_coordinates(X), weighing, whole_ties=whole_ties
        ):
            plain = self._equal and not whole_ties
            if plain and self.weights == "uniform":
                yield start, rows, np.full(rows.shape, 1.0 / weighing)
                continue
            if plain:
                mass = np.ones(rows.shape)
            else:
                mass = select_sample_weights(rows, distance, self._weight, self.n_neighbors, whole_ties=whole_ties)
            yield start, rows, compute_vote_shares(distance, mass, self.weights, self.bandwidth)

    def _compute_coordinates(self, X: np.ndarray) -> np.ndarray:
        """Return the coordinates (e, m) of checked rows X (m, d)."""
        self._check_cells(X)
        return self._fitted_metric.compute_coordinates(copy_transposed(X))

    def _search_in_blocks(
        self, Q: np.ndarray, k: int, *, whole_ties: bool
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        step = self._search.choose_block_size(whole_ties=whole_ties)
        for start in range(0, Q.shape[1], step):
            rows, distance = self._search.find_nearest(Q[:, start : start + step], k, whole_ties=whole_ties)
            with np.errstate(over="ignore"):  # beyond 1.8e308 a distance is no float
                yield start, rows, distance if self._fitted_metric.unit == 1.0 else distance * self._fitted_metric.unit

    def _find_neighbors(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest stored rows of coordinates Q (e, m), and their distances, both of shape (m, k)."""
        found = [block[1:] for block in self._search_in_blocks(Q, k, whole_ties=False)]
        found = found or [(np.empty((0, k), dtype=np.intp), np.empty((0, k)))]
        rows, distance = (np.concatenate(part) for part in zip(*found, strict=True))
        return rows, distance

    def _count_rows_needed(self, k: int) -> int:
        """Return how many rows surely weigh k together: as many as the lightest rows need."""
        n = self.n_samples_fit_
        if self._equal and k <= n:
            return k
        weight = float(self._lightest[-1])
        if weight < k * (1 - 1e-12):
            raise ValueError(
                _describe_too_many_neighbors(k, n, n) if weight == n else _describe_too_little_weight(k, n, weight)
            )
        return min(n, int(np.searchsorted(self._lightest, k * (1 - 1e-12))) + 1)

    def _check_cells(self, X: np.ndarray) -> None:
        if not has_missing(X):
            return
        if not self._accepts_missing():
            raise ValueError(
                f"X contains NaN in nominal columns, which {type(self).__name__} with missing={self.missing!r}, "
                f"metric={self.metric!r} and algorithm={self.algorithm!r} does not take; impute those cells."
            )
        empty = np.flatnonzero(np.isnan(X).all(axis=1))
        if empty.size:
            raise ValueError(
                f"X has rows without a single value (the first: {empty[0]}); nothing is near them: drop them."
            )

    def _accepts_missing(self) -> bool:
        unable = callable(self.metric) or self.metric == "mahalanobis" or self.algorithm == "kd_tree"
        return self.missing == "ignore" and not unable


def _name_metric(metric: str | Callable[..., float], p: float) -> str | Callable[..., float]:
    """Return the metric's name without its synonyms."""
    if callable(metric) or metric not in {*POWER_BY_METRIC, "minkowski"}:
        return metric
    return {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}.get(
        POWER_BY_METRIC.get(metric, float(p)), "minkowski"
    )


def _describe_too_many_neighbors(k: int, n: int, most: int) -> str:
    others = "" if most == n else ", each with one fewer beside it"
    rows = f"n_neighbors={k} is more than there is: training has {n} sample{'s' * (n != 1)}{others}."
    return f"{rows} Take n_neighbors of at most {most}, or more rows."


def _describe_too_little_weight(k: int, n: int, weight: float) -> str:
    """Say that n rows of other weights than 1 do not weigh k together."""
    most = int(weight * (1 + 1e-12))  # the sum of fractions may fall short by rounding
    fewer = f"Take n_neighbors of at most {most}, or multiply" if most else "Multiply"
    return (
        f"n_neighbors={k} is more than there is: training has {n} sample{'s' * (n != 1)} that weigh {weight:.3g} "
        f"together. {fewer} sample_weight so that it sums to {k} or more: n_neighbors counts weight, 1 being one row."
    )
