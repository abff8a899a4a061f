"""Ties: which of several rows at the k-th distance vote.

Where columns are numbers, rows at the same distance are rare. Where they are nominal, there are only as many distances
as columns, and a choice among dozens of equally near rows would be one of chance: all of them vote.
"""

from __future__ import annotations

from bakeoff.learners.knn.metric.base import Metric
from bakeoff.learners.knn.metric.minkowski import MinkowskiMetric


def choose_ties(ties: str, metric: Metric, *, any_nominal: bool) -> str:
    """Return the rule that ``ties`` names; "auto" is "all" if a nominal column enters the distance, else "first".

    Parameters
    ----------
    ties : {"auto", "first", "all", "random"}
    metric : Metric
        Fitted to the training rows.
    any_nominal : bool
        Whether X has a nominal column.
    """
    if ties != "auto":
        return ties
    enters = any_nominal
    # The columns of a p-norm are those of positive weight, and for Hamming all of them are compared as nominal ones.
    if isinstance(metric, MinkowskiMetric):
        enters = bool(metric.nominal.any())
    return "all" if enters else "first"
