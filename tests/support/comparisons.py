"""Finished comparisons of any size with made-up scores, for the tests of what is written from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from bakeoff.pipeline.commands.comparison_report.comparison import (
    Cell,
    ComparedDataset,
    ComparedMetric,
    Comparison,
    Configuration,
    DatasetResult,
    MetricResult,
    OverallPair,
    OverallResult,
    PairResult,
    ParetoPoint,
    Settings,
    Summary,
)
from bakeoff.pipeline.commands.significance.folds import BETTER, SAME, WORSE

ACCURACY = ComparedMetric("test_accuracy", "accuracy", True, 0.01)
LOG_LOSS = ComparedMetric("test_log_loss", "log loss", False, 0.02)
NAN = float("nan")
MIN_TESTED_DATASETS = 5
CRITICAL_DIFFERENCE = 1.4


def make_comparison(
    datasets: Sequence[str] = ("iris", "wine"),
    configurations: Sequence[str] = ("svm", "knn", "majority"),
    *,
    n_folds: int = 10,
    metrics: Sequence[ComparedMetric] = (ACCURACY,),
    failed: Sequence[tuple[str, str]] = (),
    reason: str = "failed: ValueError: Input X contains NaN.",
    notes: Sequence[str] = ("Scores are shown to four digits.",),
    seed: int = 0,
) -> Comparison:
    """Return a comparison whose scores are drawn, and whose tests are made up but plausible.

    Parameters
    ----------
    datasets, configurations : sequence of str
        The first configuration is the base.
    n_folds : int
    metrics : sequence of ComparedMetric
    failed : sequence of (configuration, dataset)
        Cells without scores.
    reason : str
        Of the failed cells.
    notes : sequence of str
    seed : int
    """
    generator = np.random.default_rng(seed)
    cells = []
    for dataset in datasets:
        level = generator.uniform(0.6, 0.9)
        for configuration in configurations:
            if (configuration, dataset) in failed:
                cells.append(Cell(configuration, dataset, reason=reason))
                continue
            cell_level = level + generator.normal(0, 0.05)
            scores = {
                metric.name: tuple(np.clip(cell_level + generator.normal(0, 0.03, n_folds), 0, 1).tolist())
                for metric in metrics
            }
            cells.append(
                Cell(
                    configuration,
                    dataset,
                    scores=scores,
                    run_ids=(f"{len(cells):032x}",),
                    seeds=("0",),
                    fit_seconds=float(10 ** generator.uniform(-3, 1)),
                    predict_seconds=float(10 ** generator.uniform(-4, -2)),
                    n_fits=n_folds,
                )
            )
    results = tuple(_compare_by(metric, datasets, configurations, cells, generator) for metric in metrics)
    return Comparison(
        question="Which of these configurations has the best accuracy?",
        selection="the 6 runs of sweep=latest",
        command="bakeoff compare sweep=latest",
        created="2026-11-21T12:00:00Z",
        verdict=(f"{configurations[0]} is the best and beats {configurations[-1]}, p = .003.",),
        notes=tuple(notes),
        settings=Settings(0.05, configurations[0], False, False),
        metrics=tuple(metrics),
        datasets=tuple(
            ComparedDataset(name, f"{number:016x}", "kfold", n_folds, n_folds, (f"s{number:015x}",), 41)
            for number, name in enumerate(datasets)
        ),
        configurations=tuple(
            Configuration(name, name.split(" ")[0], {"learner": name.split(" ")[0], "learner.C": "1.0"})
            for name in configurations
        ),
        cells=tuple(cells),
        results=results,
        run_ids=tuple(run for cell in cells for run in cell.run_ids),
        store="sqlite:///outputs/mlflow.db",
        experiment="bakeoff",
    )


def _compare_by(
    metric: ComparedMetric,
    datasets: Sequence[str],
    configurations: Sequence[str],
    cells: Sequence[Cell],
    generator: np.random.Generator,
) -> MetricResult:
    by_place = {(cell.configuration, cell.dataset): cell for cell in cells}
    sign = 1 if metric.greater_is_better else -1
    results = []
    for dataset in datasets:
        present = [name for name in configurations if by_place[name, dataset].scores]
        scores = {name: np.array(by_place[name, dataset].scores[metric.name]) for name in present}
        means = {name: float(values.mean()) for name, values in scores.items()}
        ranks = dict(zip(present, rankdata([-sign * means[name] for name in present]), strict=True))
        best = max(sign * mean for mean in means.values()) if means else NAN
        base = configurations[0] if configurations[0] in present else ""
        summaries = []
        for name in present:
            difference = sign * (means[name] - means[base]) if base else NAN
            mark = BETTER if difference > 0.03 else WORSE if difference < -0.03 else SAME
            std = float(scores[name].std(ddof=1)) if len(scores[name]) > 1 else NAN
            is_tested = bool(base) and name != base and len(scores[name]) > 1
            tests = [float(generator.uniform(0, 1)), 0.2, 0.5, 0.3] if is_tested else [NAN] * 4
            summaries.append(
                Summary(
                    name, means[name], std, means[name] - 0.02, means[name] + 0.02, float(ranks[name]),
                    sign * means[name] == best, mark, *tests,
                )
            )  # fmt: skip
        pairs = []
        for number, first in enumerate(present):
            for second in present[number + 1 :]:
                triple = generator.dirichlet([1, 1, 1]).tolist()
                p_value = float(generator.uniform(0, 0.3))
                pairs.append(
                    PairResult(
                        first, second, sign * (means[first] - means[second]), 0.03, -0.01, 0.04, 1.5, p_value,
                        min(2 * p_value, 1.0), triple[0], triple[1], triple[2], 0.02, 7, None, 2 * p_value < 0.05,
                        1 / 9, metric.rope,
                    )
                )  # fmt: skip
        results.append(DatasetResult(dataset, base, tuple(summaries), tuple(pairs), (f"On {dataset} it is close.",)))
    return MetricResult(
        metric.name,
        tuple(results),
        _compare_over(configurations, results) if len(datasets) > 1 else None,
        _find_pareto(configurations, results, by_place),
    )


def _compare_over(configurations: Sequence[str], results: Sequence[DatasetResult]) -> OverallResult:
    complete = [result for result in results if len(result.summaries) == len(configurations)]
    left_out = {result.dataset: "a cell has no scores" for result in results if result not in complete}
    ranks = {
        name: float(np.mean([result.find_summary(name).rank for result in complete])) if complete else NAN  # type: ignore[union-attr]
        for name in configurations
    }
    order = sorted(configurations, key=lambda name: ranks[name])
    too_few = len(complete) < MIN_TESTED_DATASETS
    pairs = []
    for number, first in enumerate(order):
        for second in order[number + 1 :]:
            values = (NAN, NAN, NAN, NAN) if too_few else (0.09, 0.2, 0.03, 0.09)
            pairs.append(OverallPair(first, second, ranks[second] - ranks[first], *values, 3, 1, 2, False))
    groups: list[tuple[str, ...]] = []
    for name in order:
        group = tuple(other for other in order if 0 <= ranks[other] - ranks[name] < CRITICAL_DIFFERENCE)
        if len(group) > 1 and not any(set(group) <= set(larger) for larger in groups):
            groups.append(group)
    return OverallResult(
        tuple(result.dataset for result in complete),
        left_out,
        {name: ranks[name] for name in order},
        "wilcoxon",
        f"{len(complete)} datasets are too few for tests over datasets: five are needed." if too_few else "",
        *((NAN,) * 5 if too_few else (10.23, 0.017, 4.19, 0.011, CRITICAL_DIFFERENCE)),
        () if too_few else tuple(groups),
        tuple(pairs),
        dict.fromkeys(configurations[1:], (1, 2, 0)),
        (f"{order[0]} has the best mean rank.",),
    )


def _find_pareto(
    configurations: Sequence[str], results: Sequence[DatasetResult], by_place: dict[tuple[str, str], Cell]
) -> tuple[ParetoPoint, ...]:
    points = []
    for name in configurations:
        summaries = [(result.dataset, result.find_summary(name)) for result in results]
        known = [(dataset, summary.mean) for dataset, summary in summaries if summary is not None]
        cells = [by_place[name, dataset] for dataset, _ in known]
        points.append(
            ParetoPoint(
                name,
                float(np.mean([mean for _, mean in known])) if known else NAN,
                float(np.mean([cell.fit_seconds for cell in cells])) if cells else NAN,
                float(np.mean([cell.predict_seconds for cell in cells])) if cells else NAN,
                sum(cell.n_fits for cell in cells),
                name == configurations[0],
            )
        )
    return tuple(points)
