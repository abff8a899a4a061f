"""Cells of a comparison: the scores of a configuration on a dataset fold by fold, and what they have cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bakeoff.pipeline.comparison.comparison import Cell, ComparedDataset, ComparedMetric, Configuration
from bakeoff.pipeline.comparison.grid.pairing import CellKey
from bakeoff.pipeline.comparison.grid.run_facts import Params, RunFacts
from bakeoff.pipeline.comparison.grid.run_grid import RunGrid
from bakeoff.pipeline.text.words import count_nouns

FITS = "fits"
"""The fits of the learner in each fold: of all candidates on inner folds, and of the chosen one."""
FIT_STAGES = ("time/tune", "time/fit", "time/prune")
PREDICT_STAGE = "time/predict"

Series = Mapping[str, Mapping[str, tuple[float, ...]]]
"""Run id -> metric -> values over folds."""


def make_configuration(name: str, params: Params) -> Configuration:
    """Return a configuration with its params."""
    values = dict(params)
    is_tuned = values.get("tuning", "none") != "none"
    return Configuration(name=name, learner=values["learner"], params=values, is_tuned=is_tuned)


def make_cells(grid: RunGrid, series: Series, metrics: Sequence[ComparedMetric]) -> dict[CellKey, Cell]:
    """Return the cell of each configuration and dataset.

    A cell whose scores are not defined in every fold is empty, with the reason, because a mean over the other folds
    would compare different rows.

    Parameters
    ----------
    grid : RunGrid
    series : Series
        With the series of the metrics, for each run of the grid.
    metrics : sequence of ComparedMetric
    """
    names = [metric.name for metric in metrics]
    n_folds = {dataset: _count_folds(dataset, grid, series, names) for dataset in grid.datasets}
    cells: dict[CellKey, Cell] = {}
    for name in grid.configurations:
        for dataset in grid.datasets:
            runs = grid.runs.get((name, dataset))
            if runs is None:
                cells[name, dataset] = Cell(name, dataset, reason=grid.reasons[name, dataset])
            else:
                cells[name, dataset] = _make_cell(name, dataset, runs, series, names, n_folds[dataset])
    return cells


def _count_folds(dataset: str, grid: RunGrid, series: Series, names: Sequence[str]) -> int:
    """Return the number of folds of a dataset over all seeds: a run may lack values that its store cannot hold."""
    n_folds = 0
    for (_, own), runs in grid.runs.items():
        if own != dataset:
            continue
        for name in names:
            n_folds = max(n_folds, len(_join_seeds(runs, series, name)))
    return n_folds


def _make_cell(
    name: str, dataset: str, runs: Sequence[RunFacts], series: Series, metrics: Sequence[str], n_folds: int
) -> Cell:
    scores = {metric: _join_seeds(runs, series, metric) for metric in metrics}
    gaps = [_find_gap(metric, scores[metric], n_folds) for metric in metrics]
    reasons = [gap for gap in gaps if gap]
    rows = [each.rows_per_fold for each in runs]
    return Cell(
        configuration=name,
        dataset=dataset,
        scores={} if reasons else scores,
        reason="; ".join(reasons),
        run_ids=tuple(each.run.run_id for each in runs),
        seeds=tuple(each.seed for each in runs),
        fit_seconds=_mean([_sum_stages(each) for each in runs]),
        predict_seconds=_mean([each.run.metrics.get(PREDICT_STAGE, math.nan) for each in runs]),
        n_fits=round(n_folds * runs[0].run.metrics.get(FITS, 0)),
        n_train=_mean([row.get("train", math.nan) for row in rows]),
        n_test=_mean([row.get("test", math.nan) for row in rows]),
    )


def _join_seeds(runs: Sequence[RunFacts], series: Series, metric: str) -> tuple[float, ...]:
    """Return the values over the folds of the first seed, then of the second …."""
    return tuple(value for each in runs for value in series[each.run.run_id].get(metric, ()))


def _find_gap(metric: str, values: Sequence[float], n_folds: int) -> str:
    """Say why values are not defined in every fold; empty if they are."""
    n_undefined = int(np.sum(np.isnan(values))) if values else 0
    n_absent = n_folds - len(values)
    if n_undefined:
        return f"{metric} is not defined in {n_undefined} of {count_nouns(n_folds, 'fold')}"
    if n_absent:
        return f"{metric} is infinite or missing in {n_absent} of {count_nouns(n_folds, 'fold')}"
    return ""


def _sum_stages(facts: RunFacts) -> float:
    """Return the mean seconds of fitting per fold, with tuning and pruning; NaN if the run stores no times."""
    stages = [facts.run.metrics[stage] for stage in FIT_STAGES if stage in facts.run.metrics]
    return sum(stages) if stages else math.nan


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def describe_datasets(grid: RunGrid, cells: Mapping[CellKey, Cell]) -> tuple[ComparedDataset, ...]:
    """Return the datasets of a grid, with their folds and rows."""
    return tuple(_describe_dataset(name, grid, cells) for name in grid.datasets)


def _describe_dataset(name: str, grid: RunGrid, cells: Mapping[CellKey, Cell]) -> ComparedDataset:
    runs = next(runs for (_, dataset), runs in grid.runs.items() if dataset == name)
    own = [cell for (_, dataset), cell in cells.items() if dataset == name and not cell.reason]
    n_folds = max((len(values) for cell in own for values in cell.scores.values()), default=0)
    return ComparedDataset(
        name=name,
        digest=grid.datasets[name],
        evaluation=_describe_evaluation(runs[0]),
        n_folds=n_folds,
        n_train=max((cell.n_train for cell in own), default=math.nan),
        n_test=max((cell.n_test for cell in own), default=math.nan),
        folds_per_repeat=_count_folds_per_repeat(runs, n_folds),
        splits_digests=tuple(each.splits_digest for each in runs),
        description=_describe_rows(runs[0].run.tags.get("mlflow.note.content", "")),
    )


def _count_folds_per_repeat(runs: Sequence[RunFacts], n_folds: int) -> int:
    """Return how many folds are one repeat: each seed, and each repeat of an evaluation, splits the rows anew."""
    repeats = runs[0].run.params.get("evaluation.repeats", "1")
    n_repeats = len(runs) * (int(repeats) if repeats.isdigit() else 1)
    return max(n_folds // n_repeats, 1)


def _describe_rows(note: str) -> str:
    """Return the line of a run's description with the rows and columns of the dataset; empty if it has none."""
    return next((line.strip() for line in note.splitlines() if " rows, " in line), "")


def _describe_evaluation(facts: RunFacts) -> str:
    """Return how the folds are made, in words.

    The fraction of validation rows is left out: it may differ between configurations.
    """
    words = [facts.run.params["evaluation"]]
    for key, value in facts.evaluation:
        name = key.removeprefix("evaluation.")
        if name in ("folds", "repeats", "test", "samples"):
            words.append(f"{name}={value}")
    return " ".join(words)
