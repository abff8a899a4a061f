"""Optuna as a search method: each trial is a job whose outcome is reported to Optuna.

Several processes can share a study, and each may leave trials unfinished.
"""

import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from bakeoff.pipeline.commands.search.space import Dimension, SearchSpace, Suggestion
from bakeoff.pipeline.commands.search.storage import Objective, StudyKey
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep import compose, engine, job_runner
from bakeoff.pipeline.sweep.jobs import (
    FINISHED,
    INVALID,
    REFUSED,
    SKIPPED,
    STOPPED,
    Job,
    JobOutcome,
    JobProgress,
)
from bakeoff.pipeline.tracking import history, run, stored_runs
from bakeoff.pipeline.tracking.heartbeat import ProcessSign, identify_process
from bakeoff.pipeline.tracking.store import Store

PROCESS = "process"
"""The user attribute of a trial for the process that requested it."""
JOB = "job"
"""The user attribute for the hash of its job, its parameters and its overrides."""
RUN = "run"
"""The user attribute for the id of its run and the scores on test rows."""
SIGNING_SECONDS = 5.0
"""How long another process may take to record itself in a trial that it has started; usually it takes milliseconds."""
FINISHED_STATES = (TrialState.COMPLETE, TrialState.PRUNED)
"""The states that count as finished; a trial stopped before its last fold does not have to be repeated."""
NAN = float("nan")


