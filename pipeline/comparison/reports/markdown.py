"""The report as Markdown, with tables that GitHub and MLflow render."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult
from bakeoff.pipeline.comparison.reports import tables
from bakeoff.pipeline.comparison.reports.text_table import TextTable


def render_markdown(comparison: Comparison) -> str:
    """Return the report as Markdown."""
    return "\n".join(_iterate_lines(comparison)) + "\n"


def _iterate_lines(comparison: Comparison) -> Iterator[str]:
    yield f"# {_escape(comparison.question)}"
    yield ""
    yield _escape(comparison.selection)
    yield ""
    for sentence in comparison.verdict:
        yield f"**{_escape(sentence)}**"
        yield ""
    for result in comparison.results:
        yield from _iterate_result(comparison, result)
    others = tables.tabulate_members(comparison, comparison.results[0])
    if others is not None:
        yield from _write_table(others)
    if comparison.notes:
        yield "## Notes"
        yield ""
        yield from (f"- {_escape(note)}" for note in comparison.notes)
        yield ""
    yield "## Repeat"
    yield ""
    commands = [*comparison.repeat, comparison.command]
    # A name may hold the sign that ends a block of code; a longer one does not end here.
    fence = "`" * max(3, 1 + max(len(run) for run in re.findall("`*", "\n".join(commands))))
    yield f"{fence}sh"
    yield from commands
    yield fence


def _iterate_result(comparison: Comparison, result: MetricResult) -> Iterator[str]:
    overall = result.overall
    if overall is not None:
        yield from _write_table(tables.tabulate_scores(comparison, result))
        for line in (tables.describe_tests(overall), overall.too_few, *tables.list_left_out(overall)):
            if line:
                yield _escape(line)
                yield ""
        if not overall.too_few:
            yield from _write_table(tables.tabulate_overall_pairs(comparison, overall))
        if result.pareto:
            yield from _write_table(tables.tabulate_costs(comparison, result))
    for dataset in result.datasets:
        yield from _write_table(tables.tabulate_dataset(comparison, dataset, result.metric))
        yield from _write_table(tables.tabulate_pairs(comparison, dataset))
        for sentence in dataset.verdict:
            yield _escape(sentence)
        yield ""


def _write_table(table: TextTable) -> Iterator[str]:
    yield f"## {_escape(table.title)}"
    yield ""
    yield _write_row([_escape(column) for column in table.columns])
    yield _write_row(["---", *(["---:"] * (len(table.columns) - 1))])
    for row in table.iterate_rows():
        yield _write_row([_write_entry(text, is_emphasized) for text, is_emphasized in row])
    yield ""
    if table.footnote:
        yield _escape(table.footnote)
        yield ""


def _write_entry(text: str, is_emphasized: bool) -> str:
    escaped = _escape(text)
    return f"**{escaped}**" if is_emphasized else escaped


def _write_row(entries: list[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _escape(text: str) -> str:
    """Return text without the signs that Markdown interprets."""
    # The backslash comes first, because the other signs are escaped by it.
    for sign in ("\\", "|", "*", "_", "<", "`", "~"):
        text = text.replace(sign, f"\\{sign}")
    # Brackets are the signs of an interval as well, and begin a link only before these.
    text = re.sub(r"\](?=[(:\[])", r"]\\", text)
    text = re.sub(r"&(?=#?\w+;)", r"\\&", text)
    return " ".join(text.split())
