"""An explanation as one HTML file that holds everything it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from bakeoff.pipeline.explanation.explanation import Explanation
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
        "bars": _draw_importances(explanation),
        "curves": _draw_dependences(explanation),
        "rules": [] if rules is None else _choose_rules(rules),
    }
    return render_template(TEMPLATE, values, FILTERS)


def _draw_importances(explanation: Explanation) -> str:
    """Return the picture of the importances; empty if there are none."""
    from bakeoff.pipeline.figures.explanation import draw_importances
    from bakeoff.pipeline.figures.svg import render_svg

    importances = explanation.importances
    if importances is None:
        return ""
    drawn = [*importances.columns, *importances.groups]
    figure = draw_importances(
        [", ".join(each.columns) for each in drawn],
        [each.mean for each in drawn],
        [each.deviation for each in drawn],
        importances.change,
    )
    return render_svg(figure, "importances", f"{importances.change} if the cells of a column are permuted")


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


def _choose_rules(rules: TreeRules) -> list[tuple[int, str]]:
    """Return the number and the words of each rule, or of those with most rows."""
    numbered = list(enumerate(rules.rules, start=1))
    if len(numbered) > MAX_RULES:
        largest = sorted(numbered, key=lambda item: -item[1].n_rows)[:MAX_RULES]
        numbered = sorted(largest, key=lambda item: item[0])
    return [(number, rule.words) for number, rule in numbered]
