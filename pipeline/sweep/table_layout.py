"""The layout of a table of results: cells as text, and an arrangement that is legible at the width of the console."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from rich.console import Console
from rich.table import Table

from bakeoff.pipeline.sweep.result_table import Result, ResultTable
from bakeoff.pipeline.text.terminal import escape

MAX_ROWS = 30
"""Configurations in a table; the others are counted."""
MAX_NAME_WIDTH = 40
MAX_PANELS = 2
"""Parts of a table, one below the other, before the standard deviations are left out to make it narrower."""
BEST_MARK = "•"
"""WEKA's ``*`` means that a score is worse; it is not used here for the opposite."""
NO_MARK = " "
RANK = "mean rank"
GAP_WIDTH = 1
KEY_GAP = "  "
MAX_NOTES = 10

Style = Callable[[Result], str]
"""Writes a score."""


@dataclass(frozen=True)
class Grid:
    """A table of text.

    Attributes
    ----------
    corner : str
        The heading of the names of the rows.
    rows, columns : list of str
    cells : list of list of str
    is_best : ndarray of shape (rows, columns)
    has_std : bool
        Whether the cells show the standard deviation.
    key : list of str
        What the numbers in place of long names mean; empty if there are none.
    """

    corner: str
    rows: list[str]
    columns: list[str]
    cells: list[list[str]]
    is_best: np.ndarray
    has_std: bool
    key: list[str] = field(default_factory=list)

    @property
    def name_width(self) -> int:
        """The width of the names of the rows."""
        return min(MAX_NAME_WIDTH, max(len(name) for name in [self.corner, *self.rows]))

    def column_widths(self) -> list[int]:
        """Return the width of each column, with the gap before it."""
        return [
            GAP_WIDTH + max(len(self.columns[position]), *(len(cells[position]) for cells in self.cells))
            for position in range(len(self.columns))
        ]

    def split_columns(self, width: int) -> list[list[int]]:
        """Return the positions of the columns of each panel, such that each panel fits in a width."""
        panels: list[list[int]] = []
        n_free = 0
        for position, column_width in enumerate(self.column_widths()):
            if not panels or column_width > n_free:
                panels.append([])
                n_free = width - self.name_width
            panels[-1].append(position)
            n_free -= column_width
        return panels


def show_table(table: ResultTable, console: Console) -> None:
    """Print a table of results with its legend, and the reasons of the jobs without a score."""
    shown = replace(table, configurations=table.configurations[:MAX_ROWS])
    # Marks and ranks are those of the whole table: a hidden configuration may be the best of a dataset.
    best = {name: table.is_best[position] for position, name in enumerate(table.configurations)}
    is_best = np.array([best[name] for name in shown.configurations])
    notes = _number_reasons(shown)
    grid = _choose_grid(shown, is_best, table.mean_ranks, notes, console.width)
    console.print()
    console.print(_describe(table, grid), soft_wrap=True)
    for panel in grid.split_columns(console.width):
        console.print(_draw_panel(grid, panel))
    for line in _fill_lines(grid.key, console.width):
        console.print(escape(line), soft_wrap=True)
    for reason, number in list(notes.items())[:MAX_NOTES]:
        console.print(escape(f"[{number}] {reason}"), soft_wrap=True)
    n_further = len(notes) - MAX_NOTES
    if n_further > 0:
        console.print(f"and {n_further} other reasons; the list of unfinished jobs has them", soft_wrap=True)
    n_hidden = len(table.configurations) - len(shown.configurations)
    if n_hidden:
        order = "by mean rank" if table.mean_ranks is not None else "in this order"
        console.print(f"and {n_hidden} more configurations; these are the first {MAX_ROWS} {order}", soft_wrap=True)


def format_score(result: Result) -> str:
    """Return mean ± standard deviation, with four decimals.

    Examples
    --------
    >>> format_score(Result(0.95333, 0.032)), format_score(Result(0.95333)), format_score(Result())
    ('0.9533 ± 0.0320', '0.9533', 'undefined')
    """
    if not result.has_score:
        return "undefined"
    return f"{result.mean:.4f}" if result.std is None else f"{result.mean:.4f} ± {result.std:.4f}"


def format_score_closely(result: Result) -> str:
    """Return mean±standard deviation, with three decimals and no leading zeros.

    Examples
    --------
    >>> format_score_closely(Result(0.95333, 0.032)), format_score_closely(Result(1.0, 0.0))
    ('.953±.032', '1.00±.000')
    """
    if not result.has_score:
        return "undef."
    return _shorten(result.mean) if result.std is None else f"{_shorten(result.mean)}±{_shorten(result.std)}"


def format_mean_closely(result: Result) -> str:
    """Return the mean alone, with three decimals and no leading zero.

    Examples
    --------
    >>> [format_mean_closely(Result(mean)) for mean in (0.95333, 12.3456, -2.5)]
    ['.953', '12.3', '-2.50']
    """
    return _shorten(result.mean) if result.has_score else "undef."


STYLES: tuple[Style, ...] = (format_score, format_score_closely)
"""With the standard deviation, the widest first."""


def _shorten(value: float) -> str:
    """Write a number with three digits or three decimals in at most five letters, if it is below 100,000."""
    if abs(value) >= 1:
        digits = len(str(int(abs(value))))
        return f"{value:.{max(0, 3 - digits)}f}"
    text = f"{value:.3f}"
    return "1.00" if text == "1.000" else text.replace("0.", ".", 1)


