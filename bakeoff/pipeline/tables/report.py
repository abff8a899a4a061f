"""A report of several tables, with its verdict and notes, as text for terminals, papers and browsers."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.tables import markup
from bakeoff.pipeline.tables.output_file import TERMINAL
from bakeoff.pipeline.tables.table import Table, print_table
from bakeoff.pipeline.text.wording import PIPE_WIDTH, escape, make_console, show_in_line

if TYPE_CHECKING:
    from rich.console import Console

Section = tuple[Table, Sequence[str]]
"""A table, and the sentences that belong to it."""
INDENT = 2
TEMPLATE = Path(__file__).parent / "report.html"


@dataclass(frozen=True)
class Report:
    """A report, independent of its format.

    Attributes
    ----------
    question, selection : str
        The question that the report answers, and the runs that it reads.
    verdict : sequence of str
        The answer in sentences.
    sections : sequence of Section
    notes : sequence of str
    command : str
        The command that repeats the report.
    """

    question: str
    selection: str
    verdict: Sequence[str]
    sections: Sequence[Section]
    notes: Sequence[str]
    command: str


def print_report(report: Report, console: Console) -> None:
    """Print a report on a terminal."""
    from rich.padding import Padding

    console.print(f"[bold]{escape(report.question)}[/]\n{escape(report.selection)}\n", soft_wrap=False)
    for sentence in report.verdict:
        console.print(Padding(f"[bold]{escape(sentence)}[/]", (0, 0, 0, INDENT), expand=False), soft_wrap=False)
    console.print()
    for number, (table, sentences) in enumerate(report.sections):
        if number:
            console.print(f"[bold]{escape(table.title)}[/]", soft_wrap=False)
        print_table(table, console)
        for sentence in sentences:
            console.print(escape(sentence), soft_wrap=False)
        console.print()
    for note in report.notes:
        console.print(f"- {escape(note)}", soft_wrap=False)


def render_text(report: Report, width: int = PIPE_WIDTH) -> str:
    """Return a report as plain text with a maximum width."""
    file = io.StringIO()
    print_report(report, make_console(file=file, width=width, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def render_markdown(report: Report) -> str:
    """Return a report as Markdown."""
    return "\n".join(_iterate_markdown(report)) + "\n"


def _iterate_markdown(report: Report) -> Iterator[str]:
    escape_line = markup.escape_markdown
    yield from (f"# {escape_line(report.question)}", "", escape_line(report.selection), "")
    for sentence in report.verdict:
        yield from (f"**{escape_line(sentence)}**", "")
    for table, sentences in report.sections:
        yield from markup.render_section(table)
        for sentence in sentences:
            yield from (escape_line(sentence), "")
    notes = [*report.notes, f"Command: {report.command}"]
    yield from ("## Notes", "", *(f"- {escape_line(note)}" for note in notes))


def render_latex(report: Report) -> str:
    """Return the tables of a report as LaTeX, for a document with the packages booktabs and longtable."""
    tables = (
        markup.render_latex(table, " ".join([f"{table.title}.", *sentences])) for table, sentences in report.sections
    )
    return "\n".join([f"% {show_in_line(report.question)}", *chain.from_iterable(tables)]) + "\n"


def render_page(report: Report) -> str:
    """Return a report as a self-contained HTML page."""
    return markup.render_template(TEMPLATE, {"report": report})


TEXT_FORMATS: Mapping[str, Callable[[Report], str]] = {
    TERMINAL: render_text,
    "markdown": render_markdown,
    "latex": render_latex,
}
"""Format -> the function that renders a report."""
