"""An explanation as one HTML file that holds everything it needs."""

from __future__ import annotations

from collections.abc import Sequence
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
from bakeoff.pipeline.explanation.tree_rules import TreeRules
from bakeoff.pipeline.tables.html import render_template

TEMPLATE = Path(__file__).parent / "page.html"
MAX_RULES = 1000
"""Of more leaves, those with most rows are listed."""

FILTERS = {"number": format_output, "change": format_change, "per_unit": format_coefficient}


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
