"""Steps: a calculation as it is written on paper, one line after another.

Beside a definition's function stands a generator ``work_…``, which goes through the same calculation and yields its
steps. It takes a `Problem`, the rows and their names, and every number in a step is one that the definition computes.

Steps are plain data. A formula is a line of text in three parts, the equation, the equation with numbers, and its
result, separated by `` = ``:

    H = -Σ p log2 p = 5/14·log2(14/5) + 9/14·log2(14/9) = 0.9402859586706311

Its numbers have all their digits, and fractions are written ``5/14``; whoever prints the step rounds and typesets them.
A sentence contains no result, so that an exercise can show it while the reader works out what follows.

Rows keep the numbers, from 1, that they have in their table.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Problem:
    """The rows of a calculation and their names.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The training rows: numbers, or objects if there are nominal features.
    y : ndarray of shape (n,)
    queries : ndarray of shape (m, d)
        The rows to predict.
    features : tuple of str
    target : str
    nominal : collection of int
        The positions of the nominal features.
    validation_X : ndarray of shape (v, d), optional
        The rows on which a tree is pruned.
    validation_y : ndarray of shape (v,), optional
    pruning : str
        The method by which a tree is pruned on them, or "none".
    classes : ndarray of shape (c,), optional
        The classes of the targets, ascending; None if they are numbers.
    numbers : sequence of int
        The number of each training row; by default 1, 2, 3, …
    """

    X: np.ndarray
    y: np.ndarray
    queries: np.ndarray
    features: tuple[str, ...]
    target: str
    nominal: Collection[int] = ()
    validation_X: np.ndarray | None = None
    validation_y: np.ndarray | None = None
    pruning: str = "none"
    classes: np.ndarray | None = None
    numbers: Sequence[int] = range(1, sys.maxsize)

    def number_rows(self, positions: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of training rows at positions from 0."""
        return tuple(self.numbers[position] for position in positions)


@dataclass(frozen=True)
class Plane:
    """A drawing of the boundary w·x + b = 0 in the plane of two features, with w·x + b = ±1 if there is a margin.

    Among ``marked``, the numbers of rows, are the row that moved a perceptron and support vectors.
    """

    w: tuple[float, ...]
    b: float
    has_margin: bool = False
    marked: tuple[int, ...] = ()


@dataclass(frozen=True)
class Neighbours:
    """A drawing of a query (d,) and its distances to rows, given by their numbers."""

    query: tuple[float, ...]
    rows: tuple[int, ...] = ()
    distances: tuple[float, ...] = ()


@dataclass(frozen=True)
class Branch:
    """A drawing of a tree from one of its nodes down: its text, the answer that leads to it, the rows of a leaf."""

    text: str
    answer: str = ""
    branches: tuple[Branch, ...] = ()
    is_current: bool = False
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Regions:
    """A drawing of the prediction at each point: of one feature a curve, of two features coloured regions."""


Drawing = Plane | Neighbours | Branch | Regions


@dataclass(frozen=True)
class Step:
    """A line of a calculation.

    Attributes
    ----------
    sentence : str
        What is calculated, without its result.
    formula : str
        The equation, the equation with numbers, and its result, separated by " = "; empty if there is none.
    chosen : str
        What is chosen or predicted, as a phrase such as "outlook"; empty if nothing is.
    table : tuple of tuple
        Alternatives or counts: the headings, then rows of texts, formulas and numbers; empty if there is none.
    rows : tuple of int
        The numbers of the training rows in play.
    place : str
        The part of the model in which the step is, such as "outlook = sunny"; empty for the whole.
    values : mapping of str to float
        Name -> number, for the results of the step.
    drawing : Drawing or None
    answer : object
        The prediction for a query, on the last step of the query; None on all others.
    response : tuple of float
        Beside the answer: the numbers that it follows from, which the learner returns as well.
    """

    sentence: str
    formula: str = ""
    chosen: str = ""
    table: tuple[tuple[Any, ...], ...] = ()
    rows: tuple[int, ...] = ()
    place: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    drawing: Drawing | None = None
    answer: Any = None
    response: tuple[float, ...] = ()


def tabulate(
    heading: str, symbol: str, terms: Iterable[str], results: Any, labels: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return the fields ``table`` and ``values`` of a step, with terms and their result in each row.

    Rows have the given labels, or else 1, 2, 3, …

    >>> tabulate("row", "w", ["1/2.0", "1/4.0"], [0.5, 0.25])["table"]
    (('row', 'w'), (1, '1/2.0 = 0.5'), (2, '1/4.0 = 0.25'))
    """
    labels = labels or range(1, len(results) + 1)
    cells = map("{} = {}".format, terms, results)
    names = [f"{symbol} {label}" for label in labels]
    return {
        "table": ((heading, symbol), *zip(labels, cells, strict=True)),
        "values": dict(zip(names, map(float, results), strict=True)),
    }


def bracket(number: Any) -> str:
    """Return a number as a factor or term, in brackets if it is negative.

    >>> bracket(-2.5), bracket(3.0)
    ('(-2.5)', '3.0')
    """
    text = f"{number}"
    return f"({text})" if text.startswith("-") else text


def write_sum(terms: Iterable[str]) -> str:
    """Return terms joined by plus signs.

    >>> write_sum(["5/14·0.97", "4/14·0"])
    '5/14·0.97 + 4/14·0'
    """
    return " + ".join(terms)


def write_products(factors: Iterable[float], others: Iterable[float]) -> str:
    """Return the sum of the products of numbers, as in an inner product.

    >>> write_products([1.0, -2.0], [3.0, 4.0])
    '1.0·3.0 + (-2.0)·4.0'
    """
    return write_sum(f"{bracket(a)}·{bracket(b)}" for a, b in zip(factors, others, strict=True))


def write_point(point: Iterable[Any]) -> str:
    """Return a row or a vector as text.

    >>> write_point(np.array([1.0, -2.5]))
    '(1.0, -2.5)'
    """
    return f"({', '.join(f'{value}' for value in point)})"
