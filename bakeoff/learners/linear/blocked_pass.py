"""`definitions.perceptron`, a block of rows at a time: one matrix product computes the margins of a whole block.

The lecture's loop computes the margin of each row when the row is processed. Here the margins of all rows of a block
are computed by one product, and a mistake at row i updates the margins of the rows after it: the plane changes by η
times the row, so these margins change by η G_i, the products of that row with the later rows of its block (a row of
the block's Gram matrix G). Both updates are stored in one vector and applied by one addition. The vector is kept for
the next pass, because after a few passes most mistakes occur at the same rows. The margin of a row is not updated
after the row is processed, so after the pass the margins that are not positive determine the mistakes and the loss.
Rows are processed in order and none is skipped, so the result is that of the lecture's loop. If each pass has its own
order, no update is made twice: the plane is updated at once, and the margins of the next few rows are computed anew.

For one or two columns and many mistakes, the lecture's loop in Python's own numbers is the fastest: see `ScalarLoop`.

Measured: kept updates save a tenth to four tenths of the time if rows are not shuffled, and the loop in Python's
numbers up to half of it in both cases.

Cost per pass: O(n d), and O(d + 256) per mistake, or O(256 d) for the first mistake at a row.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

BLOCK_ROWS = 256
"""Rows of a block: with this many, the addition for a mistake costs no more than calling it."""

SCALAR_ROWS = 1024
"""Rows whose numbers are made at a time for `ScalarLoop` if they are shuffled: they stay in the cache."""

LOOKAHEAD_ROWS = 32
"""Rows whose margins are computed after a mistake; a multiple of 4, the rows that BLAS computes together, so that the
last bits of a margin do not depend on it."""

ROWS_PER_MISTAKE_FOR_SCAN = 24
"""If mistakes are more frequent than one in this number of rows, a Python loop finds the next one faster than NumPy."""

MAX_KEPT_PRODUCTS = 2**20
"""Elements of Gram matrices that are kept: 8 MiB."""


class Snapshot(NamedTuple):
    """The state of training after some passes."""

    plane: np.ndarray  # (d + 1,)
    losses: list[float]  # one for each pass
    ended: bool  # whether further passes would have no effect, or too small a one


class Pocket:
    """The plane with the fewest mistakes so far (Gallant 1990); of equal ones, the last.

    The first one predicts the most frequent class.

    Parameters
    ----------
    rows : ndarray of shape (n, d + 1)
        Those of `BlockedPass`.
    rates : ndarray of shape (n,)
        The weight of a mistake at each row.

    Attributes
    ----------
    plane : ndarray of shape (d + 1,)
    """

    plane: np.ndarray

    def __init__(self, rows: np.ndarray, rates: np.ndarray) -> None:
        self._rows = rows
        self._rates = rates
        self._cost = np.inf
        constant = np.zeros(rows.shape[1])
        constant[-1] = np.average(rows[:, -1], weights=rates)
        self.offer(constant)

    def offer(self, plane: np.ndarray) -> None:
        """Keep a plane if it makes no more mistakes than the one in the pocket."""
        is_right = self._rows @ plane > 0  # not so if the weights overflowed
        cost = float(self._rates[~is_right].sum())
        if cost <= self._cost:
            self._cost = cost
            self.plane = plane.copy()


class BlockedPass:
    """The plane of one two-class problem, and the passes that train it.

    The rows are multiplied by their label and have a column ±1 for the intercept: row i is y_i (x_i, 1), the plane is
    (ω, b), their product is the margin y_i (ω·x_i + b), and a mistake adds η times the row to the plane.

    Parameters
    ----------
    rows : ndarray of shape (n, d + 1)
    rates : ndarray of shape (n,)
        η of each row.
    plane : ndarray of shape (d + 1,)
        The initial plane.
    averaged : bool
        Whether the result is the mean of the plane over all rows processed.

    Attributes
    ----------
    losses : list of float
        -Σ margin over the mistakes of each pass.
    n_mistakes : int
        Of the last pass; before the first one, n.
    plane : ndarray of shape (d + 1,)
        The last one.
    """

    def __init__(self, rows: np.ndarray, rates: np.ndarray, plane: np.ndarray, *, averaged: bool) -> None:
        self.losses: list[float] = []
        self.n_mistakes = len(rows)
        self._rows = rows
        self._rates = rates
        self._state = np.append(np.zeros(BLOCK_ROWS), plane)  # margins of one block, then the plane
        self.plane = self._state[BLOCK_ROWS:]  # (d + 1,), a view
        self._margins = np.empty(len(rows))  # (n,), positive for rows without a mistake
        self._averaged = averaged
        self._weighted_updates = np.zeros_like(plane)  # (d + 1,), each update times the number of rows before it
        self._best_loss = np.inf
        self._n_passes_without_progress = 0

    def run_pass(self, order: np.ndarray | None) -> None:
        """Process all rows once, in the given order of shape (n,) or, without one, as they are.

        The number of mistakes in the last pass decides which method is the fastest.
        """
        has_many_mistakes = self.n_mistakes * ROWS_PER_MISTAKE_FOR_SCAN > len(self._rows)
        scalar = has_many_mistakes and self.plane.size <= ScalarLoop.MAX_PLANE_SIZE
        if order is None and scalar:
            self._scalar_loop.process()
        elif order is None:
            for block in self._blocks:
                block.process()
        elif scalar:
            self._process_scalars(order)
        else:
            self._shuffled_block.process(order)
        (wrong,) = (self._margins <= 0).nonzero()  # positions in the order
        if self._averaged:
            self._add_to_average(wrong, order)
        self.n_mistakes = wrong.size
        self.losses.append(-float(self._margins[wrong].sum()))

    def take_snapshot(self, *, ended: bool) -> Snapshot:
        """Return the last plane, or the mean of the plane over all rows processed."""
        plane = self.plane.copy()
        if self._averaged:
            # A late update was part of the plane for few rows only: subtract its share for the rows before it.
            n_processed = len(self.losses) * len(self._rows)
            plane -= self._weighted_updates / n_processed
        return Snapshot(plane, self.losses.copy(), ended)

    def count_passes_without_progress(self, tol: float) -> int:
        """Count the last consecutive passes that did not lower the best loss by at least ``tol``.

        Call this once after each pass.
        """
        if self.losses[-1] > self._best_loss - tol:
            self._n_passes_without_progress += 1
        else:
            self._n_passes_without_progress = 0
        self._best_loss = min(self._best_loss, self.losses[-1])
        return self._n_passes_without_progress

    def _add_to_average(self, wrong: np.ndarray, order: np.ndarray | None) -> None:
        mistaken_rows = wrong if order is None else order[wrong]
        n_before = len(self.losses) * len(self._rows) + wrong
        self._weighted_updates += (self._rates[mistaken_rows] * n_before) @ self._rows[mistaken_rows]

    @cached_property
    def _scalar_loop(self) -> ScalarLoop:
        return ScalarLoop(self._rows, self._rates, self._margins, self.plane, once=False)

    @cached_property
    def _blocks(self) -> list[RowBlock]:
        # Each of the n / 256 blocks keeps up to this many updates of 256 products.
        rows = self._rows
        max_kept_updates = MAX_KEPT_PRODUCTS // len(rows)
        blocks = []
        for first in range(0, len(rows), BLOCK_ROWS):
            span = slice(first, first + BLOCK_ROWS)
            block = RowBlock(rows[span], self._rates[span], self._margins[span], self._state, max_kept_updates)
            blocks.append(block)
        return blocks

    @cached_property
    def _shuffled_block(self) -> ShuffledBlock:
        return ShuffledBlock(self._rows, self._rates, self._margins, self.plane)

    def _process_scalars(self, order: np.ndarray) -> None:
        """Process all rows in an order of this pass only, for at most two columns."""
        for first in range(0, order.size, SCALAR_ROWS):
            span = slice(first, first + SCALAR_ROWS)
            rows = self._rows.take(order[span], axis=0)
            ScalarLoop(rows, self._rates[order[span]], self._margins[span], self.plane, once=True).process()


class ShuffledBlock:
    """Final: space for 256 rows, through which all rows pass in an order that is new in each pass.

    No update is made twice, so that none is kept. After a mistake, only the margins of the next few rows are computed,
    because the next mistake is probably among them; if not, those of all further rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d + 1)
    rates, margins : ndarray of shape (n,)
    plane : ndarray of shape (d + 1,)
    """

    def __init__(self, rows: np.ndarray, rates: np.ndarray, margins: np.ndarray, plane: np.ndarray) -> None:
        self._rows = rows
        self._rates = rates
        self._margins = margins
        self._plane = plane
        self._has_unit_rates = (rates == 1).all()
        self._block = np.empty((min(len(rows), BLOCK_ROWS), plane.size))
        self._updates = self._block if self._has_unit_rates else np.empty_like(self._block)
        # For a mistake at row i: its update, and the product with the next rows. They are sliced once for all passes.
        self._steps: list[tuple[np.ndarray, Any]] = []
        for stop, update in enumerate(self._updates, 1 + LOOKAHEAD_ROWS):
            next_rows = self._block[stop - LOOKAHEAD_ROWS : stop]
            self._steps.append((update, next_rows.dot if stop <= len(self._block) else None))

    def process(self, order: np.ndarray) -> None:
        """Update the plane at each misclassified row; store the margins of these rows when they are processed."""
        self._margins[:] = 1.0
        for first in range(0, order.size, BLOCK_ROWS):
            numbers = order[first : first + BLOCK_ROWS]
            start = len(self._block) - numbers.size  # the last block is at the end of the space, as the steps are
            block = self._block[start:]
            self._rows.take(numbers, 0, block, "clip")  # the other modes copy
            if not self._has_unit_rates:
                np.multiply(block, self._rates[numbers, None], self._updates[start:])
            self._process_block(start, first - start)

    def _process_block(self, start: int, shift: int) -> None:
        """Process the rows from ``start``; row i of the space is row i + ``shift`` of the pass."""
        # Local variables instead of attributes: a noisy problem spends most of its time in this loop.
        plane = self._plane
        steps = self._steps
        add = np.add
        margins = self._margins.data  # the same memory, as in `RowBlock`
        next_margins = np.empty(LOOKAHEAD_ROWS)
        next_numbers = next_margins.data
        dot = None
        while start < len(steps):
            if dot is None:
                numbers = self._block[start:].dot(plane).data
            else:
                dot(plane, next_margins)
                numbers = next_numbers
            for i, margin in enumerate(numbers, start):
                if margin <= 0.0:
                    margins[i + shift] = margin
                    update, dot = steps[i]
                    add(plane, update, plane)
                    start = i + 1
                    break
            else:
                start += len(numbers)
                dot = None


class RowBlock:
    """Final: at most 256 rows, and the part of their Gram matrix that is kept.

    Parameters
    ----------
    rows : ndarray of shape (b, d + 1)
    rates, margins : ndarray of shape (b,)
    state : ndarray of shape (256 + d + 1,)
        Space for the margins of a block, then the plane.
    max_kept_updates : int
        Rows whose update is kept.
    """

    def __init__(
        self, rows: np.ndarray, rates: np.ndarray, margins: np.ndarray, state: np.ndarray, max_kept_updates: int
    ) -> None:
        b = len(rows)
        self._rows = rows
        self._rates = rates.tolist()
        self._margins = margins
        self._state = state[BLOCK_ROWS - b :]
        self._margin = self._state[:b]  # (b,), of all rows, for the plane as it is now
        self._plane = self._state[b:]  # (d + 1,)
        # The same memory for NumPy and for Python, which reads a single number in a fraction of the time.
        self._margin_numbers = self._margin.data
        self._updates: list[np.ndarray | None] = [None] * b  # for a mistake at row i: η (0, G_i, row i)
        self._n_free_updates = max_kept_updates

    def process(self) -> None:
        """Update the plane at each misclassified row; store the margin of each row when it is processed."""
        np.dot(self._rows, self._plane, out=self._margin)
        if not self._margin.min() > 0:  # or a margin overflowed
            self._scan_margins()
        self._margins[:] = self._margin

    def _scan_margins(self) -> None:
        """Check every margin in turn."""
        # Local variables instead of attributes: a noisy problem spends most of its time in this loop.
        state = self._state
        updates = self._updates
        add = np.add
        for i, margin in enumerate(self._margin_numbers):  # with all corrections up to here
            if margin <= 0.0:
                update = updates[i]
                if update is None:
                    self._update_plane(i)
                else:
                    add(state, update, state)

    def _update_plane(self, i: int) -> None:
        """Add row i to the plane and correct the margins that follow; keep the update if there is space."""
        row = self._rows[i]
        rate = self._rates[i]
        following_rows = self._rows[i + 1 :]
        if not self._n_free_updates:
            self._plane += row if rate == 1.0 else rate * row
            np.dot(following_rows, self._plane, out=self._margin[i + 1 :])
            return
        self._n_free_updates -= 1
        b = len(self._rows)
        update = np.zeros(self._state.size)  # (b + d + 1,)
        np.dot(following_rows, row, out=update[i + 1 : b])
        update[b:] = row
        if rate != 1.0:
            update *= rate
        self._updates[i] = update
        self._state += update


class ScalarLoop:
    """Final: all rows of a problem with at most two columns, one after the other in Python's own numbers.

    In Python, computing a product of three terms is faster than calling NumPy.

    Parameters
    ----------
    rows : ndarray of shape (n, d + 1)
    rates, margins : ndarray of shape (n,)
    plane : ndarray of shape (d + 1,)
    once : bool
        Whether the rows are processed only once.
    """

    MAX_PLANE_SIZE = 3

    def __init__(
        self, rows: np.ndarray, rates: np.ndarray, margins: np.ndarray, plane: np.ndarray, *, once: bool
    ) -> None:
        self._margins = margins
        self._plane = plane
        # With one column of features, a column of zeros is used as the first of two.
        columns = [np.zeros(len(rows)), *rows.T, rates][-self.MAX_PLANE_SIZE - 1 :]
        numbers = (column.tolist() for column in columns)
        numbered_rows = zip(range(len(rows)), *numbers, strict=True)
        # Once, `zip` needs a single tuple for all rows.
        self._rows = numbered_rows if once else list(numbered_rows)

    def process(self) -> None:
        """Update the plane at each misclassified row; store the margins of these rows when they are processed."""
        w1, w2, b = [0.0, *self._plane.tolist()][-self.MAX_PLANE_SIZE :]
        margins = self._margins.data
        self._margins[:] = 1.0
        for i, x1, x2, one, rate in self._rows:
            margin = w1 * x1 + w2 * x2 + b * one
            if margin <= 0.0:
                w1 += rate * x1
                w2 += rate * x2
                b += rate * one
                margins[i] = margin
        self._plane[:] = [w1, w2, b][-self._plane.size :]
