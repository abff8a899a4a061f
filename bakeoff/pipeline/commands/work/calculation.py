"""A calculation by hand in a form that each format renders, and the numbers and fractions in its formulas.

Steps write numbers with all their digits; a format rounds them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from bakeoff.learners.definitions.steps import Problem, Step

# Letters and digits are those of ASCII, so that a number may stand before ².
NUMBER = re.compile(
    r"(?a)(?<![\w.])(?:(?P<above>\d+)/(?P<below>\d+)|(?P<decimal>-?\d+\.\d+(?:e[+-]?\d+)?))(?![\w.])",
)
EQUALS = " = "
BOX = "[………]"
"""Stands in place of a result that is left out of an exercise."""
NAMED_BOX = re.compile(rf"(b\d+)?{re.escape(BOX)}")
"""A box, on the sheet of a student with its name in front of it."""


@dataclass(frozen=True)
class HandCalculation:
    """A calculation by hand, and the learner's own answer.

    Attributes
    ----------
    title : str
    table : DataFrame of shape (n, d + 1)
        The training rows as in the source, the target last; the index has their numbers, as in the other tables.
    queries : DataFrame of shape (m, d)
        The rows to predict.
    validation : DataFrame of shape (v, d + 1)
        The rows on which a tree is pruned.
    steps : tuple of Step
    answer : tuple of object
        The prediction of the calculation for each query.
    learner_answer : tuple of object
        The prediction of the learner for each query.
    notes : tuple of str
        Notes on the rows, and warnings of the learner.
    problem : Problem or None
        The rows after preprocessing, for drawings; None for a single step.
    learner : estimator or None
        The fitted learner, for drawings.
    header : tuple of str
        Lines below the title: the parameters of the learner, and on a sheet a line for the name of a student.
    code : str
        The code of a sheet whose boxes have names; empty for others.
    """

    title: str
    steps: tuple[Step, ...]
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    queries: pd.DataFrame = field(default_factory=pd.DataFrame)
    validation: pd.DataFrame = field(default_factory=pd.DataFrame)
    answer: tuple[Any, ...] = ()
    learner_answer: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    problem: Problem | None = None
    learner: Any = None
    header: tuple[str, ...] = ()
    code: str = ""


class Piece(NamedTuple):
    """A part of a formula: text, a fraction, or both parts of a fraction.

    Attributes
    ----------
    text : str
        The text or the rounded number; the numerator of a fraction.
    below : str
        The denominator of a fraction; empty for others.
    """

    text: str
    below: str = ""


def split_formula(formula: str, digits: int) -> Iterator[Piece]:
    """Yield the parts of a formula, with decimals rounded.

    Examples
    --------
    >>> list(split_formula("5/14·0.97095059", 3))
    [Piece(text='5', below='14'), Piece(text='·', below=''), Piece(text='0.971', below='')]
    """
    end = 0
    for found in NUMBER.finditer(formula):
        if found.start() > end:
            yield Piece(formula[end : found.start()])
        if found["decimal"]:
            yield Piece(round_number(float(found["decimal"]), digits))
        else:
            yield Piece(found["above"], found["below"])
        end = found.end()
    if end < len(formula):
        yield Piece(formula[end:])


def round_number(value: float, digits: int) -> str:
    """Return a number with at most the given number of decimals; small numbers have as many significant digits.

    Examples
    --------
    >>> round_number(0.97095, 3), round_number(2.0, 4), round_number(0.00001234, 3), round_number(-0.5, 4)
    ('0.971', '2', '1.23e-05', '-0.5')
    """
    if value == int(value):
        return str(int(value))
    if abs(value) < 10.0**-digits:
        return f"{value:.{max(digits - 1, 0)}e}"
    rounded = f"{value:.{digits}f}"
    # Zeros at the end would look like rounded digits.
    return rounded.rstrip("0") if float(rounded) == value else rounded


def write_formula(formula: str, digits: int) -> str:
    """Return a formula as one line of text."""
    pieces = split_formula(formula, digits)
    return "".join(f"{piece.text}/{piece.below}" if piece.below else piece.text for piece in pieces)


def is_number(text: str) -> bool:
    """Whether a text is a number, or the box of one."""
    return text.endswith(BOX) or re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", text) is not None
