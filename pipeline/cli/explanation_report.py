"""What ``bakeoff explain`` prints: importances, partial dependence, and what the learner says of itself."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bakeoff.pipeline.explanation.dependence import MISSING, Dependence, Point
from bakeoff.pipeline.explanation.explanation import Explanation
from bakeoff.pipeline.explanation.importances import Importances
from bakeoff.pipeline.explanation.learner_parts import Coefficients, Impurities, LearnerParts
from bakeoff.pipeline.explanation.numbers import format_change, format_coefficient, format_output
from bakeoff.pipeline.explanation.outputs import ModelOutputs
from bakeoff.pipeline.explanation.tree_rules import TreeRules
from bakeoff.pipeline.text.terminal import escape

PIPE_COLUMNS = 140
"""Width of the tables where standard output is not a terminal."""
MAX_LINES = 20
"""Of more columns, coefficients or rules, the page has all."""
MAX_OUTPUTS = 4
"""Of more classes, the page has all."""
MAX_NAMES = 5
BAR_LETTERS = 24
SPARKS = "▁▂▃▄▅▆▇█"


def print_explanation(explanation: Explanation) -> None:
    """Print an explanation to standard output.

    Parameters
    ----------
    explanation : Explanation
    """
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=PIPE_COLUMNS)
    first, *others = explanation.facts
    _print_line(console, f"[bold]{escape(explanation.name)}[/]: {escape(first)}")
    for fact in others:
        _print_line(console, escape(fact))
    if explanation.importances is None:
        _print_heading(console, "Importance", f"not measured: {explanation.importance_rows}")
    else:
        _print_importances(console, explanation.importances, explanation.importance_rows)
    _print_dependences(console, explanation)
    _print_parts(console, explanation.parts)


def _print_line(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True)


def _print_heading(console: Console, title: str, note: str = "") -> None:
    console.print()
    end = f": {escape(note)}" if note else ""
    _print_line(console, f"[bold]{title}[/]{end}")


def _make_table(names: Sequence[str], n_numbers: int) -> Table:
    """Return a table of which the first column is text, and the next ones are numbers."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for position, name in enumerate(names):
        is_number = 1 <= position <= n_numbers
        table.add_column(escape(name), justify="right" if is_number else "left", overflow="fold")
    return table


def _print_importances(console: Console, importances: Importances, rows: str) -> None:
    score = f"{importances.metric.replace('_', ' ')} {format_output(importances.score)}"
    note = (
        f"{importances.change} if a column is permuted, mean ± standard deviation over {importances.spread}; "
        f"{score} before. On {rows}."
    )
    _print_heading(console, "Importance", note)
    table = _make_table(("column", "change", "±", ""), 2)
    largest = max((each.mean for each in importances.columns), default=0.0)
    for each in importances.columns[:MAX_LINES]:
        bar = "█" * round(BAR_LETTERS * max(each.mean, 0.0) / largest) if largest > 0 else ""
        name = escape(", ".join(each.columns))
        table.add_row(name, format_output(each.mean), format_output(each.deviation), bar)
    console.print(table)
    _print_rest(console, len(importances.columns), "columns")
    for group in importances.groups:
        names = _list_names(group.columns)
        _print_line(
            console,
            f"[yellow]note:[/] {escape(names)} are related: one explains half of another or more, and stands in for "
            f"it. Permuted together: {format_output(group.mean)} ± {format_output(group.deviation)}.",
        )


def _list_names(names: Sequence[str]) -> str:
    """Return names with commas between them; of many, the number of further ones.

    Examples
    --------
    >>> _list_names(["a", "b"]), _list_names(list("abcdefgh"))
    ('a, b', 'a, b, c, d, e and 3 more')
    """
    n_more = len(names) - MAX_NAMES
    return f"{', '.join(names[:MAX_NAMES])} and {n_more} more" if n_more > 1 else ", ".join(names)


def _print_rest(console: Console, n: int, things: str) -> None:
    if n > MAX_LINES:
        _print_line(console, f"[dim]… and {n - MAX_LINES} more {things}, which are on the page[/]")


def _print_dependences(console: Console, explanation: Explanation) -> None:
    outputs = explanation.outputs
    note = f"mean {outputs.describe_all()}"
    _print_heading(
        console, "Partial dependence", f"{note} if all rows had this value. On {explanation.dependence_rows}."
    )
    table = _make_table(("column", "", "least", "greatest", "values in their order"), 0)
    for dependence in explanation.dependences:
        _add_dependence(table, dependence, outputs)
    console.print(table)
    for dependence in explanation.dependences:
        if dependence.note:
            _print_line(console, f"[dim]{escape(dependence.column)}: {escape(dependence.note)}[/]")
    if explanation.dependence_note:
        _print_line(console, f"[dim]{escape(explanation.dependence_note)}[/]")


