"""k nearest neighbours: the majority, or the mean, of the k training rows nearest to the query.

    N(q) = the k rows with the smallest d(q, x_i);    ŷ(q) = argmax_c Σ_{i ∈ N(q)} v_i [y_i = c],  or  Σ v_i y_i / Σ v_i

with votes v (`learners.knn.voting`) and distance d (`learners.knn.metrics`).  A lazy learner: ``fit`` stores the rows,
at most in a tree.  k = n is the global method, in which every row has a vote.

Cost of m queries: O(mnd) by brute force (`learners.knn.brute_force`), about O(md log n) by a kd-tree in few dimensions
(`learners.knn.kd_tree`).

Reference: T. Cover and P. Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information Theory 13,
1967.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import Tags

from bakeoff.learners.base.estimator import ProbabilisticClassifier, with_input_tags
from bakeoff.learners.knn.base import KNeighborsBase


class KNeighborsClassifier(ProbabilisticClassifier, KNeighborsBase):
    """Let the k nearest training rows vote (equal votes: the smallest class).

    Parameters
    ----------
    n_neighbors : int
        k.  With ``sample_weight`` it counts weight: neighbours are taken until they weigh k together.
    weights : {"uniform", "distance", "gaussian"} or callable
        What a vote counts: 1; 1/d, where exact matches decide alone; exp(-d²/2h²) with h the bandwidth; or a function
        from an array of distances to an array of the same shape.
    bandwidth : float
        h of ``weights="gaussian"``, in the unit of the distances.
    algorithm : {"auto", "brute", "kd_tree"}
        All find the same neighbours.  ``"kd_tree"`` is our own and takes complete numeric columns; ``"auto"`` takes
        SciPy's in few dimensions and brute force else.
    leaf_size : int
        Rows in a leaf of a tree.
    metric : str or callable
        "minkowski", "euclidean" or "l2", "manhattan" or "l1", "chebyshev" or "linf", "mahalanobis", "hamming", "gower":
        see `learners.knn.metrics`.  A callable takes two rows, nominal cells as codes, and returns their distance.
    p : float
        At least 1: the power of ``metric="minkowski"``.
    metric_params : dict or None
        ``V`` (the covariance) or ``VI`` (its inverse) of ``metric="mahalanobis"``, learnt from the training rows, with
        n - 1, unless given; or keyword arguments of a callable metric.
    feature_weights : array-like of shape (d,) or None
        w_j, which multiplies column j's term in the distance; 0 leaves the column out.
    ties : {"first", "all", "random"}
        Which of several rows at the k-th distance take part: the first in the order of training; all of them; or the
        first in an order drawn at ``fit``.
    missing : {"ignore", "error"}
        A missing cell leaves its column out of that distance, scaled up to all columns; or is refused.  The metrics
        mahalanobis and callable and our kd-tree always refuse.
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None
        The nominal columns, where two values are the same (0) or not (1).
    random_state : int, RandomState or None
        Of ``ties="random"``.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    n_samples_fit_ : int
        n, the rows of positive weight.
    effective_metric_ : str or callable
        The metric under its plain name.

    Notes
    -----
    ``n_neighbors``, ``weights`` and ``bandwidth`` may be changed after ``fit``.  ``fit`` and ``predict`` raise
    ValueError where ``n_neighbors`` is more than the training rows (or their weight).

    Examples
    --------
    >>> X = [[-1, 3], [2, 1], [-2, 2], [-1, 2], [-1, 0], [1, 1]]
    >>> y = ["red", "blue", "red", "blue", "blue", "red"]
    >>> KNeighborsClassifier(n_neighbors=3).fit(X, y).predict([[1, 2]])
    array(['blue'], dtype='<U4')
    """

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
            Fewer rows than ``n_neighbors``, or parameters that do not fit the columns.
        """
        X, codes, weight = self._check_fit(X, y, sample_weight)
        order = self._store_rows(X, weight, sample_weight)
        self._codes = codes[order]
        return self

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        c = self.classes_.size
        scores = np.empty((X.shape[0], c))
        for start, rows, share in self._iterate_votes(X):
            m = rows.shape[0]
            box = self._codes.take(rows)
            box += np.arange(0, m * c, c)[:, None]  # the (query, class) a vote goes to
            votes = np.bincount(box.ravel(), weights=share.ravel(), minlength=m * c)
            scores[start : start + m] = votes.reshape(m, c)
        return scores

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), allow_nan=self._accepts_missing(), categorical=True)
