"""The result of a run, with its numbers as tables of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from bakeoff.pipeline.card.report import SCORE_PREFIXES, format_mean, measure_fold, summarize_folds
from bakeoff.pipeline.experiment import Experiment, FoldResult
from bakeoff.pipeline.model import Model
from bakeoff.pipeline.tables.html import render_template
from bakeoff.pipeline.tables.table import Table, make_table
from bakeoff.pipeline.tables.terminal import render_text

TEMPLATE = Path(__file__).parent / "templates" / "run.html"
PARTS = ("test", "validation", "train")
STD = "_std"


@dataclass(frozen=True, repr=False)
class RunResult:
    """A finished run.

    Attributes
    ----------
    name : str
        That of the run in the store.
    run_id : str or None
        None if the run is not stored.
    metric : str
        The headline score, such as ``accuracy``.
    folds : DataFrame
        A row for each fold; a column for each measured value, such as ``test_accuracy`` and ``time/fit`` in seconds.
    scores : DataFrame
        A row for each metric; the mean over folds on ``test`` rows with its standard deviation ``test_std``, and the
        same on ``validation`` and ``train`` rows.
    predictions : DataFrame
        A row for each test row of each fold: its number in the dataset from 0, ``fold``, ``truth``, ``predicted`` and
        ``probability_<class>``.
    model : Model
        The run's model, which predicts for other rows, and knows the rows that it was fitted on.
    notes : tuple of str
        What the run says besides its scores: how the data were read, what the audit found, warnings of the learner.
    config : mapping
        The settled configuration.
    config_hash : str
        A fingerprint of everything that decides the result; the same as that of the command.
    command : str
        The command that runs the same.
    """

    name: str
    run_id: str | None
    metric: str
    folds: pd.DataFrame
    scores: pd.DataFrame
    predictions: pd.DataFrame
    model: Model
    notes: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    config_hash: str = ""
    command: str = ""

    @property
    def score(self) -> float:
        """The mean headline score on test rows."""
        return self._get_row(self.metric)["test"]

    @property
    def html(self) -> str:
        """The result as a fragment of HTML, as notebooks show it."""
        return self._repr_html_()

    def __repr__(self) -> str:
        stored = f", run {self.run_id}" if self.run_id else ", not stored"
        return f"<RunResult {self.name}: test {self.metric} {self._write_cell(self.metric, 'test')}{stored}>"

    def __rich__(self) -> Any:
        """Return the scores as a table for a terminal."""
        from rich.text import Text

        rows = f"model {self.model.record.describe_rows()}"
        return Text(f"{self.name}\n{render_text(self._tabulate())}\n{rows}")

    def _repr_html_(self) -> str:
        return render_template(TEMPLATE, {"result": self, "scores": self._tabulate()})

    def _tabulate(self) -> Table:
        rows = [[metric, *(self._write_cell(metric, part) for part in self._parts)] for metric in self.scores.index]
        return make_table("scores", ["metric", *self._parts], rows)

    @property
    def _parts(self) -> list[str]:
        return [part for part in PARTS if part in self.scores.columns]

    def _write_cell(self, metric: str, part: str) -> str:
        is_computed = f"{part}_{metric}" in self.folds.columns
        return format_mean(self._get_row(metric), part) if is_computed else ""

    def _get_row(self, metric: str) -> dict[str, float]:
        row = self.scores.loc[[metric]].to_dict("records")[0]
        return {str(name): float(value) for name, value in row.items()}


def tabulate_folds(folds: Sequence[FoldResult]) -> pd.DataFrame:
    """Return the measured values of each fold, a row each."""
    rows = [measure_fold(fold) for fold in folds]
    numbers = pd.Index([fold.number for fold in folds], name="fold")
    return pd.DataFrame(rows, index=numbers)


def tabulate_scores(experiment: Experiment, folds: Sequence[FoldResult]) -> pd.DataFrame:
    """Return the means over folds and their standard deviations: a row for each metric, the headline first.

    Training rows have a score by the headline alone, and NaN elsewhere, unless they are scored by all metrics.
    """
    summary = summarize_folds(experiment, folds)
    parts = [part for part in PARTS if f"{part}_" in SCORE_PREFIXES and f"{part}_{experiment.headline}" in summary]
    rows = {metric: _select_metric(summary, metric, parts) for metric in experiment.metrics}
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.rename_axis("metric")


def _select_metric(summary: Mapping[str, float], metric: str, parts: Sequence[str]) -> dict[str, float]:
    values = {}
    for part in parts:
        values[part] = summary.get(f"{part}_{metric}", float("nan"))
        deviation = summary.get(f"{part}_{metric}{STD}")
        if deviation is not None:
            values[f"{part}{STD}"] = deviation
    return values
