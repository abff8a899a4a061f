"""An explanation on a terminal or as a self-contained HTML file, with the same sections and pictures on the page."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bakeoff.pipeline.commands.explain.explain_model import Explanation, LearnerParts
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table, print_table
from bakeoff.pipeline.text.wording import (
    count_nouns,
    escape,
    format_change,
    format_mean,
    format_score,
    join_words,
    make_console,
)

TEMPLATE = Path(__file__).parent / "page.html"
IMPORTANCE = "Importance"
DEPENDENCE = "Partial dependence"
MAX_LINES = 20
"""The maximum number of columns, coefficients or rules on the terminal; the page contains all of them."""
MAX_NAMED = 3
MARGIN_SHARE = 0.1
"""The margin above and below the curves, as a fraction of their range."""


@dataclass(frozen=True)
class Section:
    """A part of an explanation.

    Attributes
    ----------
    title : str
    text : str
        What is shown, and for which rows.
    table : Table or None
    lines : tuple of str
        The rules of a tree.
    notes : tuple of str
    """

    title: str
    text: str
    table: Table | None = None
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def print_explanation(explanation: Explanation) -> None:
    """Print an explanation to standard output."""
    console = make_console()
    first, *others = explanation.facts
    console.print(f"[bold]{escape(explanation.name)}[/]: {escape(first)}")
    console.print(escape(describe_most_important(explanation)))
    for fact in others:
        console.print(escape(fact))
    for section in list_sections(explanation):
        console.print(f"\n[bold]{section.title}[/]: {escape(section.text)}")
        n_rows = len(section.lines)
        if section.table is not None:
            n_rows = len(section.table.rows)
            print_table(replace(section.table, rows=section.table.rows[:MAX_LINES]), console)
        for line in section.lines[:MAX_LINES]:
            console.print(f"  {escape(line)}")
        if n_rows > MAX_LINES:
            console.print(f"… and {n_rows - MAX_LINES} more, which are on the page", style="dim")
        for note in section.notes:
            console.print(escape(note), style="dim")


def render_page(explanation: Explanation) -> str:
    """Return the page of an explanation; equal explanations produce equal pages."""
    sections = {section.title: section for section in list_sections(explanation)}
    dependences = sections.pop(DEPENDENCE)
    assert dependences.table is not None
    values = {
        "explanation": explanation,
        "verdict": describe_most_important(explanation),
        "importance": sections.pop(IMPORTANCE),
        "dependences": dependences,
        "pictures": zip(dependences.table.rows, explanation.dependences, _draw_dependences(explanation), strict=True),
        "sections": sections.values(),
        "most_open_lines": MAX_LINES,
    }
    return render_template(TEMPLATE, values, {"score": format_score})


def describe_most_important(explanation: Explanation) -> str:
    """Return a sentence on the columns whose importance exceeds its standard deviation."""
    importances = explanation.importances
    if importances is None:
        return f"The importances are not measured on {explanation.importance_rows}."
    clear = importances.columns.query("mean > deviation")[:MAX_NAMED]
    if clear.empty:
        return f"No column has a {importances.change} above its standard deviation."
    named = [f"{name} ({format_mean(mean, std)})" for name, mean, std in clear.itertuples()]
    return f"The model relies most on {join_words(named)}: {importances.change} if the column is permuted."


def list_sections(explanation: Explanation) -> list[Section]:
    """Return the content of an explanation for the terminal and the page."""
    return [
        _describe_importances(explanation),
        _describe_dependences(explanation),
        *_describe_parts(explanation.parts),
    ]


def _describe_importances(explanation: Explanation) -> Section:
    importances, rows = explanation.importances, explanation.importance_rows
    if importances is None:
        return Section(IMPORTANCE, f"not measured on {rows}.")
    text = (
        f"{importances.change} if a column is permuted, mean ± standard deviation over {importances.spread}; "
        f"{importances.metric} {format_score(importances.score)} before. On {rows}."
    )
    cells = [[str(name), format_score(mean), format_score(std)] for name, mean, std in importances.columns.itertuples()]
    table = make_table("Importance of the columns", ["column", importances.change, "±"], cells)
    note = "Columns with the same information can replace each other, so permuting only one of them changes little."
    return Section(IMPORTANCE, text, table, notes=(note,))


def _describe_dependences(explanation: Explanation) -> Section:
    """Return the smallest and the largest mean over the values of each column, for the output that changes most."""
    outputs = explanation.outputs
    is_single = len(outputs.names) == 1
    rows = []
    for each in explanation.dependences:
        code = int(np.ptp(each.means, axis=0).argmax())
        means = each.means[:, code]
        ends = [
            f"{format_score(means[at])} at {each.points[at].label} ({count_nouns(each.points[at].n_rows, 'row')})"
            for at in (means.argmin(), means.argmax())
        ]
        rows.append([each.column, *ends] if is_single else [each.column, outputs.names[code], *ends])
    headings = ("least", "greatest") if is_single else ("class", "least", "greatest")
    columns: Row = ["column", *(Cell(heading, TEXT) for heading in headings)]
    text = f"mean {outputs.words} if all rows had this value. On {explanation.dependence_rows}."
    notes = [f"{each.column}: {each.note}" for each in explanation.dependences if each.note]
    if explanation.dependence_note:
        notes.append(explanation.dependence_note)
    return Section(DEPENDENCE, text, make_table(DEPENDENCE, columns, rows), notes=tuple(notes))


def _describe_parts(parts: LearnerParts) -> list[Section]:
    """Return the rules of a tree or the coefficients of a linear model; nothing for other learners."""
    if parts.rules:
        text = f"{count_nouns(len(parts.rules), 'leaf', 'leaves')} with their training rows, largest first."
        return [Section("Rules", text, lines=tuple(rule.words for rule in parts.rules), notes=parts.notes)]
    if parts.coefficients is None:
        return []
    rows = [[str(name), *map(format_change, values)] for name, *values in parts.coefficients.itertuples()]
    table = make_table("Coefficients", ["column", *parts.coefficients.columns], rows)
    return [Section("Coefficients", "per unit after preprocessing, largest first.", table, notes=parts.notes)]


def _draw_dependences(explanation: Explanation) -> Iterator[str]:
    """Yield the picture of the partial dependence on each column, all with the same axis of the outputs."""
    from bakeoff.pipeline.commands.drawing.panels import narrowed, render_svg
    from bakeoff.pipeline.commands.explain.pictures import draw_dependence

    dependences = explanation.dependences
    low, high = min(each.means.min() for each in dependences), max(each.means.max() for each in dependences)
    margin = MARGIN_SHARE * (high - low) or 1.0
    for number, each in enumerate(dependences):
        with narrowed():
            figure = draw_dependence(each, explanation.outputs.names, (low - margin, high + margin))
        yield render_svg(figure, f"dependence-{number}", f"Partial dependence on {each.column}")