def _choose_grid(
    table: ResultTable, is_best: np.ndarray, mean_ranks: np.ndarray | None, notes: dict[str, int], width: int
) -> Grid:
    """Return the first arrangement that fits; if none does, the narrowest in panels."""
    for grid, max_panels in _arrange(table, is_best, mean_ranks, notes):
        if len(grid.split_columns(width)) <= max_panels:
            return grid
    # The last arrangement is the narrowest.
    return grid


def _arrange(
    table: ResultTable, is_best: np.ndarray, mean_ranks: np.ndarray | None, notes: dict[str, int]
) -> Iterator[tuple[Grid, int]]:
    """Yield arrangements, the best first, and the number of panels that each may have."""
    grids = [_make_grid(table, is_best, mean_ranks, notes, style) for style in (*STYLES, format_mean_closely)]
    full, close, means = grids
    yield full, 1
    yield close, 1
    # A dataset for each row, as soon as there are more of them than configurations.
    if len(table.datasets) > len(table.configurations):
        yield from ((_transpose(grid), 1) for grid in (full, close))
        yield close, MAX_PANELS
        yield _transpose(means), MAX_PANELS
    yield close, MAX_PANELS
    yield means, len(table.datasets)


def _make_grid(
    table: ResultTable, is_best: np.ndarray, mean_ranks: np.ndarray | None, notes: dict[str, int], style: Style
) -> Grid:
    """Return a grid with a row for each configuration."""
    columns = list(table.datasets)
    cells = []
    for row, configuration in enumerate(table.configurations):
        line = []
        for column, dataset in enumerate(table.datasets):
            mark = BEST_MARK if is_best[row, column] else NO_MARK
            line.append(_write_cell(table.results.get((configuration, dataset)), style, notes) + mark)
        if mean_ranks is not None:
            rank = "" if np.isnan(mean_ranks[row]) else f"{mean_ranks[row]:.2f}"
            # Once the grid is transposed, ranks share their columns with marked scores, and need the same blank.
            line.append(rank + NO_MARK)
        cells.append(line)
    if mean_ranks is not None:
        columns.append(RANK)
        is_best = np.column_stack([is_best, np.zeros(len(cells), dtype=bool)])
    rows = list(table.configurations)
    return Grid("configuration", rows, columns, cells, is_best, has_std=style is not format_mean_closely)


def _write_cell(result: Result | None, style: Style, notes: dict[str, int]) -> str:
    """Return a score, or the failure with the number of its reason; empty if there is no such job."""
    if result is None:
        return ""
    if not result.failure:
        return style(result)
    number = notes[result.reason]
    return f"{result.failure} [{number}]" if style is format_score else f"[{number}]"


def _transpose(grid: Grid) -> Grid:
    """Return the grid with rows and columns exchanged; names that would widen the columns are numbered."""
    columns = grid.rows
    cells = [list(column) for column in zip(*grid.cells, strict=True)]
    cell_width = max(len(text) for line in cells for text in line)
    key: list[str] = []
    if max(len(name) for name in columns) > cell_width:
        numbers = [f"({number})" for number in range(1, len(columns) + 1)]
        key = [f"{number} {name}" for number, name in zip(numbers, columns, strict=True)]
        columns = numbers
    return Grid("dataset", grid.columns, columns, cells, grid.is_best.T, grid.has_std, key)


def _draw_panel(grid: Grid, positions: list[int]) -> Table:
    """Return a table of some of the columns."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP_WIDTH, 0, 0), header_style="bold")
    table.add_column(escape(grid.corner), max_width=MAX_NAME_WIDTH, overflow="fold")
    for position in positions:
        table.add_column(escape(grid.columns[position]), justify="right", no_wrap=True)
    for row, name in enumerate(grid.rows):
        cells = []
        for position in positions:
            text = escape(grid.cells[row][position])
            cells.append(f"[bold]{text}[/]" if grid.is_best[row, position] else text)
        table.add_row(escape(name), *cells)
    return table


def _describe(table: ResultTable, grid: Grid) -> str:
    """Return the line above a table: what the numbers are, and what the marks mean."""
    has_std = any(result.std is not None for result in table.results.values())
    parts = [f"[bold]{escape(table.metric)}[/]"]
    if has_std:
        parts.append("mean ± std over folds" if grid.has_std else "mean over folds (without std, to fit the width)")
    direction = "highest" if table.greater_is_better else "lowest"
    if table.is_best.any():
        parts.append(f"{BEST_MARK} {direction} of its dataset")
    if table.mean_ranks is not None:
        n_complete = len(table.complete_datasets)
        n_left_out = len(table.datasets) - n_complete
        incomplete = f", without {n_left_out} on which scores are missing" if n_left_out else ""
        parts.append(f"mean rank over {n_complete} datasets{incomplete}")
    elif len(table.datasets) > 1 and table.is_ranked.sum() > 1:
        parts.append("no mean rank, because fewer than two datasets have all scores")
    return "; ".join(parts)


def _fill_lines(parts: list[str], width: int) -> list[str]:
    """Join words to lines that are no longer than a width, if each of them fits.

    Examples
    --------
    >>> _fill_lines(["(1) knn", "(2) svm", "(3) mlp"], 18)
    ['(1) knn  (2) svm', '(3) mlp']
    """
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(KEY_GAP) + len(part) <= width:
            lines[-1] += KEY_GAP + part
        else:
            lines.append(part)
    return lines


def _number_reasons(table: ResultTable) -> dict[str, int]:
    """Return a number for each reason why a score is missing, in the order of the table."""
    numbers: dict[str, int] = {}
    for configuration in table.configurations:
        for dataset in table.datasets:
            result = table.results.get((configuration, dataset))
            if result is not None and result.failure:
                numbers.setdefault(result.reason, len(numbers) + 1)
    return numbers
