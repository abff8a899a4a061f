"""The perceptron's walk past the rows of one two-class problem, a block of rows to a matrix product.

Before a block the margins of all its rows cost one product.  A mistake at row i turns the plane by η times the row, and
changes the margins ahead by η G_i, the products of that row with the later ones of its block (its line of the block's
Gram matrix G).  Both stand side by side, so that one addition makes both changes; and the line is kept for the next
pass, since after a few passes it is mostly the same rows that are mistaken.  A row's margin is left as it was when the
row was met: in the end the margins that are not positive tell the mistakes and the loss.  Rows are met in their order
and none is skipped, as in the loop of the lecture.

With one or two columns and many mistakes that loop itself, in Python's own numbers, is the fastest: see `Few`.

Cost per pass: O(n d), and O(d + 256) per mistake, or O(256 d) where it is a row's first.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

BLOCK = 256
"""Rows of a block: so many that a mistake's additions cost no more than Python's call of them."""

THICK = 24
"""Where more than one row in so many is mistaken, Python finds the next one before NumPy would."""

MOST_KEPT = 2**20
"""Products kept at most: 8 MiB."""


class Stand(NamedTuple):
    """Where a walk stands after some passes: its plane (d + 1,), the loss of each pass, and whether it has ended."""

    plane: np.ndarray
    losses: list[float]
    ended: bool


class Stretch(Protocol):
    """Abstract: consecutive rows of a walk."""

    def meet(self) -> None:
        """Turn the plane by each row met on its wrong side; leave for each of these the margin it then had."""


class Walk:
    """The plane of one problem, and what it leaves behind on its way.

    Rows bear the sign of their label and a column ±1 for the intercept: row i is y_i (x_i, 1), the plane is (ω, b),
    their product is the margin y_i (ω·x_i + b), and a mistake adds η times the row to the plane.

    Parameters
    ----------
    rows : ndarray of shape (n, d + 1)
    rates : ndarray of shape (n,)
        η of each row.
    plane : ndarray of shape (d + 1,)
        The start.
    averaged : bool
        Whether to keep the mean of the plane.
    """

    def __init__(self, rows: np.ndarray, rates: np.ndarray, plane: np.ndarray, *, averaged: bool) -> None:
        self.losses: list[float] = []
        self.mistakes = len(rows)  # of the last pass; before the first many are to be expected
        self._rows, self._rates = rows, rates
        self._cuts: dict[bool, list[Stretch]] = {}
        self._state = np.append(np.zeros(BLOCK), plane)  # margins of a block, then the plane
        self._plane = self._state[BLOCK:]  # (d + 1,)
        self._margins = np.empty(len(rows))  # when the rows were met; where there was no mistake, anything above 0
        self._averaged = averaged
        self._trail = np.zeros_like(plane)  # each step times the number of rows met before it
        self._least = np.inf  # loss of a pass
        self._idle = 0

    def pass_over(self, order: np.ndarray | None) -> None:
        """Go once over the rows, in this order (n,) or, without one, as they are."""
        for stretch in self._stretches(order):
            stretch.meet()
        (wrong,) = (self._margins <= 0).nonzero()
        if self._averaged:
            mistaken = wrong if order is None else order[wrong]
            met = len(self.losses) * len(self._rows) + wrong
            self._trail += (self._rates[mistaken] * met) @ self._rows[mistaken]
        self.mistakes = wrong.size
        self.losses.append(-float(self._margins[wrong].sum()))

    def stand(self, *, ended: bool) -> Stand:
        """Return the last plane, or the mean of the plane over all rows met."""
        plane = self._plane.copy()
        if self._averaged:  # a step taken late has been part of it for few of them
            plane -= self._trail / (len(self.losses) * len(self._rows))
        return Stand(plane, self.losses.copy(), ended)

    def idle(self, enough: float) -> int:
        """Return how many passes in a row have not lowered the least loss by enough; to be asked after each pass."""
        self._idle = self._idle + 1 if self.losses[-1] > self._least - enough else 0
        self._least = min(self._least, self.losses[-1])
        return self._idle

    def _stretches(self, order: np.ndarray | None) -> list[Stretch]:
        """Return the rows in stretches as they are best met after what the last pass was like."""
        few = self._plane.size <= Few.WIDTH and self.mistakes * THICK > len(self._rows)
        if order is not None:
            return self._cut(self._rows[order], self._rates[order], few)
        if few not in self._cuts:
            self._cuts[few] = self._cut(self._rows, self._rates, few)
        return self._cuts[few]

    def _cut(self, rows: np.ndarray, rates: np.ndarray, few: bool) -> list[Stretch]:
        if few:
            return [Few(rows, rates, self._margins, self._plane)]
        room = MOST_KEPT // len(rows)  # of lines of 256 products, for each of n / 256 blocks
        spans = [slice(first, first + BLOCK) for first in range(0, len(rows), BLOCK)]
        return [Block(rows[span], rates[span], self._margins[span], self._state, room) for span in spans]


class Block:
    """Final: at most 256 rows, and what is kept of G.

    Parameters
    ----------
    rows : ndarray of shape (b, d + 1)
    rates, margins : ndarray of shape (b,)
    state : ndarray of shape (256 + d + 1,)
        Room for margins, then the plane.
    room : int
        How many lines of G may be kept.
    """

    def __init__(self, rows: np.ndarray, rates: np.ndarray, margins: np.ndarray, state: np.ndarray, room: int) -> None:
        self._rows, self._rates, self._margins = rows, rates.tolist(), margins
        b = len(rows)
        self._state = state[BLOCK - b :]
        self._margin, self._plane = self._state[:b], self._state[b:]
        # The same numbers for NumPy, and for Python, which reads a single one in a fraction of the time.
        self._single = self._margin.data
        self._flags = bytearray(b)
        self._wrong = np.frombuffer(self._flags, dtype=bool)  # (b,)
        self._zero = np.zeros(b)
        self._lines: list[np.ndarray | None] = [None] * b  # what a mistake at row i adds: η (0, G_i, row i)
        self._room = room

    def meet(self) -> None:
        """Turn the plane by each row met on its wrong side; leave each row's margin when it was met."""
        state, margin, zero, wrong, flags = self._state, self._margin, self._zero, self._wrong, self._flags
        lines, add, less_equal = self._lines, np.add, np.less_equal
        np.dot(self._rows, self._plane, out=margin)
        less_equal(margin, zero, wrong)
        if flags.count(1) * THICK > len(flags):
            for i, value in enumerate(self._single):  # as it is when its turn has come
                if value <= 0.0:
                    line = lines[i]
                    if line is None:
                        self._turn(i)
                    else:
                        add(state, line, state)
        else:
            i = flags.find(1)
            while i >= 0:
                line = lines[i]
                if line is None:
                    self._turn(i)
                else:
                    add(state, line, state)
                less_equal(margin, zero, wrong)
                i = flags.find(1, i + 1)
        self._margins[:] = margin

    def _turn(self, i: int) -> None:
        """Turn the plane by row i, and the margins ahead with it; keep what both took, if there is room."""
        row, rate = self._rows[i], self._rates[i]
        if not self._room:
            self._plane += row if rate == 1.0 else rate * row
            np.dot(self._rows[i + 1 :], self._plane, out=self._margin[i + 1 :])
            return
        self._room -= 1
        line, b = np.zeros(self._state.size), len(self._rows)
        np.dot(self._rows[i + 1 :], row, out=line[i + 1 : b])
        line[b:] = row
        if rate != 1.0:
            line *= rate
        self._lines[i] = line
        self._state += line


