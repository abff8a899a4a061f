"""Reports for papers: Markdown that GitHub and MLflow render, and LaTeX with the rules of booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult
from bakeoff.pipeline.comparison.reports import tables
from bakeoff.pipeline.comparison.reports.pairs import N_SHORT_COLUMNS, tabulate_overall_pairs, tabulate_pairs
from bakeoff.pipeline.tables.latex import render_latex as render_latex_table
from bakeoff.pipeline.tables.markdown import escape_markdown, render_section
from bakeoff.pipeline.tables.table import Table


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
    # A name may hold the sign that ends a block of code; a longer one does not end here.
    fence = "`" * max(3, 1 + max(len(run) for run in re.findall("`*", "\n".join(commands))))
    yield from ("## Repeat", "", f"{fence}sh", *commands, fence)
