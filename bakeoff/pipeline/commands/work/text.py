"""A calculation as text for a terminal, and in Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import wrap

from bakeoff.learners.definitions.steps import Step
from bakeoff.pipeline.commands.work.calculation import HandCalculation, is_number, write_formula
from bakeoff.pipeline.commands.work.exercise import list_places, write_places
from bakeoff.pipeline.tables.markup import escape_markdown, render_markdown, render_section
from bakeoff.pipeline.tables.table import NAME, NUMBER, TEXT, Cell, Table, align_lines, make_table, split_columns
from bakeoff.pipeline.text.wording import show_controls

INDENT = "    "


def render_text(calculation: HandCalculation, digits: int, width: int) -> str:
    """Return a calculation as lines of text with at most a number of characters."""
    lines = [calculation.title, ""]
    for line in calculation.header:
        lines += [*_wrap(line, width), ""]
    for table in list_tables(calculation):
        lines += [table.title, *_align_parts(table, width), ""]
    for number, step in round_steps(calculation, digits):
        lines += [*_write_step(number, step, width), ""]
    for note in calculation.notes:
        lines += _wrap(f"note: {note}", width)
    return show_controls("\n".join(lines).rstrip("\n") + "\n")


def render_markdown_steps(calculation: HandCalculation, digits: int) -> str:
    """Return a calculation as Markdown, with its steps as a numbered list."""
    lines = [f"# {escape_markdown(calculation.title)}", ""]
    for line in calculation.header:
        lines += [escape_markdown(line), ""]
    for table in list_tables(calculation):
        lines += render_section(table)
    lines += ["## Calculation", ""]
    for number, step in round_steps(calculation, digits):
        first, *others = _list_markdown(step)
        indent = " " * len(f"{number}. ")
        lines += [f"{number}. {first}", "", *(f"{indent}{line}".rstrip() for line in others)]
    lines += [f"- {escape_markdown(note)}" for note in calculation.notes]
    return show_controls("\n".join(lines).rstrip("\n") + "\n")


def list_tables(calculation: HandCalculation) -> Iterator[Table]:
    """Yield the tables that a calculation begins with, with the numbers of their rows."""
    tables = {
        "Training rows": calculation.table,
        "Validation rows": calculation.validation,
        "Queries": calculation.queries,
    }
    for title, rows in tables.items():
        if len(rows):
            pairs = zip(rows.index, rows.to_numpy(object), strict=True)
            cells = [[str(number), *map(_write_cell, row)] for number, row in pairs]
            yield _make_table([str(rows.index.name), *map(str, rows.columns)], cells, title)


def tabulate_step(step: Step) -> Table:
    """Return the table of a step of `round_steps`."""
    headings, *rows = step.table
    return _make_table(map(str, headings), rows)


def round_steps(calculation: HandCalculation, digits: int) -> Iterator[tuple[int, Step]]:
    """Yield the numbers of the steps, and the steps with rounded numbers, and with their rows in their places."""
    for number, step in enumerate(calculation.steps, start=1):
        written = write_places(step, (write_formula(text, digits) for *_, text in list_places(step)))
        sentence = write_formula(step.sentence, digits)
        yield (
            number,
            replace(written, sentence=sentence, place=write_formula(place_step(step, len(calculation.table)), digits)),
        )


def split_table(table: Table, width: int) -> Iterator[Table]:
    """Yield the parts of a table whose columns fit a width; each begins with the first column."""
    # Columns of text are not folded here, so that they are measured as those of numbers are.
    measured = replace(table, columns=tuple(replace(column, kind=NUMBER) for column in table.columns))
    yield from map(table.choose_columns, split_columns(measured, width))


def place_step(step: Step, n_rows: int) -> str:
    """Return the place of a step, and the rows in play if they are several, but not all.

    Examples
    --------
    >>> place_step(Step("", place="wind = weak", rows=(1, 3)), n_rows=14)
    'wind = weak, rows 1, 3'
    """
    noun = "row" if len(step.rows) == 1 else "rows"
    numbers = ", ".join(map(str, step.rows))
    rows = f"{noun} {numbers}" if 0 < len(step.rows) < n_rows else ""
    return ", ".join(filter(None, (step.place, rows)))


def _make_table(headings: Iterable[str], rows: Sequence[Sequence[str]], title: str = "") -> Table:
    """Return a table in which the columns of numbers are marked as such."""
    names = list(headings)
    kinds = [NUMBER if all(is_number(row[j]) for row in rows) else TEXT for j in range(len(names))]
    columns = [Cell(name, kind) for name, kind in zip(names, [NAME, *kinds[1:]], strict=True)]
    return make_table(title, columns, rows)


def _write_step(number: int, step: Step, width: int) -> Iterator[str]:
    place = f"[{step.place}] " if step.place else ""
    yield from _wrap(f"{number}. {place}{step.sentence}", width)
    if step.formula:
        yield from _wrap(step.formula, width, INDENT)
    if step.table:
        yield from (INDENT + line for line in _align_parts(tabulate_step(step), width - len(INDENT)))
    if step.chosen:
        yield from _wrap(f"→ {step.chosen}", width, INDENT)


def _list_markdown(step: Step) -> Iterator[str]:
    """Yield the paragraphs of a step, separated by empty lines."""
    place = f"*{escape_markdown(step.place)}*: " if step.place else ""
    yield place + escape_markdown(step.sentence)
    if step.formula:
        yield from (escape_markdown(step.formula), "")
    if step.table:
        yield from (*render_markdown(tabulate_step(step)), "")
    if step.chosen:
        yield from (f"→ **{escape_markdown(step.chosen)}**", "")


def _align_parts(table: Table, width: int) -> Iterator[str]:
    for position, part in enumerate(split_table(table, width)):
        yield from ([""] if position else [])
        for line in align_lines(part):
            yield from _wrap(line, width)


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    return wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _write_cell(cell: object) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
