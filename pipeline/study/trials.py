"""Optuna as a search method: each trial is a job, whose outcome is reported to Optuna.

Several processes can share a study, and each of them can leave trials unfinished.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, Trial, TrialState

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.space import SearchSpace, Suggestion
from bakeoff.pipeline.study.storage import FINISHED_STATES
from bakeoff.pipeline.study.study_key import Objective
from bakeoff.pipeline.sweep.compose import Composer
from bakeoff.pipeline.sweep.engine import RecordOutcome, Search
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import (
    FAILED,
    FINISHED,
    INVALID,
    REFUSED,
    SKIPPED,
    STOPPED,
    Job,
    JobOutcome,
    JobProgress,
)
from bakeoff.pipeline.tracking.heartbeat import ProcessSign, identify_process
from bakeoff.pipeline.tracking.history import read_heartbeat
from bakeoff.pipeline.tracking.run import get_tracker
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, find_runs_of_jobs, read_series, read_stored_runs

PROCESS = "process"
"""The user attribute of a trial with the process that requested it."""
JOB = "job"
"""That with the hash of its job, its parameters and its overrides."""
RUN = "run"
"""That with the id of its run, and the scores on test rows."""
ENDED_ELSEWHERE = (
    "another machine has ended this trial, because its run had no heartbeat for 15 minutes; use the same "
    "tracking.uri on all machines"
)
NAN = float("nan")


@dataclass
class TrialSearch(Search):
    """The jobs of a study, each chosen by Optuna when a process is free to run it.

    Attributes
    ----------
    study : optuna.Study
    space : SearchSpace
    objectives : sequence of Objective
    n_jobs : int
        The number of finished trials at which the study ends. A trial that fails under this command is not replaced by
        this command, but by the next one.
    spec : mapping
        The settled configuration of any job of the study: all have the same store.
    runner : JobRunner
    composer : Composer
    batch_size : int
        The number of trials that run at a time.
    running : dict of int to Trial
        The trials of this process that have not ended, by number.
    """

    study: optuna.Study
    space: SearchSpace
    objectives: Sequence[Objective]
    n_jobs: int
    spec: Mapping[str, Any]
    runner: JobRunner
    composer: Composer
    batch_size: int
    running: dict[int, Trial] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._first_number = len(self.study.get_trials(deepcopy=False))
        self._expected_number = self._first_number

    def count_finished(self) -> int:
        """Return how many trials are finished: complete, or stopped before their last fold."""
        return len(self.study.get_trials(deepcopy=False, states=FINISHED_STATES))

    def ask(self, record: RecordOutcome) -> Iterator[Job]:
        """Yield the job of each trial; one that is refused is recorded at once.

        Raises
        ------
        UserError
            The study was made with another search space.
        """
        while True:
            self._end_orphans()
            if self._count_used() >= self.n_jobs:
                return
            trial = self._start_trial()
            # Another process may have started the last trial since the count. Then the later of the two is dropped.
            if self._count_used(before=trial.number) >= self.n_jobs:
                self._fail(trial, "one more than hydra.sweeper.n_trials")
                return
            suggestion = self._suggest(trial)
            job = self._compose_job(trial, suggestion)
            # One attribute rather than three: each write to a storage takes milliseconds.
            chosen = {"config_hash": job.hash, "params": dict(suggestion.values), "overrides": suggestion.overrides}
            trial.set_user_attr(JOB, chosen)
            if job.state == INVALID:
                record(job.to_outcome(REFUSED, job.reason))
            else:
                yield job

    def should_continue(self, progress: JobProgress) -> bool:
        """Report the score of the latest fold; return whether the trial is worth another one."""
        trial = self.running[progress.number]
        score = progress.metrics.get(self.objectives[0].name, NAN)
        if score == score:
            trial.report(score, step=progress.folds)
        return not trial.should_prune()

    def tell(self, outcome: JobOutcome) -> JobOutcome:
        """End the trial of a job; return the outcome with the objectives in place of the headline metric."""
        trial = self.running[outcome.number]
        is_finished = outcome.kind in (FINISHED, SKIPPED)
        if is_finished and not outcome.metrics:
            outcome = replace(outcome, metrics=self._read_stored_scores(trial, outcome.run_id))
        outcome = show_objectives(outcome, self.objectives)
        try:
            if is_finished:
                self._complete(trial, outcome.metrics, outcome.run_id)
            elif outcome.kind == STOPPED:
                trial.set_user_attr(RUN, {"run_id": outcome.run_id, "recorded": {}})
                self._end(trial, TrialState.PRUNED)
            else:
                self._fail(trial, outcome.reason)
        except UpdateFinishedTrialError:
            outcome = replace(outcome, kind=FAILED, reason=ENDED_ELSEWHERE)
        return outcome

    def describe_rest(self, outcomes: Sequence[JobOutcome]) -> str:
        """Return how many trials are finished, by any process."""
        return f"{self.count_finished()} of {self.n_jobs} trials done; the same command continues the study."

    def close(self) -> None:
        """Fail the trials of this process that still run."""
        for trial in list(self.running.values()):
            # The trial may have ended a moment ago, or the storage may have been lost.
            with suppress(Exception):
                self._fail(trial, "interrupted")

    def _start_trial(self) -> Trial:
        """Return a new trial, which names this process."""
        trial = self.study.ask()
        self.running[trial.number] = trial
        pid = os.getpid()
        process = {"host": socket.gethostname(), "pid": pid, "beat": time.time(), "identity": identify_process(pid)}
        # A process that is killed right here leaves a trial without a name, which counts as one of another machine.
        trial.set_user_attr(PROCESS, process)
        return trial

    def _suggest(self, trial: Trial) -> Suggestion:
        # A gap in the numbers means that another process shares the study, whose draws must not be repeated.
        if trial.number != self._expected_number:
            self.study.sampler.reseed_rng()
        self._expected_number = trial.number + 1
        try:
            return self.space.suggest(lambda dimension: dimension.suggest_value(trial))
        except ValueError as error:
            raise UserError(
                f"hydra.sweeper.study_name={self.study.study_name!r} was created with another search space: "
                f"{' '.join(str(error).split())} Give another study_name."
            ) from error

    def _compose_job(self, trial: Trial, suggestion: Suggestion) -> Job:
        """Return the job of a trial; an invalid one has the reason."""
        varying = tuple(suggestion.values)
        job = self.composer.compose_job(trial.number, suggestion.overrides, varying, self.study.study_name)
        try:
            return job if job.state == INVALID else self.runner.identify_job(job)
        except UserError as error:
            return replace(job, state=INVALID, reason=str(error))

    def _complete(self, trial: Trial, metrics: Mapping[str, float], run_id: str | None) -> None:
        """End a trial with the scores of its run; without a value for each objective it has failed."""
        values = [float(metrics.get(objective.name, NAN)) for objective in self.objectives]
        missing = [objective.name for objective, value in zip(self.objectives, values, strict=True) if value != value]
        if missing:
            self._fail(trial, f"{', '.join(missing)} is not defined for this run")
            return
        test_names = [objective.test_name for objective in self.objectives]
        test_scores = {name: metrics[name] for name in test_names if name in metrics}
        trial.set_user_attr(RUN, {"run_id": run_id, "recorded": test_scores})
        self._end(trial, TrialState.COMPLETE, values)

    def _fail(self, trial: Trial, reason: str) -> None:
        """End a trial without scores."""
        trial.set_user_attr("error", reason)
        self._end(trial, TrialState.FAIL)

    def _end(self, trial: Trial, state: TrialState, values: Sequence[float] | None = None) -> None:
        self.running.pop(trial.number, None)
        try:
            self.study.tell(trial, values, state)
        except UpdateFinishedTrialError:
            raise
        except RuntimeError:
            # A sampler that has tried all points stops the loop of Optuna, outside which this is an error; by then,
            # the trial is stored.
            return

    def _count_used(self, before: int | None = None) -> int:
        """Return how many trials count towards `n_jobs`: those that finished, run, or failed under this command.

        With `before`, only trials with a smaller number count.
        """
        count = 0
        for trial in self.study.get_trials(deepcopy=False):
            is_earlier = before is None or trial.number < before
            has_failed_before = trial.state == TrialState.FAIL and trial.number < self._first_number
            if is_earlier and trial.state != TrialState.WAITING and not has_failed_before:
                count += 1
        return count

    def _end_orphans(self) -> None:
        """End the trials of processes that are gone, whose jobs may have finished all the same."""
        for orphan in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if orphan.number in self.running or not self._has_lost_process(orphan):
                continue
            trial = Trial(self.study, orphan._trial_id)
            # Another process may end the same trial first.
            with suppress(ValueError, UpdateFinishedTrialError):
                run = self._find_finished_run(orphan.user_attrs.get(JOB, {}).get("config_hash"))
                if run is None:
                    self._fail(trial, "its process ended without ending the run")
                else:
                    self._complete(trial, self._read_stored_scores(trial, run.run_id), run.run_id)

    def _has_lost_process(self, trial: FrozenTrial) -> bool:
        """Return whether the process of a trial is gone; on another machine the run of the trial is checked."""
        started = trial.datetime_start
        unknown = {"host": None, "pid": 0, "beat": started.timestamp() if started else 0.0, "identity": ""}
        sign = ProcessSign(**trial.user_attrs.get(PROCESS, unknown))
        if sign.host != socket.gethostname():
            store = self._find_store()
            if store is None:  # nothing tells of other machines
                return False
            job_hash = trial.user_attrs.get(JOB, {}).get("config_hash")
            heartbeat = read_heartbeat(store, job_hash) if job_hash else 0.0
            sign = replace(sign, beat=max(sign.beat, heartbeat))
        return sign.is_own or sign.is_gone

    def _find_store(self) -> Store | None:
        return get_tracker(self.runner.resources, self.spec).find_store()

    def _find_finished_run(self, job_hash: str | None) -> StoredRun | None:
        """Return the finished run of a job; None with ``resume=false``, where all jobs run again."""
        store = self._find_store() if self.runner.resume and job_hash else None
        run = None if store is None else find_runs_of_jobs(store, [str(job_hash)]).get(str(job_hash))
        return run if run is not None and run.is_finished else None

    def _read_stored_scores(self, trial: Trial, run_id: str | None) -> Mapping[str, float]:
        """Return the scores of an earlier run, and report the scores of its folds if a pruner uses them."""
        store = self._find_store()
        if store is None or run_id is None:
            return {}
        runs = read_stored_runs(store, [run_id])
        if self.runner.should_continue is not None and not self.study.trials[trial.number].intermediate_values:
            name = self.objectives[0].name
            for step, score in enumerate(read_series(store, runs, [name])[run_id].get(name, ()), start=1):
                trial.report(score, step)
        return runs[0].metrics


def show_objectives(outcome: JobOutcome, objectives: Sequence[Objective]) -> JobOutcome:
    """Return an outcome that shows the objectives of the study in place of the headline metric.

    Parameters
    ----------
    outcome : JobOutcome
    objectives : sequence of Objective
        The first one is the headline; the others are listed after its value.
    """
    if not outcome.metrics:
        return outcome
    outcome = replace(
        outcome,
        headlines=tuple(objective.name for objective in objectives),
        greater_is_better=objectives[0].direction == "maximize",
    )
    if outcome.kind == SKIPPED:
        return replace(outcome, reason=f"already done: {outcome.summary}")
    return outcome
