"""A calculation as one page with the pictures of its steps, which needs no network."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.learners.definitions.steps import Branch
from bakeoff.pipeline.commands.work.calculation import (
    EQUALS,
    NAMED_BOX,
    HandCalculation,
    split_formula,
    write_formula,
)
from bakeoff.pipeline.commands.work.text import list_tables
from bakeoff.pipeline.tables.markup import render_template

TEMPLATE = Path(__file__).with_name("page.html")
MINUS = re.compile(r"(?<![^\s(·/,>])-(?=[\w.(Σ√‖<])|(?<= )-(?= )|(?<=\d)-(?=[\d(])|(?<=\(\w)-(?=\w\))")
"""A hyphen before a factor or between two terms, and not within a word: in -x, 2 - 3, 2-3 and (x-q)."""
SUBSCRIPT = re.compile(r"(?<!\w)(\w)_(\w)(?!\w)")
POWER = re.compile(r"(?<=\d)e([+-])0*(\d+)")
FRACTION = "<math><mfrac><mn>{}</mn><mn>{}</mn></mfrac></math>"
INPUT = (
    '<label class="answer"><small>{0}</small> '
    '<input name="{0}" size="9" autocomplete="off" autocapitalize="off" spellcheck="false"></label>'
)
TERM = re.compile(r"\S*<math>\S*")
"""What stands together with a fraction in a line."""


def render_page(calculation: HandCalculation, digits: int) -> str:
    """Return a calculation as an HTML page.

    Parameters
    ----------
    calculation : HandCalculation
    digits : int
        Decimals of the numbers shown.
    """
    rows, steps = draw_steps(calculation, digits)
    values = {
        "calculation": calculation,
        "tables": [*list_tables(calculation)],
        "rows": rows,
        "steps": steps,
        "is_sheet": calculation.code and not calculation.learner_answer,
        "is_drawn": any(shown["picture"] for shown in steps),
    }

    def write(text: object) -> Any:
        return write_markup(str(text), digits)

    filters = {"formula": write, "parts": lambda text: map(write, split_equations(text))}
    return render_template(TEMPLATE, values, filters)


def draw_steps(calculation: HandCalculation, digits: int) -> tuple[str, list[dict[str, Any]]]:
    """Return the picture of the rows, to which those of steps refer, and the steps with their pictures.

    A step has a picture if it shows something else than that of the step before.
    """
    from bakeoff.pipeline.commands.drawing.steps import StepPictures

    pictures = StepPictures(calculation.problem, calculation.learner)
    shown = []
    last = None
    for number, step in enumerate(calculation.steps, start=1):
        picture = ""
        # The rows are in view from the first step on.
        if number == 1 or (step.drawing is not None and step.drawing != last):
            last = step.drawing
            drawing = round_branch(last, digits) if isinstance(last, Branch) else last
            picture = pictures.render(drawing, f"picture-{number}")
        shown.append({"step": step, "picture": picture, "kind": type(step.drawing).__name__.lower()})
    return pictures.rows, shown


def round_branch(branch: Branch, digits: int) -> Branch:
    """Return a tree whose texts have rounded numbers."""
    return replace(
        branch,
        text=write_formula(branch.text, digits),
        answer=write_formula(branch.answer, digits),
        branches=tuple(round_branch(child, digits) for child in branch.branches),
    )


def split_equations(formula: str) -> Iterator[str]:
    """Yield the parts of a formula, each after the first with its sign of equality.

    Examples
    --------
    >>> list(split_equations("p = 2/4 = 0.5"))
    ['p', '= 2/4', '= 0.5']
    """
    first, *others = formula.split(EQUALS)
    yield first
    yield from (EQUALS.lstrip() + other for other in others)


def write_markup(text: str, digits: int) -> Any:
    """Return a formula as markup, with fractions, minus signs and powers of ten.

    Examples
    --------
    >>> print(write_markup("-1.5·x_i < 0.00001234 log2", 3))
    −1.5·x<sub>i</sub> &lt; 1.23·10<sup>−5</sup> log₂
    >>> print(write_markup("5/14", 3))
    <span class="term"><math><mfrac><mn>5</mn><mn>14</mn></mfrac></math></span>
    """
    from markupsafe import Markup, escape

    pieces = split_formula(text, digits)
    # Everything except the markup added here is escaped.
    shown = "".join(FRACTION.format(*piece) if piece.below else str(escape(piece.text)) for piece in pieces)
    shown = POWER.sub(r"·10<sup>\1\2</sup>", shown).replace("<sup>+", "<sup>")
    shown = SUBSCRIPT.sub(r"\1<sub>\2</sub>", shown)
    shown = TERM.sub(r'<span class="term">\g<0></span>', shown)
    shown = MINUS.sub("−", shown).replace("log2", "log₂")
    return Markup(NAMED_BOX.sub(lambda box: INPUT.format(box[1]) if box[1] else box[0], shown))
