"""What `diff` and `ablate` find: the effects of changes, as tables and as a report that a store keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from io import StringIO
from typing import Any

import pandas as pd

from bakeoff.pipeline.commands.comparison_report.comparison import ComparedMetric
from bakeoff.pipeline.commands.comparison_report.kept_report import keep_report
from bakeoff.pipeline.commands.diff.changed_rows import ROW_COLUMNS, ChangedRows, RowGroup
from bakeoff.pipeline.commands.diff.changes import Change
from bakeoff.pipeline.commands.diff.effects import Effect
from bakeoff.pipeline.commands.diff.request import DiffRequest
from bakeoff.pipeline.config.requests import require_value
from bakeoff.pipeline.python.call import show_html
from bakeoff.pipeline.tables.document import render_document
from bakeoff.pipeline.tables.output_file import write_csv
from bakeoff.pipeline.tables.report import TEXT_FORMATS, Report, render_page
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table
from bakeoff.pipeline.text.wording import ABSENT, equate_p, format_change, format_p
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun

MeasuredChange = tuple[Change, Effect]
CHANGE_COLUMNS = ("key", "before", "after", "effect", "low", "high", "p_value")


@dataclass(frozen=True, repr=False)
class DifferenceResult:
    """The effects of changes between configurations.

    Attributes
    ----------
    kind : str
        ``difference`` or ``ablation``.
    report : Report
    runs : sequence of StoredRun
        The runs to which the findings refer.
    store : Store
    measured : sequence of (Change, Effect)
        The changes; the effects are NaN if only the plan was requested.
    difference : float
        The difference of the mean headline scores, b minus a; of `ablate`, that of the simpler configuration.
    changed_rows : ChangedRows or None
    is_worse : bool
        Whether the second configuration is significantly worse than the first.
    is_plan : bool
    run_id : str or None
        The run that stores the reports, if they are kept.
    """

    kind: str
    report: Report
    runs: Sequence[StoredRun]
    store: Store
    measured: Sequence[MeasuredChange]
    difference: float
    changed_rows: ChangedRows | None = None
    is_worse: bool = False
    is_plan: bool = False
    run_id: str | None = None

    @property
    def changes(self) -> pd.DataFrame:
        """A row for each change, with key, before, after, effect, low, high and p_value, and for the rest."""
        rows = [(each.key, each.before, each.after, *asdict(effect).values()) for each, effect in self.measured]
        return pd.DataFrame(rows, columns=CHANGE_COLUMNS)

    @property
    def rows(self) -> pd.DataFrame:
        """A row for each test row whose prediction changed, with row, truth, before and after."""
        return pd.DataFrame(columns=ROW_COLUMNS) if self.changed_rows is None else self.changed_rows.table

    @property
    def groups(self) -> pd.DataFrame:
        """What the rows that became worse have in common."""
        groups = () if self.changed_rows is None else self.changed_rows.groups
        return pd.DataFrame([asdict(group) for group in groups], columns=[each.name for each in fields(RowGroup)])

    @property
    def verdict(self) -> str:
        """The verdict in sentences, one per line."""
        return "\n".join(self.report.verdict)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys and values of the JSON document."""
        return {key: getattr(self, key) for key in ("difference", "changes", "rows", "groups")}

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
        require_value(DiffRequest, "to", to)
        if to == "csv":
            text = StringIO()
            write_csv(self.changes, text)
            return text.getvalue()
        if to == "json":
            return render_document(self.kind, self.to_dict())
        return render_page(self.report) if to == "html" else TEXT_FORMATS[to](self.report)

    def keep(self, experiment: str) -> DifferenceResult:
        """Store the reports as a run of the comparisons of an experiment, and return the result with its id."""
        runs = {run.run_id: run.name for run in self.runs}
        return replace(self, run_id=keep_report(self.store, experiment, self.kind, self.report, runs, self.render))

    def __repr__(self) -> str:
        return f"<DifferenceResult: {self.report.verdict[0]}>"

    def _repr_html_(self) -> str:
        return show_html(repr(self), [self.changes, self.groups], [*self.report.verdict, *self.report.notes])


def tabulate_effects(measured: Sequence[MeasuredChange], metric: ComparedMetric) -> Table:
    """Return the table of changes with their effects."""
    headings: Row = ["change", Cell("before", TEXT), Cell("after", TEXT), "effect", Cell("interval", TEXT), "p (Holm)"]
    lines = [
        [
            change.key,
            change.before or ABSENT,
            change.after or ABSENT,
            format_change(effect.mean),
            f"[{format_change(effect.low)}, {format_change(effect.high)}]" if effect.is_tested else ABSENT,
            format_p(effect.p_value),
        ]
        for change, effect in measured
    ]
    footnote = "Intervals are not adjusted for the number of effects." if len(lines) > 1 else ""
    return make_table(f"Effects on {metric.label}", headings, lines, footnote)


def describe_effect(effect: Effect) -> str:
    """Return an effect with its p-value, if there is one."""
    size = format_change(effect.mean)
    return f"{size} ({equate_p(effect.p_value)})" if effect.is_tested else size
