"""The perceptron's walk past the rows of one two-class problem, a block of rows to a matrix product.

Before a block the margins of all its rows cost one product.  A mistake at row i turns the plane by η times the row, and
changes the margins ahead by η G_i, the products of that row with the others of its block (its line of the block's Gram
matrix G).  Both stand side by side, so that one addition makes both changes; and the line is kept for the next pass,
since after a few passes it is mostly the same rows that are mistaken.  Rows are met in their order and none is skipped,
as in the loop of the lecture.

Cost per pass: O(n d), and O(d + 256) per mistake, or O(256 d) where it is a row's first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

BLOCK = 256
"""Rows of a block: so many that a mistake's additions cost no more than Python's call of them."""

THICK = 16
"""Where more than one row in so many is mistaken, Python finds the next one before NumPy would."""

MOST_KEPT = 2**20
"""Products kept at most: 8 MiB."""


class Walk:
    """The plane of one problem, and what it leaves behind on its way.

    Rows bear the sign of their label and a column ±1 for the intercept: row i is y_i (x_i, 1), the plane is (ω, b),
    their product is the margin y_i (ω·x_i + b), and a mistake adds η times the row to the plane.
    """

    def __init__(self, plane: np.ndarray, *, averaged: bool) -> None:
        self.ended = False
        self.losses: list[float] = []
        self.mistakes = 0  # of the last pass
        self._state = np.append(np.zeros(BLOCK), plane)  # margins of a block, then the plane
        self.plane = self._state[BLOCK:]  # (d + 1,)
        self._met = 0  # rows, over all passes
        self._averaged = averaged
        self._trail = np.zeros_like(plane)  # each step times the number of rows met before it
        self._least = np.inf  # loss of a pass
        self._idle = 0

    def average(self) -> np.ndarray:
        """Return the mean of the plane over all rows met: a step taken late has been part of it for few of them."""
        return self.plane - self._trail / self._met

    def idle(self, enough: float) -> int:
        """Return how many passes in a row have not lowered the least loss by enough; to be asked after each pass."""
        self._idle = self._idle + 1 if self.losses[-1] > self._least - enough else 0
        self._least = min(self._least, self.losses[-1])
        return self._idle

    def blocks(self, rows: np.ndarray, rates: np.ndarray) -> list[Block]:
        """Cut rows, of shape (n, d + 1), and the rates η of their steps, (n,), into blocks."""
        room = MOST_KEPT // len(rows)  # of lines of 256 products, for each of n / 256 blocks
        spans = [slice(first, first + BLOCK) for first in range(0, len(rows), BLOCK)]
        return [Block(rows[span], rates[span], self._state, room) for span in spans]

    def pass_over(self, blocks: list[Block]) -> None:
        """Go once over the rows."""
        self.mistakes, loss = 0, 0.0
        for block in blocks:
            wrong, shortfall = block.meet()
            self.mistakes += len(wrong)
            loss += shortfall
            if self._averaged and wrong:
                self._trail += (block.rates[wrong] * (self._met + np.array(wrong))) @ block.rows[wrong]
            self._met += len(block.rows)
        self.losses.append(loss)


class Block:
    """Consecutive rows, met one after the other.

    Parameters
    ----------
    rows : ndarray of shape (b, d + 1)
    rates : ndarray of shape (b,)
        η of each row.
    state : ndarray of shape (256 + d + 1,)
        Room for margins, then the plane.
    room : int
        How many lines of G may be kept.
    """

    def __init__(self, rows: np.ndarray, rates: np.ndarray, state: np.ndarray, room: int) -> None:
        self.rows, self.rates = rows, rates
        b = len(rows)
        self._state = state[BLOCK - b :]
        self._margin, self._plane = self._state[:b], self._state[b:]
        # The same numbers for NumPy, and for Python, which reads a single one in a fraction of the time.
        self._single = self._margin.data
        self._flags = bytearray(b)
        self._wrong = np.frombuffer(self._flags, dtype=bool)  # (b,)
        self._zero = np.zeros(b)
        self._lines: list[np.ndarray | None] = [None] * b
        self._room = room

    def meet(self) -> tuple[list[int], float]:
        """Turn the plane by each row met on its wrong side; return these rows, and their loss."""
        state, single, lines, add = self._state, self._single, self._lines, np.add
        np.dot(self.rows, self._plane, out=self._margin)
        mistaken, loss = [], 0.0
        for i in self._on_wrong_side():
            mistaken.append(i)
            loss -= single[i]
            line = lines[i]
            add(state, self._line(i) if line is None else line, state)
        return mistaken, loss

    def _on_wrong_side(self) -> Iterator[int]:
        """Yield the rows whose margin is not positive when it is their turn: each that is yielded changes margins."""
        margin, zero, wrong, flags, less_equal = self._margin, self._zero, self._wrong, self._flags, np.less_equal
        less_equal(margin, zero, wrong)
        if flags.count(1) * THICK > len(flags):
            for i, value in enumerate(self._single):
                if value <= 0.0:
                    yield i
            return
        i = flags.find(1)
        while i >= 0:
            yield i
            less_equal(margin, zero, wrong)
            i = flags.find(1, i + 1)

    def _line(self, i: int) -> np.ndarray:
        """Return what a mistake at row i adds to margins and plane, η (G_i, row i), of shape (b + d + 1,)."""
        line, row, b = np.empty_like(self._state), self.rows[i], len(self.rows)
        np.dot(self.rows, row, out=line[:b])
        line[b:] = row
        if self.rates[i] != 1.0:
            line *= self.rates[i]
        if self._room:
            self._room -= 1
            self._lines[i] = line
        return line
