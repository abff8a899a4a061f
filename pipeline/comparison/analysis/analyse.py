"""The analysis of chosen rows, by each metric, of each dataset and over datasets."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bakeoff.pipeline.comparison.analysis.base import BEST_BASE
from bakeoff.pipeline.comparison.analysis.choices import ChosenRows
from bakeoff.pipeline.comparison.analysis.costs import compare_costs
from bakeoff.pipeline.comparison.analysis.dataset_analysis import compare_all_pairs, select_cells, summarize_cells
from bakeoff.pipeline.comparison.analysis.overall_analysis import analyze_overall
from bakeoff.pipeline.comparison.analysis.verdict import write_dataset_verdict, write_overall_verdict
from bakeoff.pipeline.comparison.comparison import ComparedDataset, ComparedMetric, Settings
from bakeoff.pipeline.comparison.request import ComparisonRequest
from bakeoff.pipeline.comparison.results import DatasetResult, MetricResult
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.words import count_nouns

POWER = 0.8
"""The probability with which a difference is to be shown, where reports say what that would take."""


@dataclass(frozen=True)
class Analysis:
    """The analysis of chosen rows by all metrics.

    Attributes
    ----------
    datasets : tuple of ComparedDataset
    metrics : tuple of ComparedMetric
    chosen : ChosenRows
        The rows in the order of the reports, the best first.
    request : ComparisonRequest
    """

    datasets: tuple[ComparedDataset, ...]
    metrics: tuple[ComparedMetric, ...]
    chosen: ChosenRows
    request: ComparisonRequest

    @property
    def names(self) -> list[str]:
        """The names of the rows."""
        return [row.name for row in self.chosen.rows]

    def make_settings(self, base: str) -> Settings:
        """Return the settings, with the best row as the base if none was given."""
        if base == BEST_BASE:
            chosen_base = self.names[0]
        else:
            chosen_base = base if base in self.names else self._find_row_of(base)
        return Settings(
            alpha=self.request.alpha,
            base=chosen_base,
            is_base_given=base != BEST_BASE,
            power=POWER,
            all_pairs=self.request.all_pairs,
        )

    def _find_row_of(self, base: str) -> str:
        """Return the row of a learner that was named as the base."""
        rows = [row.name for row in self.chosen.rows if row.learner == base]
        if len(rows) != 1:
            raise UserError(
                f"compare: base={base} is {count_nouns(len(rows), 'configuration')}: name one of {', '.join(rows)}."
            )
        return rows[0]

    def analyze(self, settings: Settings) -> tuple[MetricResult, ...]:
        """Return the results by each metric."""
        return tuple(self._analyze_metric(metric, settings) for metric in self.metrics)

    def _analyze_metric(self, metric: ComparedMetric, settings: Settings) -> MetricResult:
        results = tuple(self._analyze_dataset(dataset, metric, settings) for dataset in self.datasets)
        overall = None
        if len(self.datasets) > 1:
            overall = analyze_overall(results, self.names, metric, settings)
            overall = replace(overall, verdict=write_overall_verdict(overall, metric, settings))
        pareto = compare_costs(results, self.names, self.chosen.cells, metric, settings.base)
        return MetricResult(metric.name, results, overall, pareto)

    def _analyze_dataset(self, dataset: ComparedDataset, metric: ComparedMetric, settings: Settings) -> DatasetResult:
        scores = select_cells(dataset, metric, self.chosen.cells, self.names, settings.base)
        if not scores.cells:
            return DatasetResult(dataset.name, "", (), (), ("No configuration has scores here.",))
        summaries = summarize_cells(scores, settings)
        pairs = compare_all_pairs(scores, settings)
        base = "" if scores.base_cell is None else settings.base
        verdict = write_dataset_verdict(summaries, pairs, metric, settings)
        return DatasetResult(dataset.name, base, summaries, pairs, verdict)
