"""k nearest neighbours: the majority class, or the mean target, of the k training rows nearest to the query.

    N(q) = the k rows with the smallest d(q, x_i);    ŷ(q) = argmax_c Σ_{i ∈ N(q)} v_i [y_i = c],  or  Σ v_i y_i / Σ v_i

with votes v (`bakeoff.learners.knn.ranking`) and distance d (`bakeoff.learners.knn.metrics`). This is a lazy learner:
``fit`` only stores the rows, possibly in a tree. With k = n it is the global method, in which every row votes.

`bakeoff.learners.definitions.k_nearest_neighbors` states the algorithm. This implementation finds the same neighbours
faster: it searches for many queries at once, and computes exact distances only for candidates, which a float32 matrix
product (`bakeoff.learners.knn.brute_force`) or a kd-tree (`bakeoff.learners.knn.kd_tree`) selects.

Cost of m queries: O(mnd) by brute force, about O(md log n) by a kd-tree in few dimensions.

Reference: T. Cover and P. Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information Theory 13,
1967.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from bakeoff.learners.base.estimator import ProbabilisticClassifier
from bakeoff.learners.knn.base import KNeighborsBase


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
        super().__init__(
            n_neighbors,
            weights=weights,
            bandwidth=bandwidth,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            feature_weights=feature_weights,
            ties=ties,
            missing=missing,
            categorical_features=categorical_features,
            random_state=random_state,
            n_jobs=n_jobs,
        )
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
