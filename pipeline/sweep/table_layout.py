"""The table of the results of a sweep, in the arrangement that is legible at the width of the console."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.pipeline.sweep.result_table import Result, ResultTable
from bakeoff.pipeline.tables.table import BEST_SIGN, EMPTY, NUMBER, Cell, Row, Table, make_table
from bakeoff.pipeline.tables.terminal import GAP, print_table, split_columns
from bakeoff.pipeline.text.numbers import format_deviation, format_mean, format_statistic
from bakeoff.pipeline.text.terminal import escape
from bakeoff.pipeline.text.words import count_nouns

if TYPE_CHECKING:
    from rich.console import Console

MAX_ROWS = 30
"""Configurations in a table; the others are counted."""
MAX_PANELS = 2
"""Parts of a table, one below the other, before the standard deviations are left out to make it narrower."""
MAX_NOTES = 10
RANK = "mean rank"


def tabulate_results(table: ResultTable) -> Table:
    """Return a row for each configuration: its mean rank, and its score on each dataset or why there is none."""
    ranks = table.mean_ranks
    rows: list[Row] = []
    for row, name in enumerate(table.configurations):
        cells = [
            _write_result(table.results.get((name, dataset)), is_best=bool(table.is_best[row, column]))
            for column, dataset in enumerate(table.datasets)
        ]
        rows.append([name, *([] if ranks is None else [format_statistic(ranks[row])]), *cells])
    columns = ["configuration", *([] if ranks is None else [RANK]), *table.datasets]
    return make_table(table.metric, columns, rows)


def show_table(table: ResultTable, console: Console) -> None:
    """Print a table of results with its legend, and the reasons of the jobs without a score."""
    # Marks and ranks are those of the whole table: a hidden configuration may be the best of a dataset.
    whole = tabulate_results(table)
    numbered, reasons = _number_reasons(replace(whole, rows=whole.rows[:MAX_ROWS]))
    shown = _choose_arrangement(numbered, len(table.datasets), console.width)
    console.print()
    console.print(_describe(table, shown))
    print_table(shown, console)
    for number, reason in enumerate(reasons[:MAX_NOTES], start=1):
        console.print(escape(f"[{number}] {reason}"))
    if len(reasons) > MAX_NOTES:
        n_further = len(reasons) - MAX_NOTES
        console.print(f"and {count_nouns(n_further, 'other reason')}; the list of unfinished jobs has them")
    n_hidden = len(whole.rows) - MAX_ROWS
    if n_hidden > 0:
        order = "by mean rank" if table.mean_ranks is not None else "in this order"
        hidden = count_nouns(n_hidden, "more configuration")
        console.print(f"and {hidden}; these are the first {MAX_ROWS} {order}")


def _write_result(result: Result | None, *, is_best: bool) -> Cell:
    """Return a score, or why there is none; empty if there is no such job."""
    if result is None or result.failure:
        return Cell("", EMPTY) if result is None else Cell(result.failure, EMPTY, hint=result.reason)
    note = format_deviation(np.nan if result.std is None else result.std)
    return Cell(format_mean(result.mean), note=note if result.has_score else "", is_best=is_best)


def _number_reasons(table: Table) -> tuple[Table, list[str]]:
    """Return the table with a number beside each failure, and the reasons in this order."""
    failed = [cell for row in table.rows for cell in row if cell.kind == EMPTY and cell.text]
    reasons = list(dict.fromkeys(cell.hint for cell in failed))
    rows = (
        tuple(
            replace(cell, note=f"[{reasons.index(cell.hint) + 1}]") if cell.kind == EMPTY and cell.text else cell
            for cell in row
        )
        for row in table.rows
    )
    return replace(table, rows=tuple(rows)), reasons


def _choose_arrangement(table: Table, n_datasets: int, width: int) -> Table:
    """Return the first arrangement that fits; if none does, the narrowest."""
    for shown, max_panels in _arrange(table, n_datasets):
        if len(split_columns(shown, width)) <= max_panels:
            return shown
    return shown


def _arrange(table: Table, n_datasets: int) -> Iterator[tuple[Table, int]]:
    """Yield arrangements, the best first, and the number of panels that each may have."""
    means = table.drop_notes()
    yield table, 1
    # A dataset for each row, as soon as there are more of them than configurations.
    if n_datasets > len(table.rows):
        n_sums = len(table.columns) - 1 - n_datasets
        yield _number_columns(table.transpose("dataset", n_sums)), 1
        yield _number_columns(means.transpose("dataset", n_sums)), MAX_PANELS
    yield table, MAX_PANELS
    yield means, n_datasets


def _number_columns(table: Table) -> Table:
    """Return the table with numbers in place of names that would widen its columns; the footnote has the names."""
    names = [column.text for column in table.columns[1:]]
    cell_width = max(len(cell.line) for row in table.rows for cell in row[1:])
    if max(map(len, names)) <= cell_width:
        return table
    numbers = [f"({number})" for number in range(1, len(names) + 1)]
    key = GAP.join(f"{number} {name}" for number, name in zip(numbers, names, strict=True))
    return replace(table, columns=(table.columns[0], *map(Cell, numbers)), footnote=key)


def _describe(table: ResultTable, shown: Table) -> str:
    """Return the line above a table: what the numbers are, and what the marks mean."""
    parts = [f"[bold]{escape(table.metric)}[/]"]
    has_deviations = any(cell.note for row in shown.rows for cell in row if cell.kind == NUMBER)
    if any(result.std is not None for result in table.results.values()):
        parts.append("mean ± std over folds" if has_deviations else "mean over folds (without std, to fit the width)")
    direction = "highest" if table.greater_is_better else "lowest"
    if table.is_best.any():
        parts.append(f"{BEST_SIGN} {direction} of its dataset")
    if table.mean_ranks is not None:
        n_complete = len(table.complete_datasets)
        n_left_out = len(table.datasets) - n_complete
        incomplete = f", without {n_left_out} on which scores are missing" if n_left_out else ""
        parts.append(f"{RANK} over {n_complete} datasets{incomplete}")
    elif len(table.datasets) > 1 and table.is_ranked.sum() > 1:
        parts.append(f"no {RANK}, because fewer than two datasets have all scores")
    return "; ".join(parts)
