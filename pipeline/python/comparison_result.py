"""The result of a comparison, with its numbers as tables of pandas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bakeoff.pipeline.comparison.analysis.gate import check_gate
from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult
from bakeoff.pipeline.comparison.reports import tables
from bakeoff.pipeline.comparison.request import require_choice
from bakeoff.pipeline.comparison.stored_comparison import MadeComparison, render_report
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.process_state import own_process_state
from bakeoff.pipeline.tables.html import render_template

TEMPLATE = Path(__file__).parent / "templates" / "comparison.html"


@dataclass(frozen=True, repr=False)
class ComparisonResult:
    """Which configuration is better, and how sure that is.

    Attributes
    ----------
    made : MadeComparison
        The comparison as the reports are written from it.
    run_id : str or None
        The run that keeps the reports, with ``keep=True``.
    """

    made: MadeComparison
    run_id: str | None = None

    @property
    def comparison(self) -> Comparison:
        """Every number of the comparison, as plain values."""
        return self.made.comparison

    @property
    def verdict(self) -> str:
        """The answer in sentences, a line each."""
        return "\n".join(self.comparison.verdict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know: rows left out, defaults taken, scores that are optimistic."""
        return self.comparison.notes

    @property
    def table(self) -> pd.DataFrame:
        """The means by the first metric: a row for each configuration, the best first, a column for each dataset."""
        first = self.scores[self.scores["metric"] == self._first.metric]
        table = first.pivot(index="configuration", columns="dataset", values="mean")
        names = [row.name for row in self.comparison.configurations]
        datasets = [dataset.name for dataset in self.comparison.datasets]
        return table.reindex(index=names, columns=datasets).rename_axis(index="configuration", columns="dataset")

    @property
    def scores(self) -> pd.DataFrame:
        """A row for each metric, dataset and configuration: mean, std, interval, rank, mark and p-value."""
        return _tabulate(self.comparison, "summaries")

    @property
    def pairs(self) -> pd.DataFrame:
        """A row for each metric, dataset and pair of configurations: difference, interval and tests."""
        return _tabulate(self.comparison, "pairs")

    @property
    def overall_pairs(self) -> pd.DataFrame:
        """A row for each metric and pair of configurations over datasets; empty if there is no test over datasets."""
        rows = [
            {"metric": result.metric, **asdict(pair)}
            for result in self.comparison.results
            for pair in (result.overall.pairs if result.overall is not None else ())
        ]
        return pd.DataFrame(rows)

    @property
    def is_worse(self) -> bool:
        """Whether a configuration is significantly worse than the base.

        Raises
        ------
        UserError
            No base was given.
        """
        if not self.comparison.settings.is_base_given:
            raise UserError("is_worse needs base=, the run, model or configuration that is the standard.")
        return check_gate(self.comparison).is_worse

    @property
    def html(self) -> str:
        """The page of the comparison, without links to the network."""
        return self.render("html")

    def render(self, to: str) -> str:
        """Return a report.

        Parameters
        ----------
        to : {"terminal", "csv", "json", "markdown", "latex", "html"}

        Raises
        ------
        UserError
            There is no such format.
        """
        require_choice("to", to)
        with own_process_state():
            return render_report(self.comparison, to)

    def __repr__(self) -> str:
        return f"<ComparisonResult: {self.comparison.verdict[0]}>"

    def __rich__(self) -> Any:
        """Return the report for a terminal."""
        from rich.text import Text

        return Text(self.render("terminal"))

    def _repr_html_(self) -> str:
        table = tables.tabulate_scores(self.comparison, self._first)
        return render_template(TEMPLATE, {"comparison": self.comparison, "scores": table})

    @property
    def _first(self) -> MetricResult:
        return self.comparison.results[0]


def _tabulate(comparison: Comparison, kind: str) -> pd.DataFrame:
    """Return the summaries or the pairs of all metrics and datasets."""
    return pd.DataFrame(list(_iterate_rows(comparison, kind)))


def _iterate_rows(comparison: Comparison, kind: str) -> Iterator[dict[str, Any]]:
    for result in comparison.results:
        for dataset in result.datasets:
            for part in getattr(dataset, kind):
                yield {"metric": result.metric, "dataset": dataset.dataset, **asdict(part)}
