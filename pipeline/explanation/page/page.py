"""An explanation as one HTML file that holds everything it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.explanation.explanation import Explanation
from bakeoff.pipeline.explanation.numbers import format_change, format_coefficient, format_output
from bakeoff.pipeline.explanation.page.charts import (
    COLOURS,
    DASHES,
    Bar,
    BarScale,
    Curve,
    draw_curve,
    draw_importances,
)
from bakeoff.pipeline.explanation.page.waterfall import Step, draw_waterfall
from bakeoff.pipeline.explanation.tree_rules import TreeRules
from bakeoff.pipeline.tables.html import render_template

TEMPLATE = Path(__file__).parent / "page.html"
MAX_RULES = 1000
"""Of more leaves, those with most rows are listed."""
MAX_STEPS = 20
"""Of more columns, the smallest contributions are one step."""
MAX_ALL_CLASSES = 12
"""Of more classes, the contributions to the predicted one alone are shown."""

FILTERS = {"number": format_output, "change": format_change, "per_unit": format_coefficient}


@dataclass(frozen=True)
class Waterfall:
    """The way from the mean to the prediction of a row, for one output.

    Attributes
    ----------
    title : str
    steps : sequence of Step
    """

    title: str
    steps: Sequence[Step]


def write_page(explanation: Explanation, path: Path) -> None:
    """Write the page of an explanation.

    Parameters
    ----------
    explanation : Explanation
    path : Path
        A file that is replaced if it exists.
    """
    path.write_text(render_page(explanation), encoding="utf-8")


def render_page(explanation: Explanation) -> str:
    """Return the page of an explanation; equal explanations give equal pages."""
    rules = explanation.parts.rules
    values = {
        "explanation": explanation,
        "outputs": explanation.outputs,
        "parts": explanation.parts,
        "importances": explanation.importances,
        "bars": _draw_bars(explanation),
        "curves": _draw_curves(explanation),
        "legend": _list_legend(explanation.outputs.names),
        "rules": [] if rules is None else _choose_rules(rules),
        "row": explanation.row,
        "waterfalls": _draw_waterfalls(explanation),
    }
    return render_template(TEMPLATE, values, FILTERS)


def _draw_bars(explanation: Explanation) -> tuple[BarScale, list[Bar]] | None:
    if explanation.importances is None:
        return None
    return draw_importances([*explanation.importances.columns, *explanation.importances.groups])


def _draw_curves(explanation: Explanation) -> list[Curve]:
    """Return the pictures of all columns, with one vertical axis."""
    means = [mean for each in explanation.dependences for point in each.points for mean in point.means]
    if not means:
        return []
    low = min(means)
    high = max(means)
    return [draw_curve(each, explanation.outputs.names, low, high) for each in explanation.dependences]


def _list_legend(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return name, colour and dash of each output; nothing for a single one."""
    if len(names) == 1:
        return []
    n = len(COLOURS)
    return [(name, COLOURS[code % n], DASHES[code // n % len(DASHES)]) for code, name in enumerate(names)]


def _choose_rules(rules: TreeRules) -> list[tuple[int, str]]:
    """Return the number and the words of each rule, or of those with most rows."""
    numbered = list(enumerate(rules.rules, start=1))
    if len(numbered) > MAX_RULES:
        largest = sorted(numbered, key=lambda item: -item[1].n_rows)[:MAX_RULES]
        numbered = sorted(largest, key=lambda item: item[0])
    return [(number, rule.words) for number, rule in numbered]


def _draw_waterfalls(explanation: Explanation) -> list[Waterfall]:
    """Return a waterfall for each output, that of the predicted class first."""
    row = explanation.row
    if row is None:
        return []
    outputs = explanation.outputs
    order = [row.main, *(code for code in range(len(outputs.names)) if code != row.main)]
    if len(order) > MAX_ALL_CLASSES:
        order = order[:1]
    return [
        Waterfall(outputs.describe(code), draw_waterfall(row, code, explanation.background, MAX_STEPS))
        for code in order
    ]
