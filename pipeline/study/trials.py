"""The trials of a study, which several processes can share and any process can leave unfinished."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.objectives import Objective
from bakeoff.pipeline.study.open_study import FINISHED_STATES
from bakeoff.pipeline.study.space import SearchSpace, Suggestion
from bakeoff.pipeline.study.storage import PROCESS, describe_process
from bakeoff.pipeline.tracking.heartbeat import ProcessSign


@dataclass(frozen=True)
class FinishedRun:
    """A finished run in the store.

    Attributes
    ----------
    run_id : str
    metrics : mapping of str to float
    """

    run_id: str
    metrics: Mapping[str, float]


FindRun = Callable[[str], FinishedRun | None]
"""(config_hash) -> the finished run of that job, or None."""
FindHeartbeat = Callable[[str | None], float | None]
"""(config_hash) -> the latest heartbeat of that job's runs, 0 if it has none; None if no store keeps runs."""
ExtendSuggestion = Callable[[Trial, Suggestion], Suggestion]
"""(trial, suggestion) -> the suggestion with further keys, which a function of the user chose."""


@dataclass
class Trials:
    """The trials of a study: asks Optuna for the next one, and tells it how each ended.

    Attributes
    ----------
    study : optuna.Study
    space : SearchSpace
    objectives : sequence of Objective
    n_trials : int
        The number of finished trials at which the study ends. A trial that fails under this command is not replaced by
        this command, but by the next one.
    extend_suggestion : callable
    running : dict of int to Trial
        The trials of this process that have not ended, by number.
    """

    study: optuna.Study
    space: SearchSpace
    objectives: Sequence[Objective]
    n_trials: int
    extend_suggestion: ExtendSuggestion
    running: dict[int, Trial] = field(default_factory=dict, init=False)
    _first_number: int = field(init=False)
    _expected_number: int = field(init=False)
    _is_exhausted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._first_number = len(self.study.get_trials(deepcopy=False))
        self._expected_number = self._first_number

    def count_finished(self) -> int:
        """Return how many trials are finished: complete, or stopped before their last fold."""
        return len(self.study.get_trials(deepcopy=False, states=FINISHED_STATES))

    def ask(self, find_run: FindRun, find_heartbeat: FindHeartbeat) -> tuple[Trial, Suggestion] | None:
        """Start a trial; return None if the study needs no further one.

        Parameters
        ----------
        find_run : callable
        find_heartbeat : callable

        Raises
        ------
        UserError
            The study was made with another search space.
        """
        self._end_orphans(find_run, find_heartbeat)
        if self._is_exhausted or self._count_used() >= self.n_trials:
            return None
        trial = self._start_trial()
        self.running[trial.number] = trial
        # Another process may have started the last trial since the count above. Then the later of the two is dropped.
        if self._count_used(before=trial.number) >= self.n_trials:
            self.fail(trial, "one more than hydra.sweeper.n_trials")
            return None
        return trial, self._suggest(trial)

    def find_stopped(self, job_hash: str) -> FrozenTrial | None:
        """Return an earlier trial of the same job that was stopped, if there is one."""
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.PRUNED,)):
            if trial.user_attrs["job"]["config_hash"] == job_hash:
                return trial
        return None

    def record_job(self, trial: Trial, suggestion: Suggestion, job_hash: str | None) -> None:
        """Record the job of a trial."""
        # One attribute rather than three: each write to a storage takes milliseconds.
        job = {
            "config_hash": job_hash,
            "params": dict(suggestion.values),
            "overrides": suggestion.overrides,
        }
        trial.set_user_attr("job", job)

    def complete(self, trial: Trial, metrics: Mapping[str, float], run_id: str | None) -> None:
        """End a trial with the scores of its run; without a value for each objective it has failed."""
        values = self.objective_values(metrics)
        missing = []
        for objective, value in zip(self.objectives, values, strict=True):
            if value != value:
                missing.append(objective.name)
        if missing:
            self.fail(trial, f"{', '.join(missing)} is not defined for this run")
            return
        test_names = [objective.test_name for objective in self.objectives]
        test_scores = {name: metrics[name] for name in test_names if name in metrics}
        trial.set_user_attr("run", {"run_id": run_id, "recorded": test_scores})
        self._tell(trial, TrialState.COMPLETE, values)

    def stop(self, trial: Trial, run_id: str | None) -> None:
        """End a trial before its last fold."""
        trial.set_user_attr("run", {"run_id": run_id, "recorded": {}})
        self._tell(trial, TrialState.PRUNED)

    def fail(self, trial: Trial, reason: str) -> None:
        """End a trial without scores."""
        trial.set_user_attr("error", reason)
        self._tell(trial, TrialState.FAIL)

    def close(self) -> None:
        """Fail the trials of this process that still run."""
        for trial in list(self.running.values()):
            # The trial may have ended a moment ago, or the storage may be what was lost.
            with suppress(Exception):
                self.fail(trial, "interrupted")

    def objective_values(self, metrics: Mapping[str, float]) -> list[float]:
        """Return the values of the objectives; NaN for a metric that is missing."""
        return [float(metrics.get(objective.name, float("nan"))) for objective in self.objectives]

    def _start_trial(self) -> Trial:
        """Return a new trial, which names this process."""
        trial = self.study.ask()
        # A trial that waited, or one in memory, has no process yet.
        if PROCESS not in trial.user_attrs:
            trial.set_user_attr(PROCESS, describe_process())
        return trial

    def _tell(self, trial: Trial, state: TrialState, values: Sequence[float] | None = None) -> None:
        self.running.pop(trial.number, None)
        try:
            self.study.tell(trial, values, state)
        except RuntimeError:
            # A grid sampler with no trials left stops Optuna's own loop. Outside that loop, this raises an error,
            # but only after the trial was stored. Any other error leaves the trial in another state.
            if self.study.trials[trial.number].state != state:
                raise
            self._is_exhausted = True

    def _suggest(self, trial: Trial) -> Suggestion:
        # A gap in the numbers means that another process shares the study, whose draws must not be repeated.
        if trial.number != self._expected_number:
            self.study.sampler.reseed_rng()
        self._expected_number = trial.number + 1
        try:
            suggestion = self.space.suggest(lambda dimension: dimension.suggest_value(trial))
            return self.extend_suggestion(trial, suggestion)
        except ValueError as error:
            raise UserError(
                f"hydra.sweeper.study_name={self.study.study_name!r} was created with another search space: "
                f"{' '.join(str(error).split())} Give another study_name."
            ) from error

    def _count_used(self, before: int | None = None) -> int:
        """Return how many trials count towards ``n_trials``: those that finished, run, or failed under this command.

        Parameters
        ----------
        before : int, optional
            Count only trials with a smaller number.
        """
        count = 0
        for trial in self.study.get_trials(deepcopy=False):
            is_earlier = before is None or trial.number < before
            has_failed_before = trial.state == TrialState.FAIL and trial.number < self._first_number
            if is_earlier and trial.state != TrialState.WAITING and not has_failed_before:
                count += 1
        return count

    def _end_orphans(self, find_run: FindRun, find_heartbeat: FindHeartbeat) -> None:
        """End the trials of processes that are gone."""
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if trial.number in self.running or not self._has_lost_process(trial, find_heartbeat):
                continue
            # Another process may end the same trial first.
            with suppress(ValueError, optuna.exceptions.UpdateFinishedTrialError):
                self._end_orphan(Trial(self.study, trial._trial_id), find_run)

    def _has_lost_process(self, trial: FrozenTrial, find_heartbeat: FindHeartbeat) -> bool:
        """Whether the process of a trial is gone; on another machine the run of the trial tells."""
        process = trial.user_attrs.get(PROCESS) or describe_unknown(trial)
        sign = ProcessSign(**process)
        if sign.host != socket.gethostname():
            heartbeat = find_heartbeat(trial.user_attrs.get("job", {}).get("config_hash"))
            if heartbeat is None:  # without a store nothing tells of other machines
                return False
            sign = replace(sign, beat=max(sign.beat, heartbeat))
        return sign.is_own or sign.is_gone(self.study.study_name, f"trial {trial.number}")

    def _end_orphan(self, trial: Trial, find_run: FindRun) -> None:
        """End a trial whose process is gone; its job may have finished all the same."""
        job_hash = trial.user_attrs.get("job", {}).get("config_hash")
        run = find_run(job_hash) if job_hash else None
        if run is None:
            self.fail(trial, "its process ended without ending the run")
        else:
            self.complete(trial, run.metrics, run.run_id)


def describe_unknown(trial: FrozenTrial) -> dict[str, Any]:
    """Return what stands for the process of a trial that was killed before it named itself: none of this machine."""
    started = trial.datetime_start
    return {"host": None, "pid": 0, "beat": started.timestamp() if started else 0.0, "identity": ""}
