"""The tables of an explanation, which the terminal and the page show."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.explanation.dependence import MISSING, Dependence, Point
from bakeoff.pipeline.explanation.importances import Importance
from bakeoff.pipeline.explanation.learner_parts import Coefficients, Impurities
from bakeoff.pipeline.explanation.outputs import ModelOutputs
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table
from bakeoff.pipeline.text.numbers import format_change, format_coefficient, format_score
from bakeoff.pipeline.text.words import count_nouns

MAX_OUTPUTS = 4
"""Of more classes, those that a column changes most."""
BAR_LETTERS = 24
SPARKS = "▁▂▃▄▅▆▇█"


def tabulate_importances(importances: Sequence[Importance]) -> Table:
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
    columns: Row = ["column", "change", "±", Cell("", TEXT)]
    return make_table("Importance of the columns", columns, rows)


def tabulate_dependences(dependences: Sequence[Dependence], outputs: ModelOutputs) -> Table:
    """Return a row for each class that a column changes, or one if it changes none."""
    columns: Row = ["column", *(Cell(title, TEXT) for title in ("", "least", "greatest", "values in their order"))]
    rows = [row for dependence in dependences for row in _list_dependence(dependence, outputs)]
    return make_table("Partial dependence", columns, rows)


def tabulate_coefficients(coefficients: Coefficients) -> Table:
    """Return each coefficient as it is fitted and, if columns are scaled, for one unit of the column."""
    outputs = coefficients.outputs
    notes = ("as fitted", "per unit") if coefficients.are_scaled else ("",)
    columns: Row = ["column", *(Cell(name, note=note) for note in notes for name in outputs)]
    rows = []
    for each in coefficients.rows:
        numbers = [format_change(value) for value in each.values]
        if coefficients.are_scaled:
            numbers += [format_coefficient(value) for value in each.per_unit] or [""] * len(outputs)
        rows.append([each.feature, *numbers])
    return make_table("Coefficients", columns, rows)


def tabulate_impurities(impurities: Impurities) -> Table:
    """Return the share of each column in the splits of trees."""
    rows = [[name, format_score(share)] for name, share in impurities.shares]
    return make_table("Shares of columns", ["column", "share"], rows)


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


def _list_dependence(dependence: Dependence, outputs: ModelOutputs) -> list[list[str]]:
    is_single = len(outputs.names) == 1
    changed = _list_changed_outputs(dependence, len(outputs.names))
    if not changed:
        value = format_score(dependence.points[0].means[0]) if is_single else "the same"
        return [[dependence.column, "", f"{value} everywhere", "", ""]]
    rows = []
    for number, position in enumerate(changed):
        low, high = _find_ends(dependence, position)
        marks = draw_sparks([point.means[position] for point in dependence.points])
        # Missing cells stand apart.
        shown = f"{marks[:-1]} {marks[-1]}" if dependence.points[-1].label == MISSING else marks
        column = dependence.column if number == 0 else ""
        label = "" if is_single else outputs.names[position]
        rows.append([column, label, _describe_point(low, position), _describe_point(high, position), shown])
    return rows


def _list_changed_outputs(dependence: Dependence, n_outputs: int) -> list[int]:
    """Return the positions of the outputs that change most, in their order."""
    spans = {}
    for position in range(n_outputs):
        low, high = (point.means[position] for point in _find_ends(dependence, position))
        if format_score(low) != format_score(high):
            spans[position] = high - low
    return sorted(sorted(spans, key=lambda position: -spans[position])[:MAX_OUTPUTS])


def _find_ends(dependence: Dependence, position: int) -> tuple[Point, Point]:
    """Return the points with the least and the greatest mean of an output."""
    ranked = sorted(dependence.points, key=lambda point: point.means[position])
    return ranked[0], ranked[-1]


def _describe_point(point: Point, position: int) -> str:
    return f"{format_score(point.means[position])} at {point.label} ({count_nouns(point.n_rows, 'row')})"
