"""The jobs of a sweep, from their overrides to their outcomes, and how much of their work is done."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bakeoff.pipeline.config.targets import Path
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.text.wording import count_nouns, format_count, format_mean, name_first

SWEEPS_FOLDER = "outputs/sweeps"
"""The parent of the folders of sweeps."""
TO_DO = "to do"
DONE = "done"
INVALID = "invalid"

FINISHED = "finished"
SKIPPED = "skipped"
STOPPED = "stopped"
FAILED = "failed"
KILLED = "killed"
REFUSED = "refused"
BUSY = "busy"
NOT_RUN = "not run"
DONE_KINDS = (FINISHED, SKIPPED, STOPPED)
"""The kinds of jobs that need not run again; a study needs no score of one that it stopped."""
TimeKey = tuple[str, str, int]
"""The learner, the dataset and the size of a job; jobs that share them take about the same time."""
RowsKey = tuple[str, Any]
"""The dataset and the seed of a job; jobs that share them usually share their folds."""
DIGITS = re.compile(r"\d+")


SEED_KEYS = ("seed", "random_state")
SEED_BITS = 32
"""The bits of a seed that NumPy accepts."""


@dataclass(frozen=True, slots=True, eq=False)
class VariedSpec(Mapping[str, Any]):
    """Final: a configuration with some integers of its own, which shares the rest with those of other jobs.

    Attributes
    ----------
    shared : mapping
        The configuration of one of these jobs.
    places : sequence of (path, int)
        The paths of the integers, each with a position in `integers`.
    integers : tuple of int
    """

    shared: Mapping[str, Any]
    places: Sequence[tuple[Path, int]]
    integers: tuple[int, ...]

    def __getitem__(self, key: str) -> Any:
        part = self.shared[key]
        for path, position in self.places:
            if path[0] == key:
                part = _set_value(part, path[1:], self.integers[position])
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self.shared)

    def __len__(self) -> int:
        return len(self.shared)

    @property
    def changes_choices(self) -> bool:
        """Whether open choices may depend on the integers; on seeds and parameters of the learner, none does."""
        return any(path[0] != "learner" and path[-1] not in SEED_KEYS for path, _ in self.places)

    @property
    def group(self) -> tuple[int, ...]:
        """What the specs of jobs share that differ in valid seeds alone; a seed of the data is no such seed."""
        own = {at for path, at in self.places if path[-1] not in SEED_KEYS or path[0] == "dataset"}
        return id(self.shared), *(value if at in own else value >> SEED_BITS for at, value in enumerate(self.integers))


def _set_value(node: Any, path: Path, value: int) -> Any:
    """Return a part of a configuration with another value; what is not on its path is shared, to save memory."""
    if not path:
        return value
    changed = node.copy()
    changed[path[0]] = _set_value(node[path[0]], path[1:], value)
    return changed


class JobCell(NamedTuple):
    """The position of a job's result in a table: the row of its configuration and the column of its dataset.

    Attributes
    ----------
    configuration : str
        The name of the job's run without the dataset.
    dataset : str
        The dataset's name, and its keys that vary over the sweep.
    dataset_digest : str
        A digest that distinguishes datasets with the same name.
    """

    configuration: str
    dataset: str
    dataset_digest: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A job of a sweep, with the facts known before it runs.

    Attributes
    ----------
    number : int
        The job's number in the sweep, from 0.
    name : str
        The name of its run, or its overrides if it could not be composed.
    invocation : Invocation
        The invocation, with the overrides from which the job is composed.
    spec : mapping
        The settled configuration; empty if composing failed.
    state : str
        ``to do``, ``done`` (finished in the store), ``invalid``, or ``not run`` within the budget.
    reason : str
        Why the job is invalid, or the run to which it is identical.
    hash : str
        The ``config_hash`` of the job; empty if it could not be composed or its data cannot be read.
    dataset : str
        The name of its dataset.
    cell : JobCell or None
        The position in the table; None without a hash.
    claim_count : int
        The count of the job's claim when the store was queried for finished runs; see `done_jobs`. No claim has the
        count -1, so such a job is looked up in the store before it runs.
    size : int
        The result of `measure_size`; 0 before the job is checked.
    seconds : float or None
        The expected duration, if the store has similar finished runs of its learner.
    run_id : str or None
        The finished run of a job that is done.
    """

    number: int
    name: str
    invocation: Invocation
    spec: Mapping[str, Any] = field(default_factory=dict)
    state: str = TO_DO
    reason: str = ""
    hash: str = ""
    dataset: str = ""
    cell: JobCell | None = None
    claim_count: int = -1
    size: int = 0
    seconds: float | None = None
    run_id: str | None = None

    @property
    def shared_spec(self) -> Mapping[str, Any]:
        """The configuration that it shares with similar jobs, or its own."""
        return self.spec.shared if isinstance(self.spec, VariedSpec) else self.spec

    @property
    def group(self) -> tuple[int, ...]:
        """Jobs of one group differ in their seeds alone."""
        return self.spec.group if isinstance(self.spec, VariedSpec) else (id(self.spec),)

    @property
    def time_key(self) -> TimeKey:
        """What decides its duration."""
        return self.invocation.choices["learner"], self.dataset, self.size

    @property
    def rows_key(self) -> RowsKey:
        """What decides the rows of its folds."""
        return self.dataset, self.spec["seed"]

    def to_outcome(self, kind: str, reason: str = "", run_id: str | None = None) -> JobOutcome:
        """Return the outcome of the job without measured values."""
        return JobOutcome(self.number, self.name, kind, reason, run_id=run_id, cell=self.cell)


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


