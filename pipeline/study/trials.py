"""Asking for trials and telling what became of them, by several processes at once, some of which may die."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from pipeline.refusal import Refusal
from pipeline.study.objectives import Objective
from pipeline.study.space import Space

BEAT = 30.0
"""Seconds between signs of life of a running trial."""
SILENCE = 300.0
"""Seconds without one, after which a trial of another machine counts as dead."""


@dataclass(frozen=True)
class Asked:
    """A trial that is to run, and the overrides of its job."""

    trial: Trial
    overrides: tuple[str, ...]


@dataclass
class Trials:
    """The trials of a study.

    Attributes
    ----------
    study : optuna.Study
    space : Space
    objectives : sequence of Objective
    n_trials : int
        How many shall be finished.  A trial that fails while this command runs is not replaced: the next command does.
    """

    study: optuna.Study
    space: Space
    objectives: Sequence[Objective]
    n_trials: int
    _first: int = field(init=False)
    _next: int = field(init=False)
    _exhausted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._first = self._next = len(self.study.get_trials(deepcopy=False))

    def finished(self) -> int:
        """How many trials are complete or were pruned."""
        done = (TrialState.COMPLETE, TrialState.PRUNED)
        return len(self.study.get_trials(deepcopy=False, states=done))

    def ask(self, most: int) -> list[Asked]:
        """Start at most so many trials; none when the study has what it shall have."""
        self._bury()
        asked: list[Asked] = []
        try:
            while len(asked) < most and self._counted() < self.n_trials and not self._exhausted:
                trial = self.study.ask()
                if self._counted(before=trial.number) >= self.n_trials:  # another process was faster
                    self.fail(trial, "one more than hydra.sweeper.n_trials")
                    break
                asked.append(self._choose(trial))
        except BaseException:
            for one in asked:
                self.fail(one.trial, "interrupted")
            raise
        return asked

    def tell(self, trial: Trial, metrics: Mapping[str, float], pruned: bool, run_id: str | None) -> None:
        """Tell the scores of a trial's run."""
        values = [float(metrics.get(objective.name, float("nan"))) for objective in self.objectives]
        trial.set_user_attr("run_id", run_id)
        if pruned:
            self._settle(trial, TrialState.PRUNED)
            return
        missing = [o.name for o, value in zip(self.objectives, values, strict=True) if value != value]
        if missing:
            self.fail(trial, f"{', '.join(missing)} is not defined for this run")
            return
        recorded = {o.test_name: metrics[o.test_name] for o in self.objectives if o.test_name in metrics}
        trial.set_user_attr("recorded", recorded)
        self._settle(trial, TrialState.COMPLETE, values)

    def fail(self, trial: Trial, reason: str) -> None:
        """Tell that a trial has no scores, unless it was told already."""
        if self.study.trials[trial.number].state == TrialState.RUNNING:
            trial.set_user_attr("error", reason)
            self._settle(trial, TrialState.FAIL)

    def _settle(self, trial: Trial, state: TrialState, values: Sequence[float] | None = None) -> None:
        try:
            self.study.tell(trial, values, state)
        except RuntimeError:
            if self.study.trials[trial.number].state != state:
                raise
            self._exhausted = True  # told, and a sampler of grids, which has no more, wanted to stop Optuna's own loop

    def _choose(self, trial: Trial) -> Asked:
        if trial.number != self._next:  # shared with another process, whose draws must not be repeated
            self.study.sampler.reseed_rng()
        self._next = trial.number + 1
        try:
            overrides, values = self.space.choose(lambda dimension: dimension.suggest(trial))
        except BaseException as error:
            self.fail(trial, str(error))
            if not isinstance(error, ValueError):
                raise
            raise Refusal(
                f"hydra.sweeper.study_name={self.study.study_name!r} was made with another space: "
                f"{' '.join(str(error).split())} Give another study_name."
            ) from error
        trial.set_user_attr("params", values)
        trial.set_user_attr("overrides", overrides)
        trial.set_user_attr("process", [socket.gethostname(), os.getpid()])
        return Asked(trial, overrides)

    def _counted(self, before: int | None = None) -> int:
        """How many trials are finished, run, or failed since this command began."""
        return sum(
            trial.state != TrialState.WAITING
            and (trial.state != TrialState.FAIL or trial.number >= self._first)
            and (before is None or trial.number < before)
            for trial in self.study.get_trials(deepcopy=False)
        )

    def _bury(self) -> None:
        """Tell that trials failed whose process is gone."""
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if not _lives(trial):
                with suppress(ValueError, optuna.exceptions.UpdateFinishedTrialError):  # another process was faster
                    self.study.tell(trial.number, state=TrialState.FAIL)


def _lives(trial: FrozenTrial) -> bool:
    host, pid = trial.user_attrs.get("process", (None, 0))
    if host == socket.gethostname():
        with suppress(PermissionError):  # somebody else's process, but one
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return False
    started = trial.datetime_start.timestamp() if trial.datetime_start else 0.0
    return bool(time.time() - trial.user_attrs.get("alive", started) < SILENCE)


@contextmanager
def signs_of_life(asked: Sequence[Asked]) -> Iterator[None]:
    """Let other processes see that these trials run."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            with suppress(Exception):  # a busy storage; the next beat comes
                for one in asked:
                    one.trial.set_user_attr("alive", time.time())

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
