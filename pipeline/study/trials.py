"""Asking for trials and telling what became of them, by several processes at once, some of which may die."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.liveness import Presence
from bakeoff.pipeline.study.objectives import Objective
from bakeoff.pipeline.study.space import Point, Space

DONE = (TrialState.COMPLETE, TrialState.PRUNED)
Found = tuple[str, Mapping[str, float]]
"""A finished run's id, and what it measured."""


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
    more : callable
        (trial, point) -> the point with what else is chosen.
    """

    study: optuna.Study
    space: Space
    objectives: Sequence[Objective]
    n_trials: int
    more: Callable[[Trial, Point], Point]
    running: dict[int, Trial] = field(default_factory=dict, init=False)
    _presence: Presence = field(init=False)
    _first: int = field(init=False)
    _next: int = field(init=False)
    _exhausted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._first = self._next = len(self.study.get_trials(deepcopy=False))
        self._presence = Presence(self.study)

    def finished(self) -> int:
        """How many trials are complete or were pruned."""
        return len(self.study.get_trials(deepcopy=False, states=DONE))

    def ask(self, found: Callable[[str], Found | None]) -> tuple[Trial, Point] | None:
        """Start a trial; None when the study has what it shall have.

        Parameters
        ----------
        found : callable
            (config_hash) -> the finished run of a job, or None.
        """
        self._bury(found)
        if self._exhausted or self._counted() >= self.n_trials:
            return None
        trial = self.study.ask()
        self.running[trial.number] = trial
        if self._counted(before=trial.number) >= self.n_trials:  # another process was faster
            self.fail(trial, "one more than hydra.sweeper.n_trials")
            return None
        return trial, self._choose(trial)

    def beat(self) -> None:
        """Let other processes see that the trials of this one run."""
        self._presence.beat()

    def pruned(self, job_hash: str) -> FrozenTrial | None:
        """Return the earlier trial of the same job, if there is one that was pruned."""
        earlier = self.study.get_trials(deepcopy=False, states=(TrialState.PRUNED,))
        return next((trial for trial in earlier if trial.user_attrs["job"]["config_hash"] == job_hash), None)

    def sign(self, trial: Trial, point: Point, job_hash: str | None) -> None:
        """Write down which job a trial is and who runs it, in one go: each write of a storage takes milliseconds."""
        job = {"process": self._presence.name, "config_hash": job_hash}
        trial.set_user_attr("job", {**job, "params": dict(point.values), "overrides": point.overrides})

    def tell(self, trial: Trial, metrics: Mapping[str, float], run_id: str | None) -> None:
        """Tell the scores of a trial's run."""
        values = self.values(metrics)
        missing = [o.name for o, value in zip(self.objectives, values, strict=True) if value != value]
        if missing:
            self.fail(trial, f"{', '.join(missing)} is not defined for this run")
            return
        names = [objective.test_name for objective in self.objectives]
        recorded = {name: metrics[name] for name in names if name in metrics}
        trial.set_user_attr("run", {"run_id": run_id, "recorded": recorded})
        self._settle(trial, TrialState.COMPLETE, values)

    def prune(self, trial: Trial, run_id: str | None) -> None:
        """Tell that further folds of a trial were not worth their time."""
        trial.set_user_attr("run", {"run_id": run_id, "recorded": {}})
        self._settle(trial, TrialState.PRUNED)

    def fail(self, trial: Trial, reason: str) -> None:
        """Tell that a trial has no scores."""
        trial.set_user_attr("error", reason)
        self._settle(trial, TrialState.FAIL)

    def leave(self) -> None:
        """Tell that everything failed that still runs, and that this process has no more to do with the study."""
        for trial in list(self.running.values()):
            with suppress(Exception):  # told just now, or the storage is what was lost
                self.fail(trial, "interrupted")
        with suppress(Exception):
            self._presence.end()

    def values(self, metrics: Mapping[str, float]) -> list[float]:
        """Return the objectives' values; NaN for one that is not there."""
        return [float(metrics.get(objective.name, float("nan"))) for objective in self.objectives]

    def _settle(self, trial: Trial, state: TrialState, values: Sequence[float] | None = None) -> None:
        self.running.pop(trial.number, None)
        try:
            self.study.tell(trial, values, state)
        except RuntimeError:
            if self.study.trials[trial.number].state != state:
                raise
            self._exhausted = True  # told, and a sampler of grids, which has no more, wanted to stop Optuna's own loop

    def _choose(self, trial: Trial) -> Point:
        if trial.number != self._next:  # shared with another process, whose draws must not be repeated
            self.study.sampler.reseed_rng()
        self._next = trial.number + 1
        try:
            return self.more(trial, self.space.choose(lambda dimension: dimension.suggest(trial)))
        except ValueError as error:
            raise UserError(
                f"hydra.sweeper.study_name={self.study.study_name!r} was made with another space: "
                f"{' '.join(str(error).split())} Give another study_name."
            ) from error

    def _counted(self, before: int | None = None) -> int:
        """How many trials are finished, run, or failed since this command began."""
        return sum(
            trial.state != TrialState.WAITING
            and (trial.state != TrialState.FAIL or trial.number >= self._first)
            and (before is None or trial.number < before)
            for trial in self.study.get_trials(deepcopy=False)
        )

    def _bury(self, found: Callable[[str], Found | None]) -> None:
        """Tell what became of trials whose process is gone: their jobs may have finished all the same."""
        running = self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        for trial in [trial for trial in running if trial.number not in self.running]:
            if not self._presence.is_alive(trial.user_attrs.get("job", {}).get("process")):
                with suppress(ValueError, optuna.exceptions.UpdateFinishedTrialError):  # another process was faster
                    self._answer_for(Trial(self.study, trial._trial_id), found)

    def _answer_for(self, trial: Trial, found: Callable[[str], Found | None]) -> None:
        """Tell a trial of a process that is gone."""
        job_hash = trial.user_attrs.get("job", {}).get("config_hash")
        run = found(job_hash) if job_hash else None
        if run is None:
            self.fail(trial, "its process ended without ending the run")
        else:
            self.tell(trial, run[1], run[0])
