"""The nouns of a sweep: a job, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.errors import UserError

FINISHED, SKIPPED, STOPPED = "finished", "skipped", "stopped"
FAILED, KILLED, REFUSED, BUSY = "failed", "killed", "refused", "busy"


@dataclass(frozen=True)
class ComposedJob:
    """A job as it was composed, or why it could not be.

    Attributes
    ----------
    number : int
        In the sweep, from 0.
    overrides : tuple of str
    spec : mapping or None
        Settled; None where composing failed.
    invocation : Invocation or None
    refusal : UserError or None
    """

    number: int
    overrides: tuple[str, ...]
    spec: Mapping[str, Any] | None = None
    invocation: Invocation | None = None
    refusal: UserError | None = None


@dataclass(frozen=True)
class Job:
    """A job that can run, here or in another process.

    Attributes
    ----------
    number : int
    name : str
        The run's.
    hash : str
        Its ``config_hash``.
    spec : mapping
        Settled.
    invocation : Invocation
    seen : int
        The count of its claim when the store was asked; see `bakeoff.pipeline.sweep.claims`.
    """

    number: int
    name: str
    hash: str
    spec: Mapping[str, Any]
    invocation: Invocation
    seen: int = 0


@dataclass(frozen=True)
class JobProgress:
    """How a job stands after some of its folds.

    Attributes
    ----------
    number : int
        The job's.
    folds : int
        How many.
    metrics : mapping of str to float
        The mean over them of everything that was measured.
    """

    number: int
    folds: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class JobOutcome:
    """What became of a job.

    Attributes
    ----------
    number : int
    name : str
    kind : str
        ``finished``, ``skipped`` (was done already), ``stopped`` (a study stopped it), ``failed``, ``killed``,
        ``refused``, or ``busy`` (runs elsewhere).
    reason : str
        Of what did not finish.
    headline, value : str
        The name of the first metric, and its mean and deviation as text.
    score : float
        Its mean.
    greater_is_better : bool
    seconds : float
        Wall time of the learner: fitting, tuning, pruning.
    run_id : str or None
    metrics : mapping of str to float
        The mean over folds of everything that was measured; empty where the job did not run now.
    warnings : tuple of str
        What the learner had to say.
    """

    number: int
    name: str
    kind: str
    reason: str = ""
    headline: str = ""
    value: str = ""
    score: float = float("nan")
    greater_is_better: bool = True
    seconds: float = 0.0
    run_id: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def went_wrong(self) -> bool:
        """Whether the job ran and did not finish."""
        return self.kind in (FAILED, KILLED)


def exit_code(outcomes: Iterable[JobOutcome]) -> int:
    """Return 0 if all is done, 2 if all was refused before anything ran, 1 if something did not finish.

    Examples
    --------
    >>> [exit_code([JobOutcome(0, "a", kind)]) for kind in ("finished", "skipped", "stopped", "failed", "refused")]
    [0, 0, 0, 1, 2]
    """
    kinds = {outcome.kind for outcome in outcomes}
    if kinds & {FAILED, KILLED, BUSY}:
        return 1
    if REFUSED in kinds:
        return 1 if kinds & {FINISHED, STOPPED} else 2
    return 0