class JobProgress(NamedTuple):
    """The values measured in the latest fold of a job.

    Attributes
    ----------
    number : int
        The job's number.
    folds : int
        The number of folds evaluated so far.
    metrics : mapping of str to float
        The values of the latest fold, by name.
    """

    number: int
    folds: int
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The outcome of a job.

    Attributes
    ----------
    number : int
        The job's number.
    name : str
        The name of its run.
    kind : str
        ``finished``, ``skipped`` (already done), ``stopped`` by a study, ``failed``, ``killed``, ``refused``, ``busy``
        (another process runs it) or ``not run`` within the budget.
    reason : str
        Why the job did not finish.
    headlines : tuple of str
        The names of the displayed metrics: the headline metric on test rows, or the objectives of a study.
    greater_is_better : bool
        The direction of the first displayed metric.
    seconds : float
        The total duration of all folds: fitting, tuning and pruning.
    run_id : str or None
    metrics : mapping of str to float
        Means over folds, by name; empty if the job did not run now.
    warnings : tuple of str
        The warnings of the learner.
    cell : JobCell or None
        The position in a table; None if the job could not be composed.
    has_lost_store : bool
        Whether the job failed because its store cannot be used, so that later jobs would fail as well.
    """

    number: int
    name: str
    kind: str
    reason: str = ""
    headlines: tuple[str, ...] = ()
    greater_is_better: bool = True
    seconds: float = 0.0
    run_id: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    cell: JobCell | None = None
    has_lost_store: bool = False

    @property
    def cause(self) -> str:
        """The kind and the reason without digits: jobs that differ in a seed or in the id of a process share it."""
        return DIGITS.sub("", f"{self.kind}: {self.reason}")

    @property
    def headline(self) -> str:
        """The name of the first displayed metric; empty if nothing was measured."""
        return self.headlines[0] if self.headlines else ""

    @property
    def score(self) -> float:
        """The mean of the headline metric; NaN if there are several, because then no job is the best overall."""
        return self.metrics.get(self.headline, math.nan) if len(self.headlines) == 1 else math.nan

    @property
    def summary(self) -> str:
        """The displayed metrics, each with its mean and standard deviation."""
        means = {
            name: format_mean(self.metrics.get(name, math.nan), self.metrics.get(f"{name}_std", math.nan))
            for name in self.headlines
        }
        return ", ".join(f"{name} {mean}" for name, mean in means.items())


def count_reasons(outcomes: Iterable[JobOutcome]) -> dict[str, str]:
    """Return why jobs are not done: each cause, with its first reason and the number of its jobs -> the first of them.

    Examples
    --------
    >>> count_reasons(JobOutcome(seed, "knn", REFUSED, f"seed={seed}.0 is not an integer") for seed in range(30))
    {'30 refused: seed=0.0 is not an integer': '#0 knn, #1 knn, #2 knn, #3 knn, #4 knn and 25 more'}
    """
    by_cause: dict[str, list[JobOutcome]] = {}
    for outcome in outcomes:
        by_cause.setdefault(outcome.cause, []).append(outcome)
    return {
        f"{format_count(len(sharing))} {sharing[0].kind}: {sharing[0].reason}": name_first(
            f"#{outcome.number} {outcome.name}" for outcome in sharing
        )
        for sharing in by_cause.values()
    }


def exit_code(outcomes: Iterable[JobOutcome], skips_invalid: bool = False) -> int:
    """Return 0 if all jobs are done, 2 if all were refused before anything ran, and 1 if some job did not finish.

    Parameters
    ----------
    outcomes : iterable of JobOutcome
    skips_invalid : bool
        Whether invalid jobs are left out, so that any other jobs determine the code.

    Examples
    --------
    >>> [exit_code([JobOutcome(0, "a", kind)]) for kind in ("finished", "skipped", "stopped", "failed", "refused")]
    [0, 0, 0, 1, 2]
    """
    kinds = {outcome.kind for outcome in outcomes}
    if kinds & {FAILED, KILLED, BUSY}:
        return 1
    if REFUSED in kinds:
        if skips_invalid and kinds - {REFUSED}:
            return 0
        return 1 if kinds & {FINISHED, STOPPED} else 2
    return 0
