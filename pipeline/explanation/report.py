"""An explanation on a terminal, and as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bakeoff.pipeline.explanation.dependence import MISSING, Dependence
from bakeoff.pipeline.explanation.explain_model import Explanation
from bakeoff.pipeline.explanation.importances import Importance
from bakeoff.pipeline.explanation.learner_parts import Coefficients, LearnerParts
from bakeoff.pipeline.explanation.outputs import ModelOutputs
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table
from bakeoff.pipeline.tables.terminal import print_table
from bakeoff.pipeline.text.numbers import format_change, format_coefficient, format_mean, format_score
from bakeoff.pipeline.text.terminal import escape, make_console
from bakeoff.pipeline.text.words import count_nouns, join_words, name_first

if TYPE_CHECKING:
    from rich.console import Console

TEMPLATE = Path(__file__).parent / "page.html"
MAX_LINES = 20
"""Of more columns, coefficients or rules, the page has all."""
MAX_RULES = 1000
"""On the page; of more leaves, those with most rows are listed."""
MAX_OUTPUTS = 4
"""Of more classes, those that a column changes most."""
BAR_LETTERS = 24
SPARKS = "▁▂▃▄▅▆▇█"


def print_explanation(explanation: Explanation) -> None:
    """Print an explanation to standard output."""
    console = make_console()
    first, *others = explanation.facts
    console.print(f"[bold]{escape(explanation.name)}[/]: {escape(first)}")
    for fact in others:
        console.print(escape(fact))
    _print_importances(console, explanation)
    _print_dependences(console, explanation)
    _print_parts(console, explanation.parts)


def _print_heading(console: Console, title: str, note: str) -> None:
    console.print(f"\n[bold]{title}[/]: {escape(note)}")


def _print_table(console: Console, table: Table, things: str) -> None:
    print_table(replace(table, rows=table.rows[:MAX_LINES]), console)
    n_more = len(table.rows) - MAX_LINES
    if n_more > 0:
        console.print(f"… and {n_more} more {things}, which are on the page", style="dim")


def _print_importances(console: Console, explanation: Explanation) -> None:
    importances, rows = explanation.importances, explanation.importance_rows
    if importances is None:
        _print_heading(console, "Importance", f"not measured: {rows}")
        return
    note = (
        f"{importances.change} if a column is permuted, mean ± standard deviation over {importances.spread}; "
        f"{importances.metric} {format_score(importances.score)} before. On {rows}."
    )
    _print_heading(console, "Importance", note)
    _print_table(console, _tabulate_importances(importances.columns, "change"), "columns")
    for group in importances.groups:
        console.print(
            f"[yellow]note:[/] {escape(name_first(group.columns))} are related: one explains half of another or more, "
            f"and stands in for it. Permuted together: {format_mean(group.mean, group.deviation)}."
        )


def _print_dependences(console: Console, explanation: Explanation) -> None:
    outputs = explanation.outputs
    note = f"mean {outputs.describe_all()} if all rows had this value. On {explanation.dependence_rows}."
    _print_heading(console, "Partial dependence", note)
    columns: Row = ["column", *(Cell(title, TEXT) for title in ("", "least", "greatest", "values in their order"))]
    rows = [row for dependence in explanation.dependences for row in _list_dependence(dependence, outputs)]
    print_table(make_table("Partial dependence", columns, rows), console)
    notes = [f"{each.column}: {each.note}" for each in explanation.dependences if each.note]
    for line in (*notes, explanation.dependence_note):
        if line:
            console.print(escape(line), style="dim")


def _print_parts(console: Console, parts: LearnerParts) -> None:
    if parts.is_empty:
        _print_heading(console, "Learner", f"{parts.learner} has neither rules nor coefficients to show.")
        return
    if parts.rules is not None:
        leaves = count_nouns(len(parts.rules.rules), "leaf", "leaves")
        note = f"{parts.rules.target}, by {leaves} of depth {parts.rules.depth}, with their training rows"
        _print_heading(console, "Rules", note)
        for _, words in parts.rules.choose_largest(MAX_LINES):
            console.print(f"  {escape(words)}")
        if len(parts.rules.rules) > MAX_LINES:
            console.print(f"… the {MAX_LINES} leaves with most rows; all {leaves} are on the page", style="dim")
    if parts.coefficients is not None:
        outputs = parts.coefficients.outputs
        what = "the first classes" if len(outputs) > MAX_OUTPUTS else f"of {join_words(outputs)}"
        _print_heading(console, "Coefficients", f"{what}, the largest first")
        _print_table(console, _tabulate_coefficients(parts.coefficients, MAX_OUTPUTS), "coefficients")
    if parts.shares is not None:
        sizes = f"{parts.shares.trees}; " if parts.shares.trees else ""
        _print_heading(console, "Splits", f"{sizes}{parts.shares.measure}, on training rows")
        _print_table(console, _tabulate_shares(parts.shares.of_columns), "columns")
    for note in parts.notes:
        console.print(escape(note), style="dim")


def render_page(explanation: Explanation) -> str:
    """Return the page of an explanation; equal explanations give equal pages."""
    importances, parts = explanation.importances, explanation.parts
    values: dict[str, object] = {"explanation": explanation, "parts": parts, "importances": importances}
    values["curves"] = _draw_dependences(explanation)
    if importances is not None:
        drawn = [*importances.columns, *importances.groups]
        table = _tabulate_importances(drawn, importances.change).choose_columns([0, 1, 2])
        values["importance_table"] = replace(table, n_sums=len(importances.groups))
        values["bars"] = _draw_importances(drawn, importances.change)
    if parts.rules is not None:
        values["rules"] = parts.rules.choose_largest(MAX_RULES)
    if parts.coefficients is not None:
        values["coefficient_table"] = _tabulate_coefficients(parts.coefficients)
        values["intercepts"] = _describe_intercepts(parts.coefficients)
    if parts.shares is not None:
        values["share_table"] = _tabulate_shares(parts.shares.of_columns)
    return render_template(TEMPLATE, values, {"score": format_score})


def _draw_importances(drawn: Sequence[Importance], change: str) -> str:
    from bakeoff.pipeline.figures.explanation import draw_importances
    from bakeoff.pipeline.figures.svg import render_svg

    names = [", ".join(each.columns) for each in drawn]
    figure = draw_importances(names, [each.mean for each in drawn], [each.deviation for each in drawn], change)
    return render_svg(figure, "importances", f"{change} if the cells of a column are permuted")


def _draw_dependences(explanation: Explanation) -> str:
    """Return the picture of the partial dependence on all columns; empty if there are none."""
    from bakeoff.pipeline.figures.explanation import Curve, draw_dependences
    from bakeoff.pipeline.figures.svg import render_svg

    curves = [
        Curve(
            each.column,
            [point.label for point in each.points],
            [point.position for point in each.points],
            [point.n_rows for point in each.points],
            np.array([point.means for point in each.points]),
        )
        for each in explanation.dependences
    ]
    if not curves:
        return ""
    figure = draw_dependences(curves, explanation.outputs.names)
    return render_svg(figure, "dependence", f"Partial dependence on {', '.join(curve.column for curve in curves)}")


def _tabulate_importances(importances: Sequence[Importance], change: str) -> Table:
    """Return mean and deviation of each importance, with a bar of letters."""
    largest = max((each.mean for each in importances), default=0.0)
    rows = [
        [
            ", ".join(each.columns),
            format_score(each.mean),
            format_score(each.deviation),
            "█" * round(BAR_LETTERS * max(each.mean, 0.0) / largest) if largest > 0 else "",
        ]
        for each in importances
    ]
    columns: Row = ["column", change, "±", Cell("", TEXT)]
    return make_table("Importance of the columns", columns, rows)


def _tabulate_coefficients(coefficients: Coefficients, most: int | None = None) -> Table:
    """Return each coefficient as it is fitted and, if columns are scaled, for one unit of the column."""
    fitted = coefficients.fitted.iloc[:, :most]
    outputs = coefficients.outputs[:most]
    notes = ("as fitted", "per unit") if coefficients.are_scaled else ("",)
    columns: Row = ["column", *(Cell(name, note=note) for note in notes for name in outputs)]
    rows = [[str(name), *map(format_change, values)] for name, *values in fitted.itertuples()]
    if coefficients.are_scaled:
        for row, values in zip(rows, coefficients.per_unit.iloc[:, :most].to_numpy(), strict=True):
            row += ["" if np.isnan(value) else format_coefficient(value) for value in values]
    return make_table("Coefficients", columns, rows)


def _describe_intercepts(coefficients: Coefficients) -> str:
    """Return the intercepts in words; empty unless there is one for each output."""
    intercepts, outputs = coefficients.intercepts, coefficients.outputs
    if len(intercepts) != len(outputs):
        return ""
    if len(outputs) == 1:
        return format_change(intercepts[0])
    return ", ".join(f"{format_change(value)} ({name})" for value, name in zip(intercepts, outputs, strict=True))


def _tabulate_shares(shares: pd.Series) -> Table:
    """Return the share of each column in the splits of trees."""
    rows = [[str(name), format_score(share)] for name, share in shares.items()]
    return make_table("Shares of columns", ["column", "share"], rows)


def _list_dependence(dependence: Dependence, outputs: ModelOutputs) -> list[list[str]]:
    """Return a row for each output that a column changes, or one if it changes none."""
    means = np.array([point.means for point in dependence.points])  # (v, k)
    is_single = len(outputs.names) == 1
    low, high = means.min(axis=0), means.max(axis=0)  # (k,)
    changed = [code for code in range(len(low)) if format_score(low[code]) != format_score(high[code])]
    if not changed:
        value = format_score(low[0]) if is_single else "the same"
        return [[dependence.column, "", f"{value} everywhere", "", ""]]
    most = sorted(changed, key=lambda code: low[code] - high[code])[:MAX_OUTPUTS]
    rows: list[list[str]] = []
    for code in sorted(most):
        ends = [
            f"{format_score(means[at, code])} at {dependence.points[at].label} "
            f"({count_nouns(dependence.points[at].n_rows, 'row')})"
            for at in (means[:, code].argmin(), means[:, code].argmax())
        ]
        marks = draw_sparks(means[:, code].tolist())
        # Missing cells are drawn separately.
        shown = f"{marks[:-1]} {marks[-1]}" if dependence.points[-1].label == MISSING else marks
        rows.append(["" if rows else dependence.column, "" if is_single else outputs.names[code], *ends, shown])
    return rows


def draw_sparks(values: Sequence[float]) -> str:
    """Return a letter for each value, the higher the greater.

    Examples
    --------
    >>> draw_sparks([0.0, 0.5, 1.0])
    '▁▅█'
    """
    low = min(values)
    span = (max(values) - low) or 1.0
    return "".join(SPARKS[round((value - low) / span * (len(SPARKS) - 1))] for value in values)
