"""The search of a fitted k-NN learner for the rows nearest to queries.

All searches find the same neighbours, so the fastest one that supports the rows is used.

*Simple matching* of nominal columns counts the columns in which two rows differ. With nominal columns of equal weight,
the distance depends only on this number, and increases with it. So it suffices to find the rows with the smallest
numbers; codes and numbers are bytes, of which a processor compares and adds dozens at once.

Cost: O(mne) time, O(ne) memory, in bytes.

Reference: R. R. Sokal and C. D. Michener, "A statistical method for evaluating systematic relationships", University of
Kansas Science Bulletin 38, 1958 (the simple matching coefficient s/e of s columns that agree).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.base.estimator import Learner
from bakeoff.learners.base.input_checks import as_small_integers
from bakeoff.learners.knn.brute_force import BruteForce
from bakeoff.learners.knn.kd_tree import KDTree
from bakeoff.learners.knn.metrics import Metric, MinkowskiMetric, copy_transposed
from bakeoff.learners.knn.ranking import Search, describe_too_few_rows


class SimpleMatchingSearch(BruteForce):
    """A search that compares every query with every stored row by the number of columns in which they differ.

    Parameters
    ----------
    metric : MinkowskiMetric
    T : ndarray of shape (e, n)
        Codes below `MAX_SMALL_INTEGERS`, without missing cells, of nominal columns of equal weight.
    """

    cells_per_tile: ClassVar[int] = 2**18
    """256 KiB of bytes, and as many of comparisons."""

    def __init__(self, metric: MinkowskiMetric, T: np.ndarray) -> None:
        super().__init__(metric, T)
        e = T.shape[0]
        self._unknown = int(T.max()) + 1  # stands for every value that no stored row has
        self._codes = T.astype(np.min_scalar_type(self._unknown))  # (e, n)
        mismatches = np.arange(e + 1)

        # Computed as for two rows that differ in the first columns, so that distances agree to the last bit.
        self._distance_by_mismatches = metric.compute_norm(lambda j: (mismatches > j) * metric.factor[j])  # (e + 1,)

    def _compare_all_pairs(
        self, Q: np.ndarray, k: int, missing: bool, slack: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        query, row, measured = super()._compare_all_pairs(Q, k, missing, slack)
        return query, row, measured if missing else self._distance_by_mismatches[measured]

    def _measure_tile(self, Q: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return the numbers of columns in which queries Q (e, m) and stored rows differ: shape (m, n).

        If cells are missing, return distances.
        """
        if missing:
            return super()._measure_tile(Q, missing=missing)
        is_known = (Q >= 0) & (self._unknown > Q) & (np.floor(Q) == Q)
        codes = np.where(is_known, Q, self._unknown).astype(self._codes.dtype)  # (e, m)
        e, m = Q.shape
        mismatches = np.zeros((m, self.T.shape[1]), dtype=np.min_scalar_type(e))
        differs = np.empty(mismatches.shape, dtype=bool)
        for queries, rows in zip(codes, self._codes, strict=True):
            np.not_equal(queries[:, None], rows, out=differs)
            mismatches += differs.view(np.uint8)
        return mismatches


class NeighborSearcher(Learner):
    """Abstract: a learner that stores rows and finds those nearest to a query."""

    n_neighbors: int
    n_samples_fit_: int
    _row_positions: np.ndarray  # (n,), of the stored rows in the table passed to `fit`
    _fitted_metric: Metric
    _search: Search

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

    @abstractmethod
    def _check_cells(self, X: np.ndarray) -> None:
        """Reject checked rows X (m, d) whose distances are undefined."""

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


TREES = ("ball_tree", "kd_tree")
"""Values of ``algorithm`` for which a tree is searched."""

MIN_TREE_ROWS_BY_COLUMNS = (0, 500, 500, 500, 2000, 3000, 10000, 100000, 2**62)
"""The number of rows from which a tree is faster than brute force, by the number of columns (measured)."""

MIN_BRUTE_FORCE_COLUMNS = len(MIN_TREE_ROWS_BY_COLUMNS) - 1
"""With this number of columns or more, brute force is faster for any number of rows."""


def choose_algorithm(metric: Metric, T: np.ndarray, algorithm: str, leaf_size: int, metric_name: Any) -> Search:
    """Return the search selected by ``algorithm``, or the one that is probably the fastest.

    Parameters
    ----------
    metric : Metric
    T : ndarray of shape (e, n)
        Coordinates of the training rows.
    algorithm, leaf_size
        As in `bakeoff.learners.KNeighborsClassifier`.
    metric_name : str or callable
        The parameter ``metric``, for the error message.

    Raises
    ------
    ValueError
        If ``"kd_tree"`` is requested and does not support these rows, or ``"ball_tree"`` does not support this metric.
    """
    # A distance that leaves columns out violates the triangle inequality, on which every tree relies.
    if algorithm in TREES and isinstance(metric_name, str) and metric_name == "nan_euclidean":
        raise ValueError(
            f"algorithm={algorithm!r} supports only metrics that satisfy the triangle inequality, but "
            f"metric={metric_name!r} leaves missing cells out; use algorithm='brute'."
        )
    brute_force = choose_brute_force(metric, T)
    if not isinstance(metric, MinkowskiMetric) or metric.nominal.any() or brute_force.missing:
        if algorithm == "kd_tree":
            raise ValueError(
                f"algorithm='kd_tree' supports only numeric columns and p-norms, but metric={metric_name!r} or X does "
                "not meet this requirement; use algorithm='brute'."
            )
        return brute_force
    e, n = T.shape
    min_tree_rows = MIN_TREE_ROWS_BY_COLUMNS[min(e, MIN_BRUTE_FORCE_COLUMNS)]
    if algorithm in TREES or (algorithm == "auto" and n >= min_tree_rows):
        return KDTree(metric, T, leaf_size)
    return brute_force


def choose_brute_force(metric: Metric, T: np.ndarray) -> BruteForce:
    """Return the fastest search that compares all pairs of a query and a row of T (e, n)."""
    if isinstance(metric, MinkowskiMetric) and metric.p in (1.0, 2.0) and metric.nominal.all():
        has_equal_weights = not np.ptp(metric.factor)
        if has_equal_weights and as_small_integers(T) is not None:
            return SimpleMatchingSearch(metric, T)
    return BruteForce(metric, T)


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