@dataclass
class TrialSearch(engine.Search):
    """The jobs of a study, each chosen by Optuna when a process is free to run it.

    Attributes
    ----------
    study : optuna.Study
    space : SearchSpace
    key : StudyKey
    n_jobs : int
        The number of finished trials at which the study ends. A trial that fails is not replaced during the same
        command; the next command replaces it.
    runner : JobRunner
    composer : Composer
    batch_size : int
        The number of trials that run at the same time.
    running : dict of int to Trial
        The trials of this process that have not ended, by number.
    """

    study: optuna.Study
    space: SearchSpace
    key: StudyKey
    n_jobs: int
    runner: job_runner.JobRunner
    composer: compose.Composer
    batch_size: int
    running: dict[int, Trial] = field(default_factory=dict, init=False)
    _expected_number: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._first_number = len(self.study.get_trials(deepcopy=False))

    def count_finished(self) -> int:
        """Return the number of finished trials, which are complete or were stopped before their last fold."""
        return len(self.study.get_trials(deepcopy=False, states=FINISHED_STATES))

    def ask(self, record: engine.RecordOutcome) -> Iterator[Job]:
        """Yield the job of each trial; a refused job is recorded at once."""
        while True:
            self._end_orphans()
            trials = self.study.get_trials(deepcopy=False)
            n_used = sum(trial.state != TrialState.FAIL or trial.number >= self._first_number for trial in trials)
            if n_used >= self.n_jobs:
                return
            trial = self._start_trial()
            suggestion = self.space.suggest(partial(Dimension.suggest_value, trial=trial))
            job = self._compose_job(trial, suggestion)
            # One attribute instead of three, because each write to a storage takes milliseconds.
            chosen = {"config_hash": job.hash, "params": dict(suggestion.values), "overrides": suggestion.overrides}
            trial.set_user_attr(JOB, chosen)
            if job.state == INVALID:
                record(job.to_outcome(REFUSED, job.reason))
            else:
                yield job

    def should_continue(self, progress: JobProgress) -> bool:
        """Report the score of the latest fold; return whether to continue the trial."""
        trial = self.running[progress.number]
        score = progress.metrics.get(self.key.objectives[0].name, NAN)
        if score == score:
            trial.report(score, step=progress.folds)
        return not trial.should_prune()

    def tell(self, outcome: JobOutcome) -> JobOutcome:
        """End the trial of a job; return the outcome with the objectives in place of the headline metric."""
        trial = self.running[outcome.number]
        is_finished = outcome.kind in (FINISHED, SKIPPED)
        if is_finished and not outcome.metrics:
            store = self._find_store()
            if store is not None and outcome.run_id is not None:
                (stored,) = stored_runs.read_stored_runs(store, [outcome.run_id])
                outcome = replace(outcome, metrics=stored.metrics)
        outcome = show_objectives(outcome, self.key.objectives)
        if is_finished:
            self._complete(trial, outcome)
        elif outcome.kind == STOPPED:
            self._end(trial, TrialState.PRUNED, RUN, {"run_id": outcome.run_id, "recorded": {}})
        else:
            self._fail(trial, outcome.reason)
        return outcome

    def close(self) -> None:
        """Mark the trials of this process that are still running as failed."""
        for trial in list(self.running.values()):
            # The trial may have ended a moment ago, or the storage may have been lost.
            with suppress(Exception):
                self._fail(trial, "interrupted")

    def _start_trial(self) -> Trial:
        """Return a new trial that records this process."""
        trial = self.study.ask()
        self.running[trial.number] = trial
        pid = os.getpid()
        process = {"host": socket.gethostname(), "pid": pid, "beat": time.time(), "identity": identify_process(pid)}
        trial.set_user_attr(PROCESS, process)
        # A gap in the numbers means that another command has made trials, whose draws must not be repeated.
        if trial.number != self._expected_number:
            self.study.sampler.reseed_rng()
        self._expected_number = trial.number + 1
        return trial

    def _compose_job(self, trial: Trial, suggestion: Suggestion) -> Job:
        """Return the job of a trial; a job that cannot run contains the reason."""
        varying = tuple(suggestion.values)
        job = self.composer.compose_job(trial.number, suggestion.overrides, varying, self.key.name)
        try:
            return job if job.state == INVALID else self.runner.identify_job(job)
        except UserError as error:
            return replace(job, state=INVALID, reason=str(error))

    def _complete(self, trial: Trial, outcome: JobOutcome) -> None:
        """End a trial with the scores of its run, or as failed if an objective has no value."""
        metrics = outcome.metrics
        objectives = self.key.objectives
        values = [float(metrics.get(objective.name, NAN)) for objective in objectives]
        missing = [objective.name for objective, value in zip(objectives, values, strict=True) if value != value]
        if missing:
            self._fail(trial, f"{', '.join(missing)} is not defined for this run")
            return
        test_names = [objective.test_name for objective in objectives]
        test_scores = {name: metrics[name] for name in test_names if name in metrics}
        self._end(trial, TrialState.COMPLETE, RUN, {"run_id": outcome.run_id, "recorded": test_scores}, values)

    def _fail(self, trial: Trial, reason: str) -> None:
        """End a trial without scores."""
        self._end(trial, TrialState.FAIL, "error", reason)

    def _end(
        self, trial: Trial, state: TrialState, attribute: str, content: Any, values: Sequence[float] | None = None
    ) -> None:
        """End a trial with an attribute that describes its result."""
        self.running.pop(trial.number, None)
        # Another process may have ended the trial before. A sampler that has tried all points stops Optuna's loop;
        # outside that loop this raises an error, but the trial has already been stored.
        with suppress(RuntimeError, ValueError):
            trial.set_user_attr(attribute, content)
            self.study.tell(trial, values, state)

    def _end_orphans(self) -> None:
        """Mark trials of lost processes as failed; a trial with the same job takes its scores from the store."""
        for found in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if found.number in self.running:
                continue
            trial = self._wait_for_process(found)
            if trial.state == TrialState.RUNNING and self._has_lost_process(trial):
                self._fail(Trial(self.study, trial._trial_id), "its process ended without ending the run")

    def _wait_for_process(self, trial: FrozenTrial) -> FrozenTrial:
        """Return a trial once it names its process; a process killed just before will never name itself."""
        deadline = time.monotonic() + SIGNING_SECONDS
        while PROCESS not in trial.user_attrs and trial.state == TrialState.RUNNING and time.monotonic() < deadline:
            time.sleep(0.05)
            trial = self.study.get_trials(deepcopy=False)[trial.number]
        return trial

    def _has_lost_process(self, trial: FrozenTrial) -> bool:
        """Return whether the process of a trial is gone; for another machine, the run of the trial is checked."""
        attributes = trial.user_attrs
        if PROCESS not in attributes:
            return True
        sign = ProcessSign(**attributes[PROCESS])
        if sign.host != socket.gethostname():
            store = self._find_store()
            if store is None:  # other machines cannot be checked
                return False
            heartbeat = history.read_heartbeat(store, attributes.get(JOB, {}).get("config_hash", ""))
            sign = replace(sign, beat=max(sign.beat, heartbeat))
        return sign.is_own or sign.is_gone

    def _find_store(self) -> Store | None:
        return run.get_tracker(self.runner.resources, self.key.spec).find_store()


def show_objectives(outcome: JobOutcome, objectives: Sequence[Objective]) -> JobOutcome:
    """Return an outcome that shows the objectives of the study in place of the headline metric.

    Parameters
    ----------
    outcome : JobOutcome
    objectives : sequence of Objective
        The objectives; the first one is the headline, and the others are listed after its value.
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
