"""The work of a job, counted while it runs: how many of its fits and folds are done."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from bakeoff.pipeline.experiment import Experiment, FoldResult
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.wording import count_nouns, format_count

REPORT_SECONDS = 0.5
"""The shortest time between two reports of a job, so that shorter jobs make a single one."""


class Work(NamedTuple):
    """The fits and folds of a job: how many are done, and how many there are."""

    fits: int
    n_fits: int
    folds: int
    n_folds: int

    @property
    def text(self) -> str:
        """The counts, such as ``203 of 606 fits, 2 of 5 folds``."""
        fits = f"{format_count(self.fits)} of {count_nouns(self.n_fits, 'fit')}"
        return f"{fits}, {self.folds} of {count_nouns(self.n_folds, 'fold')}"


ShowWork = Callable[[Work], object]
"""Shows how much of a job is done."""


def ignore_work(*work: object) -> None:
    """Show nothing."""


class Meter:
    """Counts the fits and folds of a job, and reports them at the start and now and then.

    Parameters
    ----------
    experiment : Experiment
    splits : Splits
    show : callable
        Receives the reports.

    Attributes
    ----------
    experiment : Experiment
        The experiment whose fits are counted.
    """

    def __init__(self, experiment: Experiment, splits: Splits, show: ShowWork) -> None:
        self.experiment = replace(experiment, count_fit=self._count_fit)
        self._per_split = experiment.fits_per_split
        self._work = Work(0, self._per_split * len(splits.fitted), 0, len(splits.folds))
        self._show = show
        self._reported = time.monotonic()
        show(self._work)

    def count_folds(self, folds: Iterable[FoldResult]) -> Iterator[FoldResult]:
        """Yield the results of the folds, and count each with all its fits."""
        for n_done, fold in enumerate(folds, 1):
            # Fits in other processes, and candidates that were left out, have not been counted.
            self._report(folds=n_done, fits=n_done * self._per_split)
            yield fold

    def _count_fit(self) -> None:
        self._report(fits=self._work.fits + 1)

    def _report(self, **done: int) -> None:
        """Change the counts, and report them if the last report was long ago."""
        self._work = self._work._replace(**done)
        now = time.monotonic()
        if now - self._reported >= REPORT_SECONDS:
            self._reported = now
            self._show(self._work)
