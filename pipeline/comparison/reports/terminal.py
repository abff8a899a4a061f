"""The report on a terminal: the question, the verdict, the tables, and what a reader must know."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult
from bakeoff.pipeline.comparison.reports import tables
from bakeoff.pipeline.comparison.reports.pairs import N_SHORT_COLUMNS, tabulate_overall_pairs, tabulate_pairs
from bakeoff.pipeline.tables.table import Table
from bakeoff.pipeline.tables.terminal import print_table
from bakeoff.pipeline.text.terminal import PIPE_WIDTH, escape, make_console

if TYPE_CHECKING:
    from rich.console import Console


def print_terminal(comparison: Comparison, console: Console) -> None:
    """Print the report."""
    _print(console, f"[bold]{escape(comparison.question)}[/]")
    _print(console, escape(comparison.selection))
    console.print()
    for sentence in comparison.verdict:
        _print(console, f"[bold]{escape(sentence)}[/]", indent=2)
    console.print()
    for result in comparison.results:
        if len(comparison.results) > 1:
            _print(console, f"[bold]By {escape(comparison.find_metric(result.metric).label)}[/]\n")
        _print_result(comparison, result, console)
    others = tables.tabulate_members(comparison, comparison.results[0])
    if others is not None:
        _print_table(others, console)
    if comparison.notes:
        _print(console, "Notes")
    for note in comparison.notes:
        _print(console, f"- {escape(note)}", indent=2)


def render_terminal(comparison: Comparison, width: int = PIPE_WIDTH) -> str:
    """Return the report as plain text of at most a width."""
    file = io.StringIO()
    print_terminal(comparison, make_console(file=file, width=width, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _print_result(comparison: Comparison, result: MetricResult, console: Console) -> None:
    """Print the tables by one metric: over datasets, and of each dataset if it is the only one or all are asked for."""
    overall = result.overall
    shows_all = comparison.settings.all_pairs
    if overall is not None:
        _print_table(tables.tabulate_scores(comparison, result), console)
        _print(console, escape("\n".join(tables.describe_overall(overall))) + "\n")
        if not overall.too_few:
            _print_table(tabulate_overall_pairs(overall, shows_all=shows_all), console)
        if result.pareto:
            _print_table(tables.tabulate_costs(comparison, result), console)
    if overall is not None and not shows_all:
        return
    for dataset in result.datasets:
        if overall is not None:
            _print(console, f"[bold]{escape(dataset.dataset)}[/]")
        _print_table(tables.tabulate_dataset(comparison, dataset, result.metric), console)
        _print_table(tabulate_pairs(dataset, shows_all=shows_all).choose_columns(range(N_SHORT_COLUMNS)), console)
        # The verdict on the only dataset is the verdict at the top of the report, which is not repeated.
        for sentence in dataset.verdict if overall is not None else ():
            _print(console, escape(sentence), indent=2)


def _print_table(table: Table, console: Console) -> None:
    print_table(table, console)
    console.print()


def _print(console: Console, text: str, indent: int = 0) -> None:
    """Print a text, folded at the width of the console."""
    from rich.padding import Padding

    console.print(Padding(text, (0, 0, 0, indent), expand=False) if indent else text, soft_wrap=False)
