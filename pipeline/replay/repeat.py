"""Running a job again: with the number of threads that the stored run had, and without storing anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.replay.rebuild import was_stopped
from bakeoff.pipeline.sweep.job import ContinueRule, PreparedJob, always_continue, execute_job
from bakeoff.pipeline.tracking import Figure, RunDescription
from bakeoff.pipeline.tracking.provenance import find_thread_pools
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import RunRecord


@dataclass
class Repeat:
    """What a job yields when it runs again: a run that keeps its results in memory.

    Attributes
    ----------
    folds : list of FoldResult
    model : FittedModel or None
        None if the job failed or was stopped.
    error : str
        The type and the message of the exception that ended the job; empty if it did not fail.
    """

    run_id: str | None = None
    folds: list[FoldResult] = field(default_factory=list)
    model: FittedModel | None = None
    error: str = ""

    def record_fold(self, fold: FoldResult) -> None:
        """Keep an evaluated fold."""
        self.folds.append(fold)

    def finish(self, model: FittedModel, figures: Sequence[Figure]) -> None:
        """Keep the model of the run."""
        self.model = model


@dataclass
class RepeatTracker:
    """A tracker whose only run is a `Repeat`."""

    repeat: Repeat
    store: Store | None = None

    def find_store(self) -> Store | None:
        """Return None."""
        return None

    def open_store(self) -> None:
        """Do nothing."""

    def store_kept_result(self, job_hash: str) -> str | None:
        """Return None: a replay stores nothing."""
        return None

    @contextmanager
    def start_run(self, description: RunDescription, experiment: Experiment) -> Iterator[Repeat]:
        """Yield the repeat."""
        yield self.repeat


def repeat_job(prepared: PreparedJob, record: RunRecord) -> Repeat:
    """Run the job of a stored run again, as many folds of it as the run evaluated.

    Parameters
    ----------
    prepared : PreparedJob
    record : RunRecord

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C or SIGTERM.
    """
    repeat = Repeat()
    try:
        execute_job(prepared, RepeatTracker(repeat), _show_nothing, _make_continue_rule(record))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it is a result: the stored run may have failed in the same way
        repeat.error = f"{type(error).__name__}: {error}"
    return repeat


def limit_threads(tags: Mapping[str, str]) -> AbstractContextManager[Any]:
    """Return a context in which BLAS and OpenMP have the numbers of threads that a run recorded.

    The order in which a sum is computed depends on them, and with it the last bits of the result: a product of two
    random 1,797 x 64 tables differs between one and two threads of OpenBLAS.

    Parameters
    ----------
    tags : mapping of str to str
        Those of the run.
    """
    threads: dict[str, int] = json.loads(tags.get("threads", "{}"))
    return find_thread_pools().limit(limits=threads)


def _make_continue_rule(record: RunRecord) -> ContinueRule:
    """Return the rule that ends a run after as many folds as a study let it have; any other run is completed."""
    if not was_stopped(record):
        return always_continue
    steps = [step for name, step in record.metrics if name.startswith("fold/")]
    # The store has no series of a single fold, because the mean is the same number.
    n_folds = max(steps, default=0) + 1

    def continue_rule(experiment: Experiment, folds: Sequence[FoldResult]) -> bool:
        return len(folds) < n_folds

    return continue_rule


def _show_nothing(folds: Iterator[FoldResult], total: int, title: str) -> Iterator[FoldResult]:
    return folds
