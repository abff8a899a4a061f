"""``bakeoff.compare``: which configuration is better, with the numbers as pandas tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from bakeoff.pipeline.commands.compare.analysis import tabulate_means
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.stored_comparison import keep_reports, make_comparison
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.comparison_report.reports import render_report
from bakeoff.pipeline.commands.comparison_report.verdict import find_worse
from bakeoff.pipeline.config.requests import require_value
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.call import own_process_state, show_html
from bakeoff.pipeline.python.run import RunResult
from bakeoff.pipeline.python.sweep import SweepResult, find_store, list_run_ids


def compare(
    *runs: str | RunResult | SweepResult | pd.DataFrame,
    base: str | RunResult = "",
    metrics: Sequence[str] = (),
    plan: float | Sequence[float] = (),
    keep: bool = False,
    **keys: Any,
) -> ComparisonResult:
    """Compare stored runs, paired fold by fold on the same splits, or the scores of a table.

    Parameters
    ----------
    *runs : str, RunResult, SweepResult or DataFrame
        One sweep, or runs given as results, ids or at least the first 8 characters of ids, ``latest`` or ``best``; or
        one table, or the path of a CSV, Parquet or JSON lines file, with the columns dataset, learner, score, and
        optionally repeat, fold, n_train and n_test, whose scores may come from any program. With ``item``, it has the
        columns system, score and that of the items, or a column of scores for each system.
    base : str or RunResult
        The configuration, learner, run or registered model to compare the others against; by default the best.
    metrics : sequence of str
        Scores or times, the first of which determines the verdict; by default the headline metric.
    plan : float or sequence of float
        Differences: notes say how large a study must be to find them.
    keep : bool
        Whether to store the reports as a run. The command does so by default, but a notebook cell is often run
        repeatedly.
    **keys
        Further keys of the command: ``sweep``, ``filter``, ``alpha``, ``rope``, ``pairs``, ``overall``,
        ``choice``, ``until``, ``repeats``, ``dataset``, ``tracking__uri`` and
        ``tracking__experiment``. The store defaults to that of the results, or else to that of `run`. For a
        table, ``metric`` is the name of its scores. ``greater_is_better`` is their direction, and is required
        unless bakeoff has the metric. ``item`` names the column of the items of one test set, ``cluster`` that of
        groups of dependent items, and ``items="common"`` compares those that all systems answered; for runs,
        ``item="row"`` compares the test rows. ``reference`` is a file of ``bakeoff reference``, or its name.

    Returns
    -------
    ComparisonResult

    Raises
    ------
    UserError
        The runs or the scores cannot be compared.

    Examples
    --------
    >>> scores = {"dataset": ["iris", "iris", "wine", "wine"], "learner": ["knn", "svm"] * 2, "score": [3, 1, 2, 1]}
    >>> compare(pd.DataFrame(scores), greater_is_better=False).table.loc["svm"].to_dict()
    {'iris': 1.0, 'wine': 1.0}
    """
    first, *others = runs or ("",)
    frame = None if others or not isinstance(first, pd.DataFrame) else first
    # The command of the report names the file that would hold the table.
    results: Sequence[Any] = runs if frame is None else ("frame.parquet",)
    if len(results) == 1 and isinstance(results[0], SweepResult) and results[0].tracking:
        keys["sweep"] = results[0].name
    else:
        keys["runs"] = tuple(run_id for each in results for run_id in list_run_ids(each))
    request = CompareRequest(
        base=list_run_ids(base)[0],
        metrics=(metrics,) if isinstance(metrics, str) else tuple(metrics) or None,
        plan=tuple(map(str, [plan] if isinstance(plan, int | float) else plan)),
        keep=keep,
        **find_store(results, keys),
    )
    with own_process_state():
        comparison = make_comparison(request, frame=frame)
        return ComparisonResult(comparison, keep_reports(comparison, request) if request.keep else None)


@dataclass(frozen=True, repr=False)
class ComparisonResult:
    """A comparison of configurations.

    Attributes
    ----------
    comparison : Comparison
        All results of the comparison, as plain values.
    run_id : str or None
        The run that stores the reports, if ``keep=True``.
    """

    comparison: Comparison
    run_id: str | None

    @property
    def verdict(self) -> str:
        """The verdict in sentences, one per line."""
        return "\n".join(self.comparison.verdict)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers on omitted rows, defaults and optimistic scores."""
        return self.comparison.notes

    @property
    def table(self) -> pd.DataFrame:
        """The means of the first metric, with a row per configuration, best first, and a column per dataset."""
        names = [row.name for row in self.comparison.configurations]
        means = tabulate_means(self.comparison.results[0].datasets, names)
        return means.T.rename_axis(index="configuration", columns="dataset")

    @property
    def scores(self) -> pd.DataFrame:
        """A row for each metric, dataset and configuration with mean, std, interval, rank, mark and p-value."""
        return _tabulate(self.comparison, "summaries")

    @property
    def pairs(self) -> pd.DataFrame:
        """A row for each metric, dataset and pair of configurations with difference, interval and tests."""
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
            The comparison has no base.
        """
        if not self.comparison.settings.is_base_given:
            raise UserError("is_worse needs base=, the run, model or configuration to compare with.")
        return bool(find_worse(self.comparison))

    def render(self, to: str) -> str:
        """Return a report.

        Parameters
        ----------
        to : {"terminal", "csv", "json", "markdown", "latex", "html"}

        Raises
        ------
        UserError
            The format does not exist.
        """
        require_value(CompareRequest, "to", to)
        with own_process_state():
            return render_report(self.comparison, to)

    def __repr__(self) -> str:
        return f"<ComparisonResult: {self.comparison.verdict[0]}>"

    def _repr_html_(self) -> str:
        return show_html(repr(self), [self.table], [*self.comparison.verdict, *self.notes])


def _tabulate(comparison: Comparison, kind: str) -> pd.DataFrame:
    """Return the summaries or the pairs of all metrics and datasets."""
    rows = [
        {"metric": result.metric, "dataset": dataset.dataset, **asdict(part)}
        for result in comparison.results
        for dataset in result.datasets
        for part in getattr(dataset, kind)
    ]
    return pd.DataFrame(rows)