class Few:
    """Final: rows of at most two columns, all of them, one after the other in Python's own numbers.

    A product of three terms takes Python less time than NumPy takes to be called.

    Parameters
    ----------
    rows : ndarray of shape (n, d + 1)
    rates, margins : ndarray of shape (n,)
    plane : ndarray of shape (d + 1,)
    """

    WIDTH = 3

    def __init__(self, rows: np.ndarray, rates: np.ndarray, margins: np.ndarray, plane: np.ndarray) -> None:
        self._margins, self._plane = margins, plane
        columns = [np.zeros(len(rows)), *rows.T, rates][-self.WIDTH - 1 :]  # zeros for the other column of two
        self._rows = list(zip(range(len(rows)), *(column.tolist() for column in columns), strict=True))

    def meet(self) -> None:
        """Turn the plane by each row met on its wrong side; leave for each of these the margin it then had."""
        u, v, b = [0.0, *self._plane.tolist()][-self.WIDTH :]
        single = self._margins.data
        self._margins[:] = 1.0
        for i, x, z, one, rate in self._rows:
            margin = u * x + v * z + b * one
            if margin <= 0.0:
                u += rate * x
                v += rate * z
                b += rate * one
                single[i] = margin
        self._plane[:] = [u, v, b][-self._plane.size :]
