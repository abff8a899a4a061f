"""An explanation as one HTML file that holds everything it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bakeoff.pipeline.explanation.explanation import Explanation
from bakeoff.pipeline.explanation.page.charts import (
    COLOURS,
    DASHES,
    Bar,
    BarScale,
    Curve,
    draw_curve,
    draw_importances,
)
from bakeoff.pipeline.explanation.tables import tabulate_coefficients, tabulate_impurities
from bakeoff.pipeline.explanation.tree_rules import TreeRules
from bakeoff.pipeline.tables.html import render_template, typeset
from bakeoff.pipeline.text.numbers import format_change, format_score

TEMPLATE = Path(__file__).parent / "page.html"
MAX_RULES = 1000
"""Of more leaves, those with most rows are listed."""

FILTERS: Mapping[str, Callable[[float], str]] = {
    "number": lambda value: typeset(format_score(value)),
    "change": lambda value: typeset(format_change(value)),
}


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
    parts = explanation.parts
    rules = parts.rules
    values = {
        "explanation": explanation,
        "outputs": explanation.outputs,
        "parts": parts,
        "importances": explanation.importances,
        "coefficients": tabulate_coefficients(explanation.parts.coefficients)
        if explanation.parts.coefficients
        else None,
        "impurities": tabulate_impurities(explanation.parts.impurities) if explanation.parts.impurities else None,
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
