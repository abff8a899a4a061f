"""Findings about changes between configurations, in all formats, and their storage as a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

import pandas as pd

from bakeoff.pipeline.comparison.changed_rows import ROW_COLUMNS, ChangedRows, RowGroup
from bakeoff.pipeline.comparison.changes import Change
from bakeoff.pipeline.comparison.comparison import ComparedMetric
from bakeoff.pipeline.comparison.effects import Effect
from bakeoff.pipeline.comparison.reports import replace_infinite
from bakeoff.pipeline.comparison.stored_comparison import ComparisonRecord, keep_comparison
from bakeoff.pipeline.tables.output_file import make_records, render_csv
from bakeoff.pipeline.tables.report import TEXT_FORMATS, Report, render_page
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table
from bakeoff.pipeline.text.wording import ABSENT, equate_p, format_change, format_p
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun

MeasuredChange = tuple[Change, Effect]
CHANGE_COLUMNS = ("key", "before", "after", "effect", "low", "high", "p_value")


@dataclass(frozen=True)
class Findings:
    """The findings about changes.

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
        The difference of the mean headline scores.
    changed_rows : ChangedRows or None
    is_worse : bool
        Whether the second configuration is significantly worse than the first.
    is_plan : bool
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

    @property
    def changes(self) -> pd.DataFrame:
        """The changes with effect, interval and p-value, and the interactions and the rest as rows."""
        rows = [(each.key, each.before, each.after, *asdict(effect).values()) for each, effect in self.measured]
        return pd.DataFrame(rows, columns=CHANGE_COLUMNS)

    @property
    def rows(self) -> pd.DataFrame:
        """The test rows whose prediction changed."""
        return pd.DataFrame(columns=ROW_COLUMNS) if self.changed_rows is None else self.changed_rows.table

    @property
    def groups(self) -> pd.DataFrame:
        """What the rows that became worse have in common."""
        groups = () if self.changed_rows is None else self.changed_rows.groups
        return pd.DataFrame([asdict(group) for group in groups], columns=[each.name for each in fields(RowGroup)])

    def render(self, to: str) -> str:
        """Return the findings in a format."""
        return TEXT_FORMATS[to][1](self.report) if to in TEXT_FORMATS else OWN_FORMATS[to](self)

    def keep(self, experiment: str) -> str:
        """Store the findings as a run of the comparisons of an experiment, and return its id."""
        extensions = {to: extension for to, (extension, _) in TEXT_FORMATS.items()}
        extensions |= {to: f".{to}" for to in OWN_FORMATS}
        record = ComparisonRecord(
            kind=self.kind,
            name=self.report.question,
            params={"question": self.report.question},
            tags={"command": self.report.command},
            summary="\n\n".join([f"**{self.report.question}**", *self.report.verdict]),
            run_names={run.run_id: run.name for run in self.runs},
            files={f"{self.kind}{extension}": self.render(to) for to, extension in extensions.items()},
        )
        return keep_comparison(self.store, experiment, record)


def _render_json(findings: Findings) -> str:
    tables = {name: list(make_records(getattr(findings, name))) for name in ("changes", "rows", "groups")}
    document = {"format": f"bakeoff.{findings.kind}", "format_version": 1, "difference": findings.difference, **tables}
    return json.dumps(replace_infinite(document), indent=1, ensure_ascii=False) + "\n"


def _render_changes(findings: Findings) -> str:
    cells = findings.changes.astype(object).fillna("").to_numpy()
    return render_csv(make_table("", CHANGE_COLUMNS, (map(str, row) for row in cells)))


OWN_FORMATS: Mapping[str, Callable[[Findings], str]] = {
    "csv": _render_changes,
    "json": _render_json,
    "html": lambda findings: render_page(findings.report),
}


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
    return make_table(f"Effects on {metric.label}", headings, lines)


def describe_effect(effect: Effect) -> str:
    """Return an effect with its p-value, if there is one."""
    size = format_change(effect.mean)
    return f"{size} ({equate_p(effect.p_value)})" if effect.is_tested else size
