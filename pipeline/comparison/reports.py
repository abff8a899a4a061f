"""The reports of a comparison: for a terminal, for papers (Markdown, LaTeX) and for programs (JSON, CSV)."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.comparison import report_tables as tables
from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult
from bakeoff.pipeline.comparison.pair_tables import N_SHORT_COLUMNS, tabulate_overall_pairs, tabulate_pairs
from bakeoff.pipeline.tables.markup import escape_markdown, render_section
from bakeoff.pipeline.tables.markup import render_latex as render_latex_table
from bakeoff.pipeline.tables.table import Table, make_table
from bakeoff.pipeline.tables.table_formats import render_csv as render_csv_table
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
    """Return the report as plain text with a maximum width."""
    file = io.StringIO()
    print_terminal(comparison, make_console(file=file, width=width, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _print_result(comparison: Comparison, result: MetricResult, console: Console) -> None:
    """Print the tables for one metric: over several datasets, and for the only one or, on request, for each."""
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
        # The verdict on the only dataset is at the top of the report, and not repeated.
        for sentence in dataset.verdict if overall is not None else ():
            _print(console, escape(sentence), indent=2)


def _print_table(table: Table, console: Console) -> None:
    print_table(table, console)
    console.print()


def _print(console: Console, text: str, indent: int = 0) -> None:
    """Print a text, folded at the width of the console."""
    from rich.padding import Padding

    console.print(Padding(text, (0, 0, 0, indent), expand=False) if indent else text, soft_wrap=False)


def render_markdown(comparison: Comparison) -> str:
    """Return the report as Markdown."""
    return "\n".join(_iterate_markdown(comparison)) + "\n"


def render_latex(comparison: Comparison) -> str:
    """Return the tables as LaTeX; the verdict and the notes are comments and captions."""
    # A line break would end a comment.
    comments = (" ".join(text.split()) for text in (comparison.command, *comparison.verdict, *comparison.notes))
    lines = [r"% \usepackage{booktabs}", *(f"% {comment}" for comment in comments)]
    for table, sentences in _iterate_tables(comparison):
        lines += render_latex_table(table, " ".join([*sentences, table.footnote]))
    return "\n".join(lines) + "\n"


def _iterate_tables(comparison: Comparison) -> Iterator[tuple[Table, list[str]]]:
    """Yield the tables of all metrics, with the sentences that belong to each."""
    for result in comparison.results:
        yield from _iterate_result(comparison, result)
    others = tables.tabulate_members(comparison, comparison.results[0])
    if others is not None:
        yield others, []


def _iterate_result(comparison: Comparison, result: MetricResult) -> Iterator[tuple[Table, list[str]]]:
    shows_all = comparison.settings.all_pairs
    overall = result.overall
    if overall is not None:
        yield tables.tabulate_scores(comparison, result), [*overall.verdict, *tables.describe_overall(overall)]
        if not overall.too_few:
            yield tabulate_overall_pairs(overall, shows_all=shows_all), []
        if result.pareto:
            yield tables.tabulate_costs(comparison, result), []
    for dataset in result.datasets:
        yield tables.tabulate_dataset(comparison, dataset, result.metric), list(dataset.verdict)
        pairs = tabulate_pairs(dataset, shows_all=shows_all).choose_columns(range(N_SHORT_COLUMNS))
        yield pairs, [f"{pairs.title}."]


def _iterate_markdown(comparison: Comparison) -> Iterator[str]:
    yield from (f"# {escape_markdown(comparison.question)}", "", escape_markdown(comparison.selection), "")
    for sentence in comparison.verdict:
        yield from (f"**{escape_markdown(sentence)}**", "")
    for table, sentences in _iterate_tables(comparison):
        yield from render_section(table)
        for sentence in sentences:
            yield from (escape_markdown(sentence), "")
    if comparison.notes:
        yield from ("## Notes", "", *(f"- {escape_markdown(note)}" for note in comparison.notes), "")
    commands = [*comparison.repeat, comparison.command]
    # A name may contain a fence of a block of code; a longer fence avoids a conflict.
    fence = "`" * max(3, 1 + max(len(run) for run in re.findall("`*", "\n".join(commands))))
    yield from ("## Repeat", "", f"{fence}sh", *commands, fence)


FORMAT = "bakeoff.comparison"
FORMAT_VERSION = 1
"""The version, incremented when a key changes its meaning or is removed, but not for new keys."""
COLUMNS = (
    "metric", "dataset", "configuration", "learner", "mean", "std", "low", "high", "rank", "is_best", "mark", "p_value",
    "base", "n_folds", "n_train", "n_test", "fit_seconds", "predict_seconds", "n_fits", "reason", "run_ids",
)  # fmt: skip


def render_json(comparison: Comparison) -> str:
    """Return the comparison as JSON.

    The keys are the attributes of `Comparison` and its parts, where they are documented. Numbers have the digits that
    give them back exactly; one that does not exist or is not finite is null.
    """
    document = _replace_infinite({"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(comparison)})
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def render_csv(comparison: Comparison) -> str:
    """Return a row per cell and metric, with full precision; an empty cell has a reason and no numbers."""
    rows = (map(_write, row) for result in comparison.results for row in _iterate_rows(comparison, result))
    return render_csv_table(make_table("", COLUMNS, rows))


def _iterate_rows(comparison: Comparison, result: MetricResult) -> Iterator[list[Any]]:
    for dataset in result.datasets:
        for configuration in comparison.configurations:
            cell = comparison.find_cell(configuration.name, dataset.dataset)
            summary = dataset.find_summary(configuration.name)
            own = {
                **({} if summary is None else vars(summary)),
                **vars(cell),
                "metric": result.metric,
                "learner": configuration.learner,
                "base": dataset.base,
                "n_folds": len(cell.scores.get(result.metric, ())),
                "run_ids": " ".join(cell.run_ids),
            }
            yield [own.get(column, "") for column in COLUMNS]


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # The shortest text that reads back as the same float.
        return "" if math.isnan(value) else repr(value)
    return str(value)


def _replace_infinite(value: Any) -> Any:
    """Return a document without NaN and infinite numbers, for which JSON has no notation."""
    if isinstance(value, dict):
        return {key: _replace_infinite(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(child) for child in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
