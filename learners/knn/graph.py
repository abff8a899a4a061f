"""The graph of neighbours: an edge from each query to each of its neighbours.

A table of m n cells, of which m k are not zero, is kept as a sparse matrix.  NumPy has none: SciPy's is what the users
of such a graph, clustering and embedding, take.

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
        The lengths of the edges; None: each is 1.
    n : int

    Returns
    -------
    csr_matrix of shape (m, n), float
        An edge of length 0 is stored as such.
    """
    m, k = rows.shape
    lengths = np.ones(rows.size) if distance is None else distance.ravel()
    return csr_matrix((lengths, rows.ravel(), np.arange(0, m * k + 1, k)), shape=(m, n))


def drop_self_neighbors(rows: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop each stored row from its own neighbours.

    Parameters
    ----------
    rows, distance : ndarrays of shape (n, k + 1)
        The neighbours of the stored rows themselves, in their order; with more than k rows equal to it, a row may not
        be among them, and then its last neighbour goes.

    Returns
    -------
    rows, distance : ndarrays of shape (n, k)
    """
    others = rows != np.arange(rows.shape[0])[:, None]
    others[others.all(axis=1), -1] = False
    return rows[others].reshape(rows.shape[0], -1), distance[others].reshape(rows.shape[0], -1)
