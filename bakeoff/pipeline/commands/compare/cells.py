"""The scores of stored runs: the metrics of a comparison, and its cells.

A cell contains the scores of a configuration on a dataset, one per fold, and the time they took to compute.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from bakeoff.pipeline.commands.compare.request import SelectionRequest
from bakeoff.pipeline.commands.compare.run_grid import Grid, RunFacts, arrange_runs, group_by, list_ids
from bakeoff.pipeline.commands.comparison_report.comparison import (
    Cell,
    CellKey,
    ComparedDataset,
    ComparedMetric,
    Configuration,
    ScoredCells,
)
from bakeoff.pipeline.commands.significance.pairs import require_repeats
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring.metrics import ERROR
from bakeoff.pipeline.stages.scoring.scorers import describe_definition, find_bounds, has_fixed_scale
from bakeoff.pipeline.text.wording import count_nouns, format_range
from bakeoff.pipeline.tracking.history import count_looks_by_splits, list_looks
from bakeoff.pipeline.tracking.names import find_headline, is_greater_better, read_metric_entries
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import TRIED_TAG, read_series

TEST_PREFIX = "test_"
VALIDATION_PREFIX = "validation_"
TIME_PREFIX = "time/"
SERIES_PREFIXES = ("fold/", "pruning_path/")
FITS = "fits"
"""The number of learner fits per fold: the fits of all candidates on the inner folds, and the fit of the chosen one."""
FIT_STAGES = ("time/tune", "time/fit", "time/prune")
PREDICT_STAGE = "time/predict"

Series = Mapping[str, Mapping[str, tuple[float, ...]]]
"""Run id -> metric -> values over folds."""


def score_runs(facts: Sequence[RunFacts], description: str, request: SelectionRequest, store: Store) -> ScoredCells:
    """Return the scores of selected runs by the requested metrics.

    Parameters
    ----------
    facts : sequence of RunFacts
        The runs, finished or not.
    description : str
        How they were selected.
    request : SelectionRequest
    store : Store

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    grid, notes = arrange_runs(facts, request.is_until_sure)
    runs = [each for own in grid.values() for each in own if not each.reason]
    if request.is_until_sure:
        for each in runs:
            require_repeats(each.run.params["evaluation"], each.run.params)
    metrics = choose_compared_metrics(request.metrics or (), runs, request.rope)
    names = [metric.name for metric in metrics]
    validation = _find_validation_metric(names[0], runs[0])
    # One query for all runs: separate queries would dominate the time of a comparison.
    stored = [each.run for each in runs if each.series is None]
    carried = {each.run.run_id: each.series for each in runs if each.series is not None}
    series: Series = {**read_series(store, stored, [*names, validation]), **carried}
    cells = _make_cells(grid, series, names, validation)
    return ScoredCells(
        metrics=metrics,
        datasets=tuple(_describe_dataset(name, grid, cells, store) for name in dict.fromkeys(key[1] for key in grid)),
        configurations=describe_configurations(grid),
        cells=cells,
        selection=description,
        notes=[*notes, *_write_budget_notes(runs), *_write_look_notes(runs, request)],
    )


def describe_configurations(grid: Grid) -> list[Configuration]:
    """Return the configurations of a grid in its order."""
    params = {name: each.configuration for (name, _), own in grid.items() for each in own if not each.reason}
    return [Configuration(name, dict(own)["learner"], dict(own)) for name, own in params.items()]


def _write_budget_notes(runs: Sequence[RunFacts]) -> list[str]:
    """Return a note if tuning with a budget tried different numbers of candidates."""
    tried = {each.run.name: json.loads(each.run.tags[TRIED_TAG]) for each in runs if TRIED_TAG in each.run.tags}
    if len(set(chain.from_iterable(tried.values()))) < 2:
        return []
    counts = [f"{format_range(each)} by {name}" for name, each in tried.items()]
    return [f"BK31 Within tuning.budget, different numbers of candidates were tried in a fold: {', '.join(counts)}."]


def _write_look_notes(runs: Sequence[RunFacts], request: SelectionRequest) -> list[str]:
    """Return a note if repeats were added one at a time, but the p-values are not corrected for that."""
    if request.is_until_sure or not any(each.draw[0] for each in runs):
        return []
    return ["Repeats were added one at a time: with until=sure the p-values are corrected for these looks."]


def choose_compared_metrics(names: Sequence[str], runs: Sequence[RunFacts], rope: float) -> tuple[ComparedMetric, ...]:
    """Return the metrics of the comparison, the first of which determines the verdict.

    Parameters
    ----------
    names : sequence of str
        Stored names, or names without ``test_`` or ``time/``; if empty, the headline metric of the runs.
    runs : sequence of RunFacts
        Finished runs.
    rope : float

    Raises
    ------
    UserError
        A metric is unknown or missing from a run.
    """
    stored = [_find_metric(name, runs) for name in names] if names else [_find_shared_headline(runs)]
    for metric in stored:
        _require_metric(metric, runs)
        _require_one_definition(metric, runs)
    return tuple(_describe_metric(metric, rope, runs[0]) for metric in dict.fromkeys(stored))


