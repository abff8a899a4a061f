"""The record of the stages of a fold: the rows passed to each, its time, and its warnings.

Rows are recorded from the tables themselves rather than from the intended split: the index of a table contains
the row numbers in the dataset, and subsets of a table keep them.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

PREPROCESSING = "preprocessing.fit"
TUNING = "tuning"
LEARNER = "learner.fit"
PRUNING = "pruning"
CALIBRATION = "calibration"
THRESHOLD = "threshold"
RESERVE = "reserve"
"""The name of the rows that no stage may receive."""
SCORING = "scoring."
"""The prefix of the name of a stage, before the name of the scored part."""
SCORED_TEST = f"{SCORING}test"
FITTING_STAGES = (PREPROCESSING, TUNING, LEARNER, PRUNING, CALIBRATION, THRESHOLD)
"""The stages that fit or choose something, which must not see any test row."""
DIGEST_BYTES = 8


@dataclass(frozen=True)
class RowSet:
    """A set of rows of a dataset.

    Attributes
    ----------
    n : int
        The number of rows of the dataset.
    bits : int
        One bit for each row of the dataset, padded to whole bytes; that of the first row is the highest.
    """

    n: int
    bits: int

    @classmethod
    def of(cls, rows: np.ndarray, n: int) -> RowSet:
        """Return the set of row numbers (m,) of a dataset with n rows."""
        is_member = np.zeros(n, dtype=bool)  # (n,)
        is_member[rows] = True
        return cls(n, int.from_bytes(np.packbits(is_member).tobytes()))

    def __len__(self) -> int:
        """Return the number of rows in the set."""
        return self.bits.bit_count()

    def __or__(self, other: RowSet) -> RowSet:
        """Return the rows in either set."""
        return RowSet(self.n, self.bits | other.bits)

    def __and__(self, other: RowSet) -> RowSet:
        """Return the rows in both sets."""
        return RowSet(self.n, self.bits & other.bits)

    def to_bytes(self) -> bytes:
        """Return the bits."""
        return self.bits.to_bytes(-(-self.n // 8))

    def to_rows(self) -> np.ndarray:
        """Return the row numbers in ascending order."""
        return np.flatnonzero(np.unpackbits(np.frombuffer(self.to_bytes(), dtype=np.uint8)))

    def digest(self) -> str:
        """Return a fingerprint of the set: 16 hexadecimal digits."""
        fingerprint = hashlib.blake2b(f"{self.n}\0".encode() + self.to_bytes(), digest_size=DIGEST_BYTES)
        return fingerprint.hexdigest()


@dataclass
class RowLog:
    """Records the rows of the tables passed to the stages of one fold.

    Attributes
    ----------
    n : int
        The number of rows of the dataset.
    seen : dict of str to RowSet
        The name of a stage -> all rows passed to it; ``reserve`` -> the rows that were set aside.
    """

    n: int
    seen: dict[str, RowSet] = field(default_factory=dict)

    def note(self, stage: str, table: Any, index: pd.Index | None = None) -> Any:
        """Record the rows of a table before it is passed to a stage, and return the table.

        Parameters
        ----------
        stage : str
        table : DataFrame or array of m rows
        index : Index of shape (m,), optional
            The numbers of the rows of an array, which has no index.
        """
        numbers = table.index if isinstance(table, pd.DataFrame) else index
        assert numbers is not None
        rows = RowSet.of(numbers.to_numpy(), self.n)
        # A stage that receives several tables has seen the rows of all of them.
        self.seen[stage] = self.seen[stage] | rows if stage in self.seen else rows
        return table


def find_leaks(seen: Mapping[str, RowSet]) -> dict[str, int]:
    """Return the number of scored test rows, and of reserved rows, that each stage has seen.

    Stages that have seen none are omitted. A stage that scores rows may see test rows, but none of the reserve.

    Parameters
    ----------
    seen : mapping of str to RowSet
        The name of a stage -> the rows passed to it.
    """
    counts: Counter[str] = Counter()
    # A fold that failed before it was scored has no test rows to compare with.
    for hidden, stages in ((SCORED_TEST, FITTING_STAGES), (RESERVE, seen.keys() - {RESERVE})):
        if hidden in seen:
            counts.update({stage: len(seen[stage] & seen[hidden]) for stage in stages if stage in seen})
    return dict(+counts)


class Stopwatch:
    """The wall time of consecutive stages, in seconds, by a clock."""

    def __init__(self, read_clock: Callable[[], float]) -> None:
        self.seconds: dict[str, float] = {}
        self._read_clock = read_clock
        self._last = read_clock()

    def lap(self, stage: str) -> None:
        """Record the time since the previous lap under the name of a stage."""
        now = self._read_clock()
        self.seconds[stage] = now - self._last
        self._last = now


def unique_messages(caught: Iterable[warnings.WarningMessage], earlier: Sequence[str] = ()) -> tuple[str, ...]:
    """Return each distinct warning message once, after the earlier ones."""
    messages = [*earlier, *(str(warning.message) for warning in caught)]
    return tuple(dict.fromkeys(messages))
