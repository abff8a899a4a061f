"""An explanation on a terminal: importances, partial dependence, and what the learner says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bakeoff.pipeline.explanation.explanation import Explanation
from bakeoff.pipeline.explanation.importances import Importances
from bakeoff.pipeline.explanation.learner_parts import LearnerParts
from bakeoff.pipeline.explanation.tables import (
    MAX_OUTPUTS,
    tabulate_coefficients,
    tabulate_dependences,
    tabulate_importances,
    tabulate_impurities,
)
from bakeoff.pipeline.explanation.tree_rules import TreeRules
from bakeoff.pipeline.tables.table import Table
from bakeoff.pipeline.tables.terminal import print_table
from bakeoff.pipeline.text.numbers import format_mean, format_score
from bakeoff.pipeline.text.terminal import escape, make_console
from bakeoff.pipeline.text.words import count_nouns, join_words, name_first

if TYPE_CHECKING:
    from rich.console import Console

MAX_LINES = 20
"""Of more columns, coefficients or rules, the page has all."""


def print_explanation(explanation: Explanation) -> None:
    """Print an explanation to standard output.

    Parameters
    ----------
    explanation : Explanation
    """
    console = make_console()
    first, *others = explanation.facts
    console.print(f"[bold]{escape(explanation.name)}[/]: {escape(first)}")
    for fact in others:
        console.print(escape(fact))
    if explanation.importances is None:
        _print_heading(console, "Importance", f"not measured: {explanation.importance_rows}")
    else:
        _print_importances(console, explanation.importances, explanation.importance_rows)
    _print_dependences(console, explanation)
    _print_parts(console, explanation.parts)


def _print_heading(console: Console, title: str, note: str) -> None:
    console.print(f"\n[bold]{title}[/]: {escape(note)}")


def _print_table(console: Console, table: Table, things: str) -> None:
    print_table(replace(table, rows=table.rows[:MAX_LINES]), console)
    n_more = len(table.rows) - MAX_LINES
    if n_more > 0:
        console.print(f"… and {n_more} more {things}, which are on the page", style="dim")


def _print_importances(console: Console, importances: Importances, rows: str) -> None:
    note = (
        f"{importances.change} if a column is permuted, mean ± standard deviation over {importances.spread}; "
        f"{importances.metric.replace('_', ' ')} {format_score(importances.score)} before. On {rows}."
    )
    _print_heading(console, "Importance", note)
    _print_table(console, tabulate_importances(importances.columns), "columns")
    for group in importances.groups:
        console.print(
            f"[yellow]note:[/] {escape(name_first(group.columns))} are related: one explains half of another or more, "
            f"and stands in for it. Permuted together: {format_mean(group.mean, group.deviation)}."
        )


def _print_dependences(console: Console, explanation: Explanation) -> None:
    outputs = explanation.outputs
    note = f"mean {outputs.describe_all()} if all rows had this value. On {explanation.dependence_rows}."
    _print_heading(console, "Partial dependence", note)
    print_table(tabulate_dependences(explanation.dependences, outputs), console)
    notes = [f"{each.column}: {each.note}" for each in explanation.dependences if each.note]
    for line in (*notes, explanation.dependence_note):
        if line:
            console.print(escape(line), style="dim")


def _print_parts(console: Console, parts: LearnerParts) -> None:
    if parts.is_empty:
        _print_heading(console, "Learner", f"{parts.learner} has neither rules nor coefficients to show.")
        return
    if parts.rules is not None:
        _print_rules(console, parts.rules)
    if parts.coefficients is not None:
        # Of more classes, the page has all.
        shown = parts.coefficients.keep_outputs(MAX_OUTPUTS)
        is_cut = len(parts.coefficients.outputs) > MAX_OUTPUTS
        what = "the first classes" if is_cut else f"of {join_words(shown.outputs)}"
        _print_heading(console, "Coefficients", f"{what}, the largest first")
        _print_table(console, tabulate_coefficients(shown), "coefficients")
    if parts.impurities is not None:
        sizes = f"{parts.impurities.trees}; " if parts.impurities.trees else ""
        _print_heading(console, "Splits", f"{sizes}{parts.impurities.measure}, on training rows")
        _print_table(console, tabulate_impurities(parts.impurities), "columns")
    for note in parts.notes:
        console.print(escape(note), style="dim")


def _print_rules(console: Console, rules: TreeRules) -> None:
    leaves = count_nouns(len(rules.rules), "leaf", "leaves")
    _print_heading(console, "Rules", f"{rules.target}, by {leaves} of depth {rules.depth}, with their training rows")
    for words in _choose_rules(rules):
        console.print(f"  {escape(words)}")
    if len(rules.rules) > MAX_LINES:
        console.print(f"… the {MAX_LINES} leaves with most rows; all {len(rules.rules)} are on the page", style="dim")


def _choose_rules(rules: TreeRules) -> Iterator[str]:
    """Yield the rules of the leaves with most rows, in the order of the tree."""
    ranked = sorted(range(len(rules.rules)), key=lambda position: -rules.rules[position].n_rows)
    for position in sorted(ranked[:MAX_LINES]):
        yield rules.rules[position].words