def _find_shared_headline(runs: Sequence[RunFacts]) -> str:
    headlines = group_by(runs, lambda each: find_headline(each.run.params, each.run.metrics))
    (first, *others) = headlines
    if first is None or others:
        counts = ", ".join(f"{name or 'none'} ({count_nouns(len(own), 'run')})" for name, own in headlines.items())
        raise UserError(
            f"compare: the runs have different headline scores: {counts}. Choose a metric that all runs have with "
            "metrics=NAME, or select the runs of one task with filter=."
        )
    return first


def _find_metric(name: str, runs: Sequence[RunFacts]) -> str:
    """Return the stored name of a metric."""
    known = {metric for each in runs for metric in each.run.metrics if _is_comparable(metric, each)}
    for candidate in (name, f"{TEST_PREFIX}{name}", f"{TIME_PREFIX}{name}"):
        if candidate in known:
            return candidate
    short = {metric.removeprefix(TEST_PREFIX).removeprefix(TIME_PREFIX) for metric in known}
    raise UserError(f"compare: metrics={name}: no run has that metric. {did_you_mean(name, short)}")


def _is_comparable(metric: str, facts: RunFacts) -> bool:
    """Whether a stored metric has a known direction and is the mean of a series rather than the series itself."""
    try:
        is_greater_better(metric, facts.run.params)
    except KeyError:
        return False
    return not metric.startswith(SERIES_PREFIXES)


def _require_metric(metric: str, runs: Sequence[RunFacts]) -> None:
    without = [each for each in runs if metric not in each.run.metrics]
    if without:
        learners = ", ".join(dict.fromkeys(each.learner for each in without))
        raise UserError(
            f"compare: {len(without)} of {len(runs)} runs ({list_ids(without)}; {learners}) have no {metric}: "
            "choose other metrics with metrics=, or exclude these runs with filter=."
        )


def _require_one_definition(metric: str, runs: Sequence[RunFacts]) -> None:
    """Reject runs whose scores share a name but were computed with different costs or by different functions."""
    firsts: dict[str, RunFacts] = {}
    for each in runs:
        first = firsts.setdefault(each.dataset, each)
        if _read_definition(metric, each) != _read_definition(metric, first):
            raise UserError(
                f"compare: on {each.dataset}, run {first.short_id} and run {each.short_id} computed {metric} in "
                "different ways (evaluation.metrics or evaluation.costs differ), so it cannot be compared; "
                "select runs with the same settings with filter=, or choose another metric with metrics=."
            )


def _read_definition(metric: str, each: RunFacts) -> str:
    params = each.run.params
    return describe_definition(_get_score(metric), read_metric_entries(params), params.get("evaluation.costs"))


def _get_score(metric: str) -> str:
    """Return the name of a score without its part of the data."""
    return metric.removeprefix(TEST_PREFIX).removeprefix(VALIDATION_PREFIX).removeprefix("train_")


def _describe_metric(metric: str, rope: float, example: RunFacts) -> ComparedMetric:
    params = example.run.params
    is_time = metric.startswith(TIME_PREFIX)
    bounds = ERROR if is_time else find_bounds(_get_score(metric), read_metric_entries(params))
    return ComparedMetric(
        name=metric,
        label=label_metric(metric.removeprefix(TEST_PREFIX)),
        greater_is_better=is_greater_better(metric, params),
        rope=rope,
        is_rope_relative=not has_fixed_scale(bounds),
        bounds=bounds,
    )


def label_metric(score: str) -> str:
    """Return a metric in words.

    Examples
    --------
    >>> label_metric("time/fit"), label_metric("balanced_accuracy")
    ('fit time in seconds', 'balanced accuracy')
    """
    if score.startswith(TIME_PREFIX):
        return f"{score.removeprefix(TIME_PREFIX)} time in seconds"
    return score.replace("_", " ").replace("/", " ")


def _find_validation_metric(metric: str, example: RunFacts) -> str:
    """Return the validation score by which configurations are chosen for a comparison by a metric."""
    # Times are not measured on validation rows, so the headline metric chooses the configuration instead.
    headline = find_headline(example.run.params, example.run.metrics) or metric
    score = metric if metric.startswith(TEST_PREFIX) else headline
    return f"{VALIDATION_PREFIX}{score.removeprefix(TEST_PREFIX)}"