def _add_dependence(table: Table, dependence: Dependence, outputs: ModelOutputs) -> None:
    """Add a row for each class that the column changes, or one if it changes none."""
    changed = _list_changed_outputs(dependence, len(outputs.names))
    if not changed:
        value = f"{format_output(dependence.points[0].means[0])} everywhere"
        table.add_row(
            escape(dependence.column), "", value if len(outputs.names) == 1 else "the same everywhere", "", ""
        )
    for number, position in enumerate(changed):
        column = escape(dependence.column) if number == 0 else ""
        label = escape(outputs.names[position]) if len(outputs.names) > 1 else ""
        low, high = _find_ends(dependence, position)
        marks = _mark_points(dependence, position)
        table.add_row(column, label, _describe_point(low, position), _describe_point(high, position), marks)


def _list_changed_outputs(dependence: Dependence, n_outputs: int) -> list[int]:
    """Return the positions of the outputs that change most, in their order."""
    spans = {}
    for position in range(n_outputs):
        low, high = _find_ends(dependence, position)
        if format_output(low.means[position]) != format_output(high.means[position]):
            spans[position] = high.means[position] - low.means[position]
    largest = sorted(spans, key=lambda position: -spans[position])[:MAX_OUTPUTS]
    return sorted(largest)


def _find_ends(dependence: Dependence, position: int) -> tuple[Point, Point]:
    """Return the points with the least and the greatest mean of an output."""
    ranked = sorted(dependence.points, key=lambda point: point.means[position])
    return ranked[0], ranked[-1]


def _describe_point(point: Point, position: int) -> str:
    unit = "row" if point.n_rows == 1 else "rows"
    return escape(f"{format_output(point.means[position])} at {point.label} ({point.n_rows} {unit})")


def _mark_points(dependence: Dependence, position: int) -> str:
    """Return a letter for each point; that of missing cells stands apart."""
    marks = draw_sparks([point.means[position] for point in dependence.points])
    return f"{marks[:-1]} {marks[-1]}" if dependence.points[-1].label == MISSING else marks


def draw_sparks(values: Sequence[float]) -> str:
    """Return a letter for each value, the higher the greater.

    Examples
    --------
    >>> draw_sparks([0.0, 0.5, 1.0])
    '▁▅█'
    """
    low = min(values)
    span = max(values) - low
    if span == 0:
        return SPARKS[0] * len(values)
    return "".join(SPARKS[round((value - low) / span * (len(SPARKS) - 1))] for value in values)


def _print_parts(console: Console, parts: LearnerParts) -> None:
    if parts.is_empty:
        _print_heading(console, "Learner", f"{parts.learner} has neither rules nor coefficients to show.")
        return
    if parts.rules is not None:
        _print_rules(console, parts.rules)
    if parts.coefficients is not None:
        _print_coefficients(console, parts.coefficients)
    if parts.impurities is not None:
        _print_impurities(console, parts.impurities)
    for note in parts.notes:
        _print_line(console, f"[dim]{escape(note)}[/]")


def _print_rules(console: Console, rules: TreeRules) -> None:
    n = len(rules.rules)
    leaves = "1 leaf" if n == 1 else f"{n} leaves"
    _print_heading(console, "Rules", f"{rules.target}, by {leaves} of depth {rules.depth}, with their training rows")
    ranked = sorted(rules.rules, key=lambda rule: -rule.n_rows)[:MAX_LINES]
    kept = [rule for rule in rules.rules if rule in ranked] if n > MAX_LINES else list(rules.rules)
    for rule in kept[:MAX_LINES]:
        _print_line(console, f"  {escape(rule.words)}")
    if n > MAX_LINES:
        _print_line(console, f"[dim]… the {MAX_LINES} leaves with most rows; all {n} are on the page[/]")


def _print_coefficients(console: Console, coefficients: Coefficients) -> None:
    outputs = coefficients.outputs[:MAX_OUTPUTS]
    note = f"of {', '.join(coefficients.outputs)}" if len(coefficients.outputs) <= MAX_OUTPUTS else "the first classes"
    _print_heading(console, "Coefficients", f"{note}, the largest first")
    names = ["column", *(f"{name}, as fitted" for name in outputs)]
    names += [f"{name}, per unit" for name in outputs] if coefficients.are_scaled else []
    table = _make_table(names, len(names))
    for row in coefficients.rows[:MAX_LINES]:
        numbers = [format_change(value) for value in row.values[:MAX_OUTPUTS]]
        if coefficients.are_scaled:
            numbers += [format_coefficient(value) for value in row.per_unit[:MAX_OUTPUTS]] or [""] * len(outputs)
        table.add_row(escape(row.feature), *numbers)
    console.print(table)
    _print_rest(console, len(coefficients.rows), "coefficients")


def _print_impurities(console: Console, impurities: Impurities) -> None:
    sizes = f"{impurities.trees}; " if impurities.trees else ""
    note = f"{sizes}{impurities.measure}, on training rows"
    _print_heading(console, "Splits", note)
    table = _make_table(("column", "share"), 1)
    for name, share in impurities.shares[:MAX_LINES]:
        table.add_row(escape(name), format_output(share))
    console.print(table)
    _print_rest(console, len(impurities.shares), "columns")
