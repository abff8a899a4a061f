"""The reports of a comparison: for a terminal, for papers (Markdown, LaTeX) and for programs (JSON, CSV)."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.comparison.comparison import Comparison
from bakeoff.pipeline.comparison.report_tables import iterate_sections
from bakeoff.pipeline.tables.markup import escape_markdown, render_section
from bakeoff.pipeline.tables.markup import render_latex as render_latex_table
from bakeoff.pipeline.tables.table import make_table
from bakeoff.pipeline.tables.table_formats import render_csv as render_csv_table
from bakeoff.pipeline.tables.terminal import print_table
from bakeoff.pipeline.text.terminal import PIPE_WIDTH, escape, make_console

if TYPE_CHECKING:
    from rich.console import Console

INDENT = 2


def print_terminal(comparison: Comparison, console: Console) -> None:
    """Print the report."""
    from rich.padding import Padding

    console.print(f"[bold]{escape(comparison.question)}[/]\n{escape(comparison.selection)}\n", soft_wrap=False)
    for sentence in comparison.verdict:
        console.print(Padding(f"[bold]{escape(sentence)}[/]", (0, 0, 0, INDENT), expand=False), soft_wrap=False)
    console.print()
    for number, (table, sentences) in enumerate(iterate_sections(comparison)):
        if number:
            console.print(f"[bold]{escape(table.title)}[/]", soft_wrap=False)
        print_table(table, console)
        for sentence in sentences:
            console.print(escape(sentence), soft_wrap=False)
        console.print()
    for note in comparison.notes:
        console.print(f"- {escape(note)}", soft_wrap=False)


def render_terminal(comparison: Comparison, width: int = PIPE_WIDTH) -> str:
    """Return the report as plain text with a maximum width."""
    file = io.StringIO()
    print_terminal(comparison, make_console(file=file, width=width, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def render_markdown(comparison: Comparison) -> str:
    """Return the report as Markdown."""
    return "\n".join(_iterate_markdown(comparison)) + "\n"


def _iterate_markdown(comparison: Comparison) -> Iterator[str]:
    yield from (f"# {escape_markdown(comparison.question)}", "", escape_markdown(comparison.selection), "")
    for sentence in comparison.verdict:
        yield from (f"**{escape_markdown(sentence)}**", "")
    for table, sentences in iterate_sections(comparison):
        yield from render_section(table)
        for sentence in sentences:
            yield from (escape_markdown(sentence), "")
    notes = [*comparison.notes, f"Command: {comparison.command}"]
    yield from ("## Notes", "", *(f"- {escape_markdown(note)}" for note in notes))


def render_latex(comparison: Comparison) -> str:
    """Return the tables as LaTeX; the verdict and the notes are comments."""
    # A line break would end a comment.
    comments = (" ".join(text.split()) for text in (comparison.command, *comparison.verdict, *comparison.notes))
    lines = [r"% \usepackage{booktabs}", *(f"% {comment}" for comment in comments)]
    for table, sentences in iterate_sections(comparison):
        lines += render_latex_table(table, " ".join([f"{table.title}.", *sentences, table.footnote]))
    return "\n".join(lines) + "\n"


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
    rows = ([_write(row.get(column, "")) for column in COLUMNS] for row in _iterate_rows(comparison))
    return render_csv_table(make_table("", COLUMNS, rows))


def _iterate_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    learners = {row.name: row.learner for row in comparison.configurations}
    for result in comparison.results:
        datasets = {dataset.dataset: dataset for dataset in result.datasets}
        for cell in comparison.cells:
            summary = datasets[cell.dataset].find_summary(cell.configuration)
            yield {
                **({} if summary is None else vars(summary)),
                **vars(cell),
                "metric": result.metric,
                "learner": learners[cell.configuration],
                "base": datasets[cell.dataset].base,
                "n_folds": len(cell.scores.get(result.metric, ())),
                "run_ids": " ".join(cell.run_ids),
            }


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
