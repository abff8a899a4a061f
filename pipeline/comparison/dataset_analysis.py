"""The analysis of one dataset: means with intervals, marks against the base, and all pairs fold by fold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bakeoff.pipeline.comparison.comparison import (
    SAME,
    Cell,
    ComparedDataset,
    ComparedMetric,
    PairResult,
    Settings,
    Summary,
)
from bakeoff.pipeline.comparison.fold_tests import (
    compute_corrected_t_test,
    compute_posterior,
    estimate_mean,
    estimate_requirement,
    mark_difference,
    subtract_scores,
)
from bakeoff.pipeline.comparison.rank_tests import list_pairs, rank_configurations
from bakeoff.pipeline.model.drift import adjust_by_holm


@dataclass(frozen=True)
class DatasetScores:
    """The scores of the complete cells of a dataset for one metric.

    Attributes
    ----------
    dataset : ComparedDataset
    metric : ComparedMetric
    cells : tuple of Cell
        In the order of the configurations.
    base : str
        The baseline for marks, which may have no cell here.
    """

    dataset: ComparedDataset
    metric: ComparedMetric
    cells: tuple[Cell, ...]
    base: str

    def get_scores(self, cell: Cell) -> np.ndarray:
        """Return the scores of a cell, of shape (J,)."""
        return np.array(cell.scores[self.metric.name])

    @property
    def means(self) -> np.ndarray:
        """The mean of each cell, of shape (number of cells,)."""
        return np.array([np.mean(self.get_scores(cell)) for cell in self.cells])

    @property
    def base_cell(self) -> Cell | None:
        """The cell of the base."""
        return next((cell for cell in self.cells if cell.configuration == self.base), None)

    @property
    def rope(self) -> float:
        """The rope in the unit of the metric."""
        if not self.metric.is_rope_relative:
            return self.metric.rope
        # Without the base, the best scores determine the size of scores.
        means = np.abs(self.means)
        reference = np.min(means) if self.base_cell is None else abs(np.mean(self.get_scores(self.base_cell)))
        return self.metric.rope * float(reference)

    def get_ratio(self, first: Cell, second: Cell) -> float:
        """Return test rows per training row of a pair: the larger one, which makes the test more conservative."""
        return max(first.n_test / first.n_train, second.n_test / second.n_train)


def summarize_cells(scores: DatasetScores, settings: Settings) -> tuple[Summary, ...]:
    """Return the mean of each cell with its interval, rank, and mark in comparison with the base."""
    means = scores.means  # (k,)
    ranks = rank_configurations(means[np.newaxis], scores.metric.greater_is_better)[0]  # (k,)
    # Equal means share their rank, so that the best of them may be more than 1.
    best = np.min(ranks)
    summaries = []
    for cell, rank in zip(scores.cells, ranks, strict=True):
        values = scores.get_scores(cell)
        estimate = estimate_mean(values, scores.get_ratio(cell, cell), 1 - settings.alpha)
        mark, p_value = _compare_with_base(cell, scores, settings)
        summary = Summary(
            configuration=cell.configuration,
            mean=estimate.mean,
            std=estimate.standard_deviation,
            low=estimate.lower,
            high=estimate.upper,
            rank=float(rank),
            is_best=bool(rank == best),
            mark=mark,
            p_value=p_value,
        )
        summaries.append(summary)
    return tuple(summaries)


def compare_all_pairs(scores: DatasetScores, settings: Settings) -> tuple[PairResult, ...]:
    """Return the tests of all pairs, with Holm's correction over all of them."""
    numbers = list_pairs(len(scores.cells))
    pairs = [_compare_pair(scores.cells[i], scores.cells[j], scores, settings) for i, j in numbers]
    p_holm = adjust_p_values([pair.p_value for pair in pairs])
    adjusted = []
    for pair, p in zip(pairs, p_holm, strict=True):
        # A difference of 0 has no direction: neither configuration is better.
        is_told_apart = bool(p <= settings.alpha) and pair.difference != 0
        adjusted.append(replace(pair, p_holm=float(p), is_told_apart=is_told_apart))
    return tuple(adjusted)


def adjust_p_values(p_values: Sequence[float]) -> np.ndarray:
    """Return p-values adjusted by Holm; NaN where there was no test."""
    given = np.array(p_values, dtype=float)  # (m,)
    adjusted = np.full(len(given), math.nan)  # (m,)
    is_known = ~np.isnan(given)  # (m,)
    adjusted[is_known] = adjust_by_holm(given[is_known])
    return adjusted


def select_cells(
    dataset: ComparedDataset,
    metric: ComparedMetric,
    cells: Mapping[tuple[str, str], Cell],
    names: Sequence[str],
    base: str,
) -> DatasetScores:
    """Return the complete cells of a dataset, in the order of the names."""
    own = [cells[name, dataset.name] for name in names]
    return DatasetScores(dataset, metric, tuple(cell for cell in own if not cell.reason), base)


def _compare_with_base(cell: Cell, scores: DatasetScores, settings: Settings) -> tuple[str, float]:
    """Return WEKA's mark in comparison with the base, and the p-value of the corrected t-test."""
    base = scores.base_cell
    if base is None or base is cell:
        return SAME, math.nan
    differences = subtract_scores(scores.get_scores(cell), scores.get_scores(base))  # (J,)
    test = compute_corrected_t_test(differences, scores.get_ratio(cell, base))
    return mark_difference(test, settings.alpha, scores.metric.greater_is_better), test.p


def _compare_pair(first: Cell, second: Cell, scores: DatasetScores, settings: Settings) -> PairResult:
    # For errors the sign is reversed, so that a positive difference always means that the first one is better.
    sign = 1 if scores.metric.greater_is_better else -1
    differences = sign * subtract_scores(scores.get_scores(first), scores.get_scores(second))  # (J,)
    ratio = scores.get_ratio(first, second)
    rope = scores.rope
    test = compute_corrected_t_test(differences, ratio, 1 - settings.alpha)
    posterior = compute_posterior(differences, ratio, rope)
    n_rows = round(max(first.n_train, second.n_train) + first.n_test)
    needed = estimate_requirement(test, scores.dataset.folds_per_repeat, n_rows, settings.alpha, settings.power)
    return PairResult(
        first=first.configuration,
        second=second.configuration,
        difference=test.mean,
        std=test.standard_deviation,
        low=test.lower,
        high=test.upper,
        statistic=test.statistic,
        p_value=test.p,
        # Holm's correction needs all pairs, and is filled in later.
        p_holm=math.nan,
        p_first=posterior.better,
        p_equivalent=posterior.equivalent,
        p_second=posterior.worse,
        detectable=needed.smallest_difference,
        repeats_needed=needed.repeats,
        rows_needed=needed.rows,
        is_told_apart=False,
        test_train_ratio=ratio,
        rope=rope,
    )
