"""The search of fitted k-NN for the rows nearest to queries, and the graph of these neighbours."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.base.estimator import Learner
from bakeoff.learners.knn.graph import build_graph, drop_self_neighbors
from bakeoff.learners.knn.metric.base import Metric
from bakeoff.learners.knn.metric.coordinates import copy_transposed
from bakeoff.learners.knn.sample_weight import describe_too_few_rows
from bakeoff.learners.knn.search.base import Search


class NeighborSearcher(Learner):
    """Abstract: a learner that has stored rows, and finds those nearest to a query."""

    n_neighbors: int
    n_samples_fit_: int
    _n_rows_given: int
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

    @abstractmethod
    def _check_cells(self, X: np.ndarray) -> None:
        """Refuse checked rows X (m, d) whose distances are not defined."""

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
