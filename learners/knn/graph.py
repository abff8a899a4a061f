"""The graph of neighbours: an edge from each query to each of its neighbours.

Only m k of the m n cells of its matrix are not zero, so the matrix is sparse. NumPy has no sparse matrices; SciPy's
are accepted by the usual consumers of such a graph, clustering and embedding.

Cost: O(mk).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix


def build_graph(rows: np.ndarray, distance: np.ndarray | None, n: int) -> Any:
    """Return the adjacency matrix.

    Parameters
    ----------
    rows : ndarray of shape (m, k), int
        The neighbours of each query, from 0 to n - 1.
    distance : ndarray of shape (m, k) or None
        The lengths of the edges; if None, each is 1.
    n : int

    Returns
    -------
    csr_matrix of shape (m, n), float
        An edge of length 0 is stored as such.
    """
    m, k = rows.shape
    lengths = np.ones(rows.size) if distance is None else distance.ravel()
    row_starts = np.arange(0, m * k + 1, k)  # (m + 1,)
    return csr_matrix((lengths, rows.ravel(), row_starts), shape=(m, n))


def drop_self_neighbors(rows: np.ndarray, distance: np.ndarray, start: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Drop each stored row from its own neighbours.

    Parameters
    ----------
    rows, distance : ndarrays of shape (n, k + 1)
        The neighbours of n stored rows themselves, in their order. If more than k rows are equal to a row, it may
        not be among its own neighbours; in that case its last neighbour is dropped.
    start : int
        The first of these stored rows.

    Returns
    -------
    rows, distance : ndarrays of shape (n, k)
    """
    n = rows.shape[0]
    others = rows != np.arange(start, start + n)[:, None]  # (n, k + 1)
    lacks_itself = others.all(axis=1)
    others[lacks_itself, -1] = False
    rows = rows[others].reshape(n, -1)
    distance = distance[others].reshape(n, -1)
    return rows, distance
