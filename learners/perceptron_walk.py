"""The perceptron's walk past the rows of one two-class problem, many rows to a matrix product.

While the plane stands still, margins of many rows cost one product.  Where mistakes are few, it is turned and the view
begins anew behind the mistake.  Where they come thick, the products of a block of rows with one another (their Gram
matrix G) tell how each mistake moves the margins ahead: a step η y_i x_i changes them by η G_i.  Either way, rows are
met in their order and none is skipped.  Cost: O(n d) per pass with few mistakes, O(64 n d) with many.
"""

from __future__ import annotations

import numpy as np

BLOCK = 64
"""Rows that are learned at once where mistakes come thick."""

THICK = 3
"""More mistakes than this in a block are thick."""

LONGEST_VIEW = 4096
"""How many rows are tried against the plane at most, while none is wrong."""


class Walk:
    """The plane of one problem, and what it leaves behind on its way.

    Rows bear the sign of their label and a column ±1 for the intercept: row i is y_i (x_i, 1), the plane is (ω, b),
    their product is the margin y_i (ω·x_i + b), and a mistake adds η times the row to the plane.
    """

    def __init__(self, plane: np.ndarray, rate: float) -> None:
        self.plane = plane.copy()  # (d + 1,)
        self._rate = rate  # η
        self.losses: list[float] = []
        self.mistakes = 0  # of the last pass
        self._met = 0  # rows, over all passes
        self._trail = np.zeros_like(plane)  # each step times the number of rows met before it

    def average(self) -> np.ndarray:
        """Return the mean of the plane over all rows met: a step taken late has been part of it for few of them."""
        return self.plane - self._trail / self._met

    def pass_over(self, rows: np.ndarray) -> None:
        """Go once over the rows, of shape (n, d + 1)."""
        self.mistakes, first, view = 0, 0, BLOCK
        self.losses.append(0.0)
        while first < len(rows):
            margin = rows[first : first + view] @ self.plane
            wrong = margin <= 0
            ahead = int(wrong.argmax())  # rows until the first mistake; until then the plane stands still
            if not wrong[ahead]:
                first, view = first + view, min(2 * view, LONGEST_VIEW)
                continue
            stop = ahead + 1
            if np.count_nonzero(wrong[ahead : ahead + BLOCK]) > THICK:
                stop = min(ahead + BLOCK, len(margin))
                self._learn_block(rows[first + ahead : first + stop], margin[ahead:stop], self._met + first + ahead)
            else:
                self._learn(self._rate * rows[first + ahead], margin[ahead], self._met + first + ahead)
            first, view = first + stop, max(BLOCK, ahead)
        self._met += len(rows)

    def _learn(self, step: np.ndarray, margin: float, met: int) -> None:
        """Take the step of one mistake, after having met so many rows."""
        self.plane += step
        self._trail += met * step
        self.losses[-1] -= float(margin)
        self.mistakes += 1

    def _learn_block(self, rows: np.ndarray, margin: np.ndarray, met: int) -> None:
        """Visit rows one after the other; a mistake changes the margins of all by its products with them."""
        gram = self._rate * (rows @ rows.T)  # (b, b)
        current = margin.data  # the same numbers, as Python's floats: quicker to compare one by one
        loss = 0.0
        wrong: list[int] = []
        for i in range(len(rows)):
            if current[i] <= 0:
                loss -= current[i]
                wrong.append(i)
                margin += gram[i]
        steps = np.zeros(len(rows))
        steps[wrong] = self._rate
        self.plane += steps @ rows
        self._trail += (steps * np.arange(met, met + len(rows))) @ rows
        self.losses[-1] += loss
        self.mistakes += len(wrong)