def _make_cells(grid: Grid, series: Series, metrics: Sequence[str], validation: str) -> dict[CellKey, Cell]:
    """Return the cell of each configuration and dataset.

    Parameters
    ----------
    grid : Grid
    series : Series
        The series of the metrics for each run of the grid.
    metrics : sequence of str
    validation : str
        The validation score used to choose among configurations.
    """
    n_run_folds = dict.fromkeys((dataset for _, dataset in grid), 0)
    for (_, dataset), runs in grid.items():
        # A run may lack values that its store cannot represent.
        lengths = [len(_join_runs([each], series, metric)) for each in runs for metric in metrics]
        n_run_folds[dataset] = max(n_run_folds[dataset], *lengths)
    return {
        key: _make_cell(key, runs, series, metrics, validation, n_run_folds[key[1]] * len(runs))
        for key, runs in grid.items()
    }


def _make_cell(
    key: CellKey, runs: Sequence[RunFacts], series: Series, metrics: Sequence[str], validation: str, n_folds: int
) -> Cell:
    """Return the cell of a configuration and a dataset.

    If a score is undefined in any fold, the cell is empty and has a reason, because a mean over the remaining folds
    would compare different rows.
    """
    if runs[0].reason:
        return Cell(*key, reason=runs[0].reason)
    scores = {metric: _join_runs(runs, series, metric) for metric in metrics}
    gaps = [gap for metric, values in scores.items() if (gap := _find_gap(metric, values, n_folds))]
    return Cell(
        *key,
        scores={} if gaps else scores,
        reason="; ".join(gaps),
        run_ids=tuple(each.run.run_id for each in runs),
        seeds=tuple(each.seed for each in runs),
        fit_seconds=float(np.mean([_sum_stages(each) for each in runs])),
        predict_seconds=float(np.mean([each.run.metrics.get(PREDICT_STAGE, math.nan) for each in runs])),
        n_fits=round(n_folds * runs[0].run.metrics.get(FITS, 0)),
        n_train=float(np.mean([each.rows_per_fold["train"] for each in runs])),
        n_test=float(np.mean([each.rows_per_fold["test"] for each in runs])),
        validation=_read_validation(runs, series, validation, n_folds),
    )


def _join_runs(runs: Sequence[RunFacts], series: Series, metric: str) -> tuple[float, ...]:
    """Return the values over the folds of the first run, then the second, and so on."""
    return tuple(value for each in runs for value in series.get(each.run.run_id, {}).get(metric, ()))


def _read_validation(runs: Sequence[RunFacts], series: Series, metric: str, n_folds: int) -> tuple[float, ...]:
    """Return the validation score of each fold (greater is better), or nothing if a choice has used them."""
    values = _join_runs(runs, series, metric)
    if _find_gap(metric, values, n_folds) or not all(each.has_free_validation_rows for each in runs):
        return ()
    sign = 1 if is_greater_better(metric, runs[0].run.params) else -1
    return tuple(sign * value for value in values)


def _find_gap(metric: str, values: Sequence[float], n_folds: int) -> str:
    """Return why values are not defined in every fold; empty if they are."""
    n_undefined = sum(map(math.isnan, values))
    if n_undefined:
        return f"{metric} is not defined in {n_undefined} of {count_nouns(n_folds, 'fold')}"
    if len(values) < n_folds:
        return f"{metric} is infinite or missing in {n_folds - len(values)} of {count_nouns(n_folds, 'fold')}"
    return ""


def _sum_stages(facts: RunFacts) -> float:
    """Return the mean seconds of fitting, tuning and pruning per fold; NaN if the run stores no times."""
    stages = [facts.run.metrics[stage] for stage in FIT_STAGES if stage in facts.run.metrics]
    return sum(stages) if stages else math.nan


def _describe_dataset(name: str, grid: Grid, cells: Mapping[CellKey, Cell], store: Store) -> ComparedDataset:
    """Return the description of a dataset of a grid, with its folds and rows."""
    keys = [key for key in grid if key[1] == name]
    # All cells of a dataset have the same draws, or the first of them, so the longest one describes it.
    runs = max((grid[key] for key in keys), key=lambda own: (not own[0].reason, len(own)))
    params = runs[0].run.params
    n_folds = max(len(values) for key in keys for values in cells[key].scores.values() or [()])
    # Each seed and each repeat of an evaluation splits the rows again.
    n_repeats = len(runs) * int(params.get("evaluation.repeats", "1"))
    splits_digests = tuple(each.splits_digest for each in runs)
    jobs = {each.run.tags.get("config_hash"): each.splits_digest for key in keys for each in grid[key] if each.series}
    looks = count_looks_by_splits(store, runs[0].digest)
    n_carried = Counter(jobs[job] for job in jobs.keys() - list_looks(store, runs[0].digest))
    return ComparedDataset(
        name=name,
        digest=runs[0].digest,
        evaluation=params.get("evaluation", ""),
        n_folds=n_folds,
        folds_per_repeat=max(n_folds // n_repeats, 1),
        splits_digests=splits_digests,
        n_looks=max(looks[splits] + n_carried[splits] for splits in splits_digests),
    )
