"""Tables after preprocessing, kept for the next learners that are evaluated on the same folds."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline

MAX_CELLS = 1 << 23
"""The number of cells that are kept, 64 megabytes."""
HAS_LAZY_COPIES = pd.__version__ >= "3"


@dataclass(frozen=True)
class Prepared:
    """What preprocessing returned for some rows.

    Attributes
    ----------
    sources : tuple
        The objects whose ids are in the key of the table: while they are kept, no other object has these ids.
    steps : Pipeline
        The fitted steps.
    table : DataFrame or array of m rows
    caught : list of WarningMessage
    seconds : float
        The time that it took.
    """

    sources: tuple[Any, ...]
    steps: Pipeline
    table: Any
    caught: list[warnings.WarningMessage]
    seconds: float


class PreparedTables:
    """Prepares the same rows of a dataset in the same way only once."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], Prepared] = {}
        self._n_free = MAX_CELLS
        self._saved_seconds = 0.0

    def read_clock(self) -> float:
        """Return the time in seconds as if nothing had been kept, so that times do not depend on earlier learners."""
        return time.perf_counter() + self._saved_seconds

    def prepare(
        self, sources: tuple[Any, ...], steps: Pipeline, X: pd.DataFrame, *y: np.ndarray
    ) -> tuple[Pipeline, Any]:
        """Return fitted steps and their table, either new or as for the same sources and rows before.

        Parameters
        ----------
        sources : tuple
            The objects that determine the result, together with the numbers of the rows.
        steps : Pipeline
            Steps of which a copy is fitted if there are targets; otherwise they are fitted already.
        X : DataFrame of shape (m, d)
            Rows of a dataset.
        *y : ndarray of shape (m,)
            Their targets.
        """
        key = (*map(id, sources), X.index.to_numpy().tobytes())
        kept = self._kept.get(key)
        if kept is None:
            started = time.perf_counter()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                steps = clone(steps) if y else steps
                table = steps.fit_transform(X, *y) if y else steps.transform(X)
            kept = Prepared(sources, steps, table, caught, time.perf_counter() - started)
            self._keep(key, kept)
        else:
            self._saved_seconds += kept.seconds
        for warning in kept.caught:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        table = kept.table
        # A learner that changes its table must not change those of other learners.
        return kept.steps, table.copy(deep=not HAS_LAZY_COPIES) if isinstance(table, pd.DataFrame) else table

    def _keep(self, key: tuple[Any, ...], new: Prepared) -> None:
        """Keep a table, instead of all earlier ones if there would be too many cells."""
        if not isinstance(new.table, pd.DataFrame) or new.table.size > MAX_CELLS:
            return
        if new.table.size > self._n_free:
            self._kept.clear()
            self._n_free = MAX_CELLS
        self._kept[key] = new
        self._n_free -= new.table.size
