"""A calculation as text."""

from collections.abc import Iterator

import pandas as pd

from bakeoff.learners.definitions.steps import Step
from bakeoff.pipeline.tables.table import NAME, TEXT, Cell, Table, align_lines, make_table
from bakeoff.pipeline.work.calculate import HandCalculation
from bakeoff.pipeline.work.numbers import write_formula

INDENT = "    "


def render_text(calculation: HandCalculation, digits: int) -> str:
    """Return a calculation as lines of text."""
    lines = [calculation.title, ""]
    for title, rows in list_tables(calculation):
        lines += [title, *align_lines(tabulate_rows(rows)), ""]
    for number, step in enumerate(calculation.steps, start=1):
        lines += [*_write_step(number, step, digits), ""]
    lines += [f"note: {note}" for note in calculation.notes]
    return "\n".join(lines)


def list_tables(calculation: HandCalculation) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the titles and rows of the tables that a calculation begins with."""
    tables = {
        "Training rows": calculation.table,
        "Validation rows": calculation.validation,
        "Rows to predict": calculation.queries,
    }
    yield from ((title, rows) for title, rows in tables.items() if len(rows))


def tabulate_rows(rows: pd.DataFrame) -> Table:
    """Return rows as a table, numbered from 1."""
    columns = ["row", *(Cell(str(name), TEXT) for name in rows.columns)]
    cells = [[str(number), *map(_write_cell, row)] for number, row in enumerate(rows.to_numpy(object), start=1)]
    return make_table("", columns, cells)


def tabulate_step(step: Step, digits: int) -> Table:
    """Return the table of a step, with rounded numbers."""
    headings, *rows = step.table
    cells = [[write_formula(str(cell), digits) for cell in row] for row in rows]
    return make_table("", [Cell(str(heading), TEXT if number else NAME) for number, heading in enumerate(headings)], cells)


def _write_step(number: int, step: Step, digits: int) -> Iterator[str]:
    place = f" [{step.place}]" if step.place else ""
    yield f"{number}.{place} {step.sentence}"
    if step.formula:
        yield INDENT + write_formula(step.formula, digits)
    if step.table:
        yield from (INDENT + line for line in align_lines(tabulate_step(step, digits)))
    if step.chosen:
        yield f"{INDENT}→ {write_formula(step.chosen, digits)}"


def _write_cell(cell: object) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
