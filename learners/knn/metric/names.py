"""The names of metrics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

POWER_BY_METRIC = {
    "euclidean": 2.0,
    "l2": 2.0,
    "manhattan": 1.0,
    "l1": 1.0,
    "chebyshev": np.inf,
    "linf": np.inf,
}
"""The p-norms that have names."""

METRIC_BY_POWER = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}
"""One name for each of them."""

METRICS = {*POWER_BY_METRIC, "minkowski", "mahalanobis", "hamming", "gower"}
"""All values of ``metric`` that are names."""


def name_metric(metric: str | Callable[..., float], p: float) -> str | Callable[..., float]:
    """Return the canonical name of a metric with several names, or the callable; p is the power of "minkowski"."""
    if callable(metric):
        return metric
    if metric == "minkowski":
        return METRIC_BY_POWER.get(float(p), "minkowski")
    if metric in POWER_BY_METRIC:
        return METRIC_BY_POWER[POWER_BY_METRIC[metric]]
    return metric
