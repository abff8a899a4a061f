"""Groups of equal values: the sums of a node's rows that share one value of a nominal feature.

In rows sorted by value, each group is one run. If columns have few values, sums by key, one for each pair and value,
yield the same groups without sorting.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from bakeoff.learners.trees.splitting.best_candidates import mark_first_of_runs
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock

MAX_KEYS_PER_ROW = 4
"""Rows are summed by key only if nodes times values are at most this many for each row."""


class ValueGroups(ABC):
    """Abstract: q groups of rows of one node with one value of one nominal feature.

    Attributes
    ----------
    pair : ndarray of shape (q,), int
        The (feature, node) pair, slot * m + node; ascending.
    node : ndarray of shape (q,), int
    n_rows : ndarray of shape (q,)
    sums : ndarray of shape (p, q)
    total : ndarray of shape (p, q)
        The sums of the whole node.
    begin : ndarray of int
        The first group of each pair.
    length : ndarray of int
        The number of groups of each pair.
    is_first : ndarray of shape (q,), bool
        Whether a group is the first of its pair.
    is_missing : ndarray of shape (q,), bool, or None
        Whether a group holds the missing cells, if that was asked for.
    """

    pair: np.ndarray
    node: np.ndarray
    n_rows: np.ndarray
    sums: np.ndarray
    total: np.ndarray
    begin: np.ndarray
    length: np.ndarray
    is_first: np.ndarray
    is_missing: np.ndarray | None = None

    def __init__(self, block: FeatureBlock) -> None:
        self.block = block

    @staticmethod
    def collect(block: FeatureBlock, wanted: np.ndarray, *, marks_missing: bool = False) -> ValueGroups:
        """Return the groups of the wanted pairs (b, m)."""
        if marks_missing:
            groups = SortedGroups(block, wanted)
            groups.mark_missing()
            return groups
        n_values = block.frontier.table.max_nominal_values
        if n_values > 0 and block.m * n_values <= MAX_KEYS_PER_ROW * block.n:
            return KeyedGroups(block, wanted, n_values)
        return SortedGroups(block, wanted)

    @abstractmethod
    def read_codes(self, chosen: np.ndarray) -> np.ndarray:
        """Return the value codes of the chosen groups (k,), which are of at most one feature for each node."""

    def _delimit_pairs(self) -> None:
        """Set where the groups of each pair begin, and how many there are."""
        self.is_first = mark_first_of_runs(self.pair)
        self.begin = np.flatnonzero(self.is_first)
        self.length = np.diff(self.begin, append=self.pair.size)


class SortedGroups(ValueGroups):
    """Groups as runs of rows sorted by value."""

    def __init__(self, block: FeatureBlock, wanted: np.ndarray) -> None:
        super().__init__(block)
        # A group ends where the value changes, and at the last row of its node.
        is_last = block.changes.copy()  # (b, n)
        last_of_node = block.start + block.frontier.n_positions - 1
        is_last[:, last_of_node] = True
        is_last &= block.spread_over_positions(wanted)
        self._last = np.flatnonzero(is_last)  # (q,)
        self.node, self.pair = block.find_pairs(self._last)
        self._delimit_pairs()

        # Its sums are those of the node up to its last row, less those up to the last row of the group before it.
        sums_up_to = block.sum_left(self._last, self.pair)
        self.sums = np.diff(sums_up_to, axis=1, prepend=0.0)  # (p, q)
        self.sums[:, self.is_first] = sums_up_to[:, self.is_first]
        first_of_node = block.start.take(self.node)
        rows_up_to = self._last % block.n + 1 - first_of_node
        n_rows = np.diff(rows_up_to, prepend=0)
        self.n_rows = np.where(self.is_first, rows_up_to, n_rows)  # (q,)
        self.total = block.total[:, self.node]

    def mark_missing(self) -> None:
        """Set which groups hold the missing cells."""
        every_group = np.arange(self.pair.size)
        self.is_missing = np.isinf(self.read_codes(every_group))

    def read_codes(self, chosen: np.ndarray) -> np.ndarray:
        last = self._last.take(chosen)
        node = self.node.take(chosen)
        feature = self.block.feature_at(last, node)
        return self.block.read_cells(last, feature, node)


class KeyedGroups(ValueGroups):
    """Groups as sums by key, pair * n_values + bin code."""

    def __init__(self, block: FeatureBlock, wanted: np.ndarray, n_values: int) -> None:
        super().__init__(block)
        frontier = block.frontier
        self._n_keys = block.b * block.m * n_values
        self._key = self._make_keys(wanted, n_values)  # (b, n)
        rows = frontier.order[0]
        sums = frontier.target.sum_by_key(rows, self._key, self._n_keys + 1)
        # The last key is that of cells of unwanted pairs. A key without weight has no rows, and is not a group.
        sums = sums[:, : self._n_keys]
        self._key_of_group = np.flatnonzero(sums[0])  # (q,)
        self.sums = sums.take(self._key_of_group, axis=1)  # (p, q)
        self.pair = self._key_of_group // n_values
        self.node = self.pair % block.m
        self._delimit_pairs()
        self.n_rows = self.sums[0]
        if not block.weights_are_rows:
            rows_of_key = np.bincount(self._key.ravel(), minlength=self._n_keys)
            self.n_rows = rows_of_key.take(self._key_of_group)
        self.total = block.total.take(self.node, axis=1)

    def _make_keys(self, wanted: np.ndarray, n_values: int) -> np.ndarray:
        """Return the key of every cell of the block (b, n); cells of unwanted pairs share the last key."""
        block = self.block
        key = block.frontier.gather_bin_codes(block.feature)
        key += block.node * n_values
        first_of_slot = np.arange(0, self._n_keys, block.m * n_values)
        key += first_of_slot[:, None]
        if not wanted.all():
            is_wanted = np.broadcast_to(block.spread_over_positions(wanted), key.shape)
            key[~is_wanted] = self._n_keys
        return key

    def read_codes(self, chosen: np.ndarray) -> np.ndarray:
        block = self.block
        node = self.node.take(chosen)
        slot = self.pair.take(chosen) // block.m
        slot_of_node = np.zeros(block.m, dtype=np.intp)
        slot_of_node[node] = slot

        # All rows of a group hold its value: read that of the row whose position is written last.
        positions = np.arange(block.n)
        chosen_cell = slot_of_node.take(block.node) * block.n + positions  # (n,), in the flattened block
        key = self._key.ravel().take(chosen_cell)
        position_of_key = np.empty(self._n_keys + 1, dtype=np.intp)
        position_of_key[key] = positions
        key_of_group = self._key_of_group.take(chosen)
        position = position_of_key.take(key_of_group)
        row = block.frontier.order[0].take(position)
        feature = block.feature_of_slot(slot, node)
        return block.frontier.read_cells(row, feature, node)
