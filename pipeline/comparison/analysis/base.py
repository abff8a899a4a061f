"""The base of a comparison: the configuration that all others are marked against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bakeoff.pipeline.comparison.analysis.dataset_analysis import select_cells
from bakeoff.pipeline.comparison.comparison import Cell, ComparedDataset, ComparedMetric, Configuration
from bakeoff.pipeline.comparison.grid.pairing import CellKey
from bakeoff.pipeline.comparison.grid.run_facts import BASE_WORD, RUN_KEY
from bakeoff.pipeline.comparison.statistics.rank_tests import rank_configurations
from bakeoff.pipeline.errors import UserError, did_you_mean

BEST_BASE = ""
"""The word for the best configuration, which is the default."""
CHOSEN_SUFFIX = " (chosen)"
"""Ends the name of the row that represents several configurations of a learner."""


def find_base(word: str, configurations: Sequence[Configuration]) -> str:
    """Return the name of the configuration or the learner that is the base; empty for the best.

    Raises
    ------
    UserError
        There is no such configuration.
    """
    names = [each.name for each in configurations]
    learners = [each.learner for each in configurations]
    if word in (BEST_BASE, "best"):
        return BEST_BASE
    if word in names:
        return word
    # The row of a learner does not exist yet: it is made from the configurations, after the base is known.
    word = word.removesuffix(CHOSEN_SUFFIX)
    if word in learners:
        own = [each.name for each in configurations if each.learner == word]
        return own[0] if len(own) == 1 else word
    raise UserError(f"compare: base={word} is not among the configurations. {did_you_mean(word, [*names, *learners])}")


def find_base_run_row(configurations: Sequence[Configuration]) -> str:
    """Return the name of the row of the run that was named as the base."""
    prefix = f"{BASE_WORD} "
    return next(each.name for each in configurations if each.params.get(RUN_KEY, "").startswith(prefix))


def order_rows(
    names: Sequence[str],
    datasets: Sequence[ComparedDataset],
    cells: Mapping[CellKey, Cell],
    metric: ComparedMetric,
) -> list[str]:
    """Return names of configurations by their mean rank, the best first.

    The datasets on which all have scores decide; where there is none, all datasets do.
    """
    all_scores = [select_cells(dataset, metric, cells, names, BEST_BASE) for dataset in datasets]
    complete = [scores for scores in all_scores if len(scores.cells) == len(names)]
    ranks: dict[str, list[float]] = {}
    for scores in complete or all_scores:
        if not scores.cells:
            continue
        own = rank_configurations(scores.means[np.newaxis], metric.greater_is_better)[0]  # (k,)
        for cell, rank in zip(scores.cells, own, strict=True):
            ranks.setdefault(cell.configuration, []).append(float(rank))
    return sorted(names, key=lambda name: float(np.mean(ranks[name])))
