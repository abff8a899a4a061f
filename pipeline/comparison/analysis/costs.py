"""Score against cost: the Pareto front over the datasets that count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bakeoff.pipeline.comparison.comparison import Cell, ComparedMetric
from bakeoff.pipeline.comparison.grid.pairing import CellKey
from bakeoff.pipeline.comparison.results import DatasetResult, ParetoPoint


def compare_costs(
    results: Sequence[DatasetResult],
    names: Sequence[str],
    cells: Mapping[CellKey, Cell],
    metric: ComparedMetric,
    base: str,
) -> tuple[ParetoPoint, ...]:
    """Return score and cost of each configuration, means over the datasets on which all have scores.

    Where the size of a score depends on the dataset, as with errors in the unit of the target, each is divided by the
    base's on the same dataset, unless there is one dataset only.

    Parameters
    ----------
    results : sequence of DatasetResult
    names : sequence of str
        Of the configurations.
    cells : mapping of CellKey to Cell
    metric : ComparedMetric
    base : str
    """
    complete = [result for result in results if len(result.summaries) == len(names)]
    if not complete:
        return ()
    is_relative = metric.is_rope_relative and len(complete) > 1
    divisor = base if is_relative else ""
    scores = np.array([_average_score(name, complete, divisor) for name in names])  # (k,)
    own_cells = [[cells[name, result.dataset] for result in complete] for name in names]
    fit = np.array([np.mean([cell.fit_seconds for cell in own]) for own in own_cells])  # (k,)
    predict = np.array([np.mean([cell.predict_seconds for cell in own]) for own in own_cells])  # (k,)
    is_efficient = _find_efficient(scores, fit + predict, metric.greater_is_better)
    return tuple(
        ParetoPoint(
            configuration=name,
            score=float(scores[number]),
            fit_seconds=float(fit[number]),
            predict_seconds=float(predict[number]),
            n_fits=sum(cell.n_fits for cell in own_cells[number]),
            is_efficient=bool(is_efficient[number]),
        )
        for number, name in enumerate(names)
    )


def _average_score(name: str, results: Sequence[DatasetResult], base: str) -> float:
    """Return the mean over datasets, relative to the base's scores if there is a base."""
    values = []
    for result in results:
        means = {summary.configuration: summary.mean for summary in result.summaries}
        # By its size and not by its sign, so that the better of two negative scores stays the better one.
        divisor = abs(means[base]) if base else 1.0
        # A base without any error leaves nothing to divide by.
        values.append(means[name] / divisor if divisor else math.nan)
    return float(np.mean(values))


def _find_efficient(scores: np.ndarray, seconds: np.ndarray, greater_is_better: bool) -> np.ndarray:
    """Return which configurations are on the front; those without a score or a time are not."""
    is_known = np.isfinite(scores) & np.isfinite(seconds)  # (k,)
    is_efficient = np.zeros(len(scores), dtype=bool)  # (k,)
    if is_known.any():
        is_efficient[is_known] = find_pareto_front(scores[is_known], seconds[is_known], greater_is_better)
    return is_efficient


def find_pareto_front(scores: np.ndarray, costs: np.ndarray, greater_is_better: bool = True) -> np.ndarray:
    """Find the configurations that no other one beats: none scores at least as well at no higher cost, one better.

    Parameters
    ----------
    scores : ndarray of shape (k,)
        Mean scores.
    costs : ndarray of shape (k,)
        Such as seconds of fitting. Lower is better.
    greater_is_better : bool, default True
        Of the scores.

    Returns
    -------
    is_on_front : ndarray of bool of shape (k,)
        Configurations with equal score and cost are all on the front, or none of them.

    Raises
    ------
    ValueError
        If the shapes differ or a number is not finite.
    """
    scores = np.asarray(scores, dtype=float)  # (k,)
    costs = np.asarray(costs, dtype=float)  # (k,)
    if scores.ndim != 1 or scores.shape != costs.shape:
        raise ValueError(f"scores of shape {scores.shape}, costs of shape {costs.shape}: equal lengths are allowed")
    if not np.all(np.isfinite(scores)) or not np.all(np.isfinite(costs)):
        raise ValueError("scores and costs must be finite")
    losses = -scores if greater_is_better else scores
    both = np.column_stack([losses, costs])  # (k, 2)
    is_no_worse = np.all(both[:, np.newaxis] <= both, axis=2)  # (k, k): row against column
    is_better = np.any(both[:, np.newaxis] < both, axis=2)  # (k, k)
    is_beaten = np.any(is_no_worse & is_better, axis=0)  # (k,)
    return ~is_beaten
