"""The names of metrics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

POWER_BY_METRIC = {
    "euclidean": 2.0,
    "l2": 2.0,
    "nan_euclidean": 2.0,
    "manhattan": 1.0,
    "l1": 1.0,
    "cityblock": 1.0,
    "chebyshev": np.inf,
    "linf": np.inf,
    "infinity": np.inf,
}
"""The p-norms that have names."""

METRIC_BY_POWER = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}
"""One name for each of them."""

BOOLEAN_METRICS = frozenset(
    {"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"},
)
"""Metrics that only ask whether a cell is zero."""

PAIRWISE_METRICS = BOOLEAN_METRICS | {
    "braycurtis",
    "canberra",
    "correlation",
    "cosine",
    "haversine",
    "seuclidean",
    "sqeuclidean",
}
"""Metrics that compare numeric rows as wholes: see `bakeoff.learners.knn.metric.pairwise_metric`."""

METRICS_OF_COLUMNS = {*POWER_BY_METRIC, "minkowski", "p", "hamming", "gower"}
"""Metrics that are sums over columns, so that a column with a missing cell can be left out."""

METRICS = {*METRICS_OF_COLUMNS, *PAIRWISE_METRICS, "mahalanobis", "precomputed"}
"""All values of ``metric`` that are names."""

NON_METRICS = frozenset({"correlation", "cosine", "nan_euclidean", "precomputed", "sqeuclidean", "yule"})
"""Names for which the triangle inequality does not hold, or cannot be relied on, so that no tree can use them."""


def name_metric(metric: str | Callable[..., float], p: float) -> str | Callable[..., float]:
    """Return the canonical name of a metric with several names, or the callable; p is the power of "minkowski"."""
    if callable(metric):
        return metric
    if metric in ("minkowski", "p"):
        return METRIC_BY_POWER.get(float(p), "minkowski")
    if metric in POWER_BY_METRIC:
        return METRIC_BY_POWER[POWER_BY_METRIC[metric]]
    return metric
