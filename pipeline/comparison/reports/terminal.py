"""The report on a terminal: the question, the verdict, the tables, and what a reader must know."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table

from bakeoff.pipeline.comparison.comparison import BETTER, WORSE, Comparison, MetricResult, OverallResult
from bakeoff.pipeline.comparison.reports import tables
from bakeoff.pipeline.comparison.reports.text_table import TextTable, choose_columns
from bakeoff.pipeline.text.terminal import escape

PLAIN_WIDTH = 140
"""The width of the report in a file or a pipe, in characters."""
MARKS = (f" {BETTER}", f" {WORSE}")
BLANK_MARK = "\N{NO-BREAK SPACE}" * 2
"""Written in place of a missing mark; an ordinary blank at the end of an entry would be removed."""
MAX_DETAILED_DATASETS = 1
"""Up to this number of datasets, each has its table of intervals and pairs; pairs=all shows them for all."""


def print_terminal(comparison: Comparison, console: Console) -> None:
    """Print the report."""
    for part in _iterate_parts(comparison, console.width):
        console.print(part)


def render_terminal(comparison: Comparison, width: int = PLAIN_WIDTH) -> str:
    """Return the report as plain text of at most a width."""
    console = Console(
        file=io.StringIO(), width=width, color_system=None, force_terminal=False, highlight=False, emoji=False
    )
    print_terminal(comparison, console)
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    return "\n".join(lines) + "\n"


def _iterate_parts(comparison: Comparison, width: int) -> Iterator[RenderableType]:
    yield f"[bold]{escape(comparison.question)}[/]"
    yield escape(comparison.selection)
    yield ""
    for sentence in comparison.verdict:
        yield Padding(f"[bold]{escape(sentence)}[/]", (0, 0, 0, 2), expand=False)
    yield ""
    for result in comparison.results:
        yield from _iterate_result(comparison, result, width)
    others = tables.tabulate_members(comparison, comparison.results[0])
    if others is not None:
        yield from _draw_split(others, width, n_last=0)
    if comparison.notes:
        yield "Notes"
        for note in comparison.notes:
            yield Padding(f"- {escape(note)}", (0, 0, 0, 2), expand=False)


def _iterate_result(comparison: Comparison, result: MetricResult, width: int) -> Iterator[RenderableType]:
    """Yield the tables by one metric."""
    if len(comparison.results) > 1:
        yield f"[bold]By {escape(comparison.find_metric(result.metric).label)}[/]"
        yield ""
    if result.overall is not None:
        yield from _iterate_overall(comparison, result, result.overall, width)
    is_detailed = len(result.datasets) <= MAX_DETAILED_DATASETS or comparison.settings.all_pairs
    if is_detailed:
        yield from _iterate_datasets(comparison, result, width)


def _iterate_overall(
    comparison: Comparison, result: MetricResult, overall: OverallResult, width: int
) -> Iterator[RenderableType]:
    """Yield the tables over datasets."""
    yield from _draw_split(tables.tabulate_scores(comparison, result), width, n_last=0)
    lines = [tables.describe_tests(overall), overall.too_few, *tables.list_left_out(overall)]
    yield escape("\n".join(line for line in lines if line))
    yield ""
    if not overall.too_few:
        yield from _draw_split(tables.tabulate_overall_pairs(comparison, overall), width, n_last=0)
    if result.pareto:
        yield from _draw_split(tables.tabulate_costs(comparison, result), width, n_last=0)


def _iterate_datasets(comparison: Comparison, result: MetricResult, width: int) -> Iterator[RenderableType]:
    """Yield the tables of each dataset."""
    # The verdict on the only dataset is the verdict at the top of the report, which is not repeated.
    is_only = result.overall is None
    for dataset in result.datasets:
        if not is_only:
            yield f"[bold]{escape(dataset.dataset)}[/]"
        yield from _draw_split(tables.tabulate_dataset(comparison, dataset, result.metric), width, n_last=3)
        yield from _draw_split(tables.tabulate_pairs(comparison, dataset), width, n_last=3)
        if not is_only:
            for sentence in dataset.verdict:
                yield Padding(escape(sentence), (0, 0, 0, 2), expand=False)
            yield ""


def _draw_split(table: TextTable, width: int, n_last: int) -> Iterator[RenderableType]:
    """Yield a table, in several parts below one another if its columns do not fit.

    The first column is repeated in each part, and the last ones stay together.
    """
    table = _align_marks(table)
    blocks = split_columns(table, width, n_last)
    for number, columns in enumerate(blocks):
        if number:
            yield ""
        yield _draw_table(choose_columns(table, columns))
    if table.footnote:
        yield f"[dim]{escape(table.footnote)}[/]"
    yield ""


def split_columns(table: TextTable, width: int, n_last: int) -> list[list[int]]:
    """Return which columns stand together in a part of a table that fits into a width."""
    n_columns = len(table.columns)
    widths = [
        max(len(table.columns[column]), *(len(row[column]) for row in table.rows)) + 2 for column in range(n_columns)
    ]
    first_last = n_columns - n_last
    groups = [[column] for column in range(1, first_last)]
    if n_last:
        groups.append(list(range(first_last, n_columns)))
    blocks: list[list[int]] = []
    block: list[int] = [0]
    for group in groups:
        needed = sum(widths[column] for column in [*block, *group])
        if needed > width and len(block) > 1:
            blocks.append(block)
            block = [0]
        block += group
    return [*blocks, block]


def _draw_table(table: TextTable) -> Table:
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, column in enumerate(table.columns):
        # Names are folded where a line is too short for them, so that nothing is cut.
        drawn.add_column(escape(column), justify="left" if number == 0 else "right", overflow="fold")
    for row in table.iterate_rows():
        drawn.add_row(*[_write_entry(text, is_emphasized) for text, is_emphasized in row])
    return drawn


def _align_marks(table: TextTable) -> TextTable:
    """Return a table in which entries without a mark have a blank in its place, so that numbers stand in columns."""
    marked = {column for row in table.rows for column, entry in enumerate(row) if entry.endswith(MARKS)}
    rows = []
    for row in table.rows:
        aligned = []
        for column, entry in enumerate(row):
            lacks_mark = column in marked and not entry.endswith(MARKS)
            aligned.append(f"{entry}{BLANK_MARK}" if lacks_mark else entry)
        rows.append(tuple(aligned))
    return replace(table, rows=tuple(rows))


def _write_entry(text: str, is_emphasized: bool) -> str:
    return f"[bold green]{escape(text)}[/]" if is_emphasized else escape(text)
