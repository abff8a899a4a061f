"""Splitters that leak, for tests of the audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bakeoff.pipeline.stages.splitting import SplitInput, Splitter


@dataclass(frozen=True, kw_only=True)
class Overlapping(Splitter):
    """One split whose last three training rows are test rows too."""

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the split."""
        rows = np.random.default_rng(0).permutation(len(data.y))
        half = len(rows) // 2
        yield rows[: half + 3], rows[half:]


@dataclass(frozen=True, kw_only=True)
class DividingGroups(Splitter):
    """One split that says it keeps groups together, and does not."""

    keeps_groups: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the split."""
        rows = np.random.default_rng(0).permutation(len(data.y))
        half = len(rows) // 2
        yield rows[:half], rows[half:]
