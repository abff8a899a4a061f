"""``bakeoff.compare``: which configuration is better, with the numbers as pandas tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bakeoff.pipeline.comparison import report_tables as tables
from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult
from bakeoff.pipeline.comparison.request import CompareRequest, require_choice
from bakeoff.pipeline.comparison.stored_comparison import MadeComparison, keep_reports, make_comparison, render_report
from bakeoff.pipeline.comparison.verdict import check_gate
from bakeoff.pipeline.config.requests import read_values
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.call import own_process_state, reject_unknown_keywords
from bakeoff.pipeline.python.run import RunResult
from bakeoff.pipeline.python.sweep import SweepResult, find_store, name_run
from bakeoff.pipeline.tables.markup import render_template

CURES = {
    "to": "write the report with result.render(to=...)",
    "output": "write the text of result.render(to=...) into a file",
    "fail_if": "ask result.is_worse",
}
"""Keys of the command for the output of its report -> the alternative in Python."""


@reject_unknown_keywords(CURES)
def compare(
    *runs: str | RunResult | SweepResult,
    sweep: str = "",
    filter: str = "",
    base: str | RunResult = "",
    metrics: Sequence[str] = (),
    alpha: float = CompareRequest.alpha,
    rope: float = CompareRequest.rope,
    pairs: str = "best",
    choice: str = "auto",
    dataset: str = "",
    keep: bool = False,
    tracking__uri: str | None = None,
    tracking__experiment: str | None = None,
) -> ComparisonResult:
    """Compare stored runs, paired fold by fold on the same splits.

    Parameters
    ----------
    *runs : str, RunResult or SweepResult
        One sweep; or runs as results, by their ids or at least 8 characters of them, ``latest``, or ``best``; or words
        of the command line, such as ``"sweep=latest"``.
    sweep : str
        The name of a sweep, or ``latest``.
    filter : str
        A filter in MLflow's language, such as ``params.dataset = 'wine'``.
    base : str or RunResult
        A configuration, learner, run or registered model, the baseline for marks; by default the best.
    metrics : sequence of str
        Scores or times, the first of which determines the verdict; by default the headline.
    alpha : float
        The significance level.
    rope : float
        Differences up to this one are equivalent in practice.
    pairs : {"best", "all"}
        The pairs that reports list; `ComparisonResult.pairs` always contains all.
    choice : {"auto", "none"}
        With ``none``, no row represents several configurations of a learner.
    dataset : str
        The dataset of ``latest`` and ``best``.
    keep : bool
        Whether to store the reports as a run. The command does so by default; a cell of a notebook, which is run again
        and again, does not.
    tracking__uri, tracking__experiment : str, optional
        The store; by default that of the results, else as for `run`.

    Returns
    -------
    ComparisonResult

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    results = [each for each in runs if not isinstance(each, str)]
    words = [each for each in runs if isinstance(each, str)]
    given = {
        "base": name_run(base),
        "metrics": (metrics,) if isinstance(metrics, str) else tuple(metrics) or None,
        "alpha": alpha,
        "rope": rope,
        "pairs": pairs,
        "choice": choice,
        "dataset": dataset,
        "keep": keep,
        **({"sweep": sweep} if sweep else {}),
        **({"filter": filter} if filter else {}),
        **_name_results(results),
        **find_store(results, tracking__uri, tracking__experiment),
    }
    of_words = _read_words(words)
    named = (*of_words.get("runs", ()), *given.get("runs", ()))
    request = CompareRequest(**{**given, **of_words, "runs": named})
    with own_process_state():
        made = make_comparison(request)
        return ComparisonResult(made, keep_reports(made) if request.keep else None)


def _read_words(words: Sequence[str]) -> dict[str, Any]:
    """Return the values of words of the command line, by field; reject words that Python does not support."""
    if "-m" in words or "--multirun" in words:
        raise UserError("-m is for the command line; give the result of bakeoff.sweep(...).")
    values = read_values("compare", CompareRequest, words)
    for key in values.keys() & CURES.keys():
        raise UserError(f"{key}= is for the command line; {CURES[key]}.")
    return values


def _name_results(results: Sequence[Any]) -> dict[str, Any]:
    """Return the fields that select the runs of results: one sweep by name, several results by their ids."""
    for result in results:
        if not isinstance(result, RunResult | SweepResult):
            raise UserError(
                f"a value of type {type(result).__name__} was given; give the results of run or sweep, or ids of runs."
            )
    if not results:
        return {}
    if len(results) == 1 and isinstance(results[0], SweepResult):
        return {"sweep": results[0].name}
    ids: list[str] = []
    for result in results:
        ids += [name_run(result)] if isinstance(result, RunResult) else _list_runs(result)
    return {"runs": tuple(ids)}


def _list_runs(result: SweepResult) -> list[str]:
    return [run_id for run_id in result.runs["run_id"] if isinstance(run_id, str)]


TEMPLATE = Path(__file__).parent / "templates" / "comparison.html"


@dataclass(frozen=True, repr=False)
class ComparisonResult:
    """A comparison of configurations.

    Attributes
    ----------
    made : MadeComparison
        The comparison from which the reports are written.
    run_id : str or None
        The run that stores the reports, with ``keep=True``.
    """

    made: MadeComparison
    run_id: str | None = None

    @property
    def comparison(self) -> Comparison:
        """All results of the comparison, as plain values."""
        return self.made.comparison

    @property
    def verdict(self) -> str:
        """The verdict in sentences, one per line."""
        return "\n".join(self.comparison.verdict)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers: rows left out, defaults used, and optimistic scores."""
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
            The comparison has no base.
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
