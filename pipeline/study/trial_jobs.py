"""The jobs of a study: each trial becomes a job, and the outcome of each job ends its trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, Trial

from bakeoff.pipeline.card.report import format_mean
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.objectives import Objective
from bakeoff.pipeline.study.space import Suggestion
from bakeoff.pipeline.study.trials import FinishedRun, Trials
from bakeoff.pipeline.sweep.compose import Composer
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import FAILED, FINISHED, REFUSED, SKIPPED, STOPPED, Job, JobOutcome, JobProgress
from bakeoff.pipeline.sweep.search import RecordOutcome, Search
from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.trackers import get_tracker

ENDED_ELSEWHERE = (
    "another machine has ended this trial, because it saw no heartbeat of its run for 15 minutes; "
    "give all machines the same tracking.uri"
)


@dataclass
class TrialJobs(Search):
    """The jobs of a study, each created when a process is free to run it.

    Attributes
    ----------
    trials : Trials
    runner : JobRunner
    spec : mapping
        The settled configuration of any job of the study: all have the same store.
    composer : Composer
    max_failure_rate : float or None
        The fraction of each `batch_size` trials that may fail before the study ends.
    batch_size : int
        The number of trials that run at a time.
    """

    trials: Trials
    runner: JobRunner
    spec: Mapping[str, Any]
    composer: Composer
    max_failure_rate: float | None
    batch_size: int
    _failures: list[bool] = field(default_factory=list)
    _has_too_many_failures: bool = False

    def __post_init__(self) -> None:
        self.n_jobs = self.trials.n_trials

    def ask(self, record: RecordOutcome) -> Iterator[Job]:
        """Yield the job of each trial; one that is refused, or was stopped before, is recorded at once."""
        while not self._has_too_many_failures:
            asked = self.trials.ask(self._find_finished_run, self._find_heartbeat)
            if asked is None:
                return
            job = self._prepare_job(*asked, record)
            if job is not None:
                yield job

    def should_continue(self, progress: JobProgress) -> bool:
        """Report the mean over the folds so far; return whether the trial is worth another fold."""
        trial = self.trials.running[progress.number]
        value = self.trials.objective_values(progress.metrics)[0]
        if value == value:
            trial.report(value, step=progress.folds)
        return not trial.should_prune()

    def tell(self, outcome: JobOutcome) -> JobOutcome:
        """End the trial of a job; return the outcome with the objectives in place of the headline metric."""
        trial = self.trials.running[outcome.number]
        is_finished = outcome.kind in (FINISHED, SKIPPED)
        if is_finished and not outcome.metrics:
            outcome = replace(outcome, metrics=self._read_stored_metrics(outcome))
        outcome = show_objectives(outcome, self.trials.objectives)
        try:
            self._end_trial(trial, outcome)
        except UpdateFinishedTrialError:
            outcome = replace(outcome, kind=FAILED, reason=ENDED_ELSEWHERE)
        self._count_failure(not is_finished and outcome.kind != STOPPED)
        return outcome

    def _end_trial(self, trial: Trial, outcome: JobOutcome) -> None:
        if outcome.kind in (FINISHED, SKIPPED):
            self.trials.complete(trial, outcome.metrics, outcome.run_id)
        elif outcome.kind == STOPPED:
            self.trials.stop(trial, outcome.run_id)
        else:
            self.trials.fail(trial, outcome.reason)

    def _prepare_job(self, trial: Trial, suggestion: Suggestion, record: RecordOutcome) -> Job | None:
        """Return the job of a trial; record an outcome and return None if there is nothing to run."""
        try:
            job = self._compose_job(trial, suggestion)
        except UserError as error:
            self.trials.record_job(trial, suggestion, None)
            name = " ".join(suggestion.overrides)
            record(JobOutcome(trial.number, name, REFUSED, str(error)))
            return None
        stopped = self.trials.find_stopped(job.hash) if self.runner.resume else None
        self.trials.record_job(trial, suggestion, job.hash)
        if stopped is None:
            return job
        record(self._repeat_stopped(trial, job, stopped))
        return None

    def _compose_job(self, trial: Trial, suggestion: Suggestion) -> Job:
        varying = tuple(suggestion.values)
        study_name = self.trials.study.study_name
        composed = self.composer.compose_job(trial.number, suggestion.overrides, varying, study_name)
        if composed.spec is None or composed.invocation is None:
            raise composed.error or UserError(" ".join(suggestion.overrides))
        return self.runner.identify_job(trial.number, composed.spec, composed.invocation)

    def _repeat_stopped(self, trial: Trial, job: Job, stopped: FrozenTrial) -> JobOutcome:
        """Return the outcome of a trial that ends like the earlier trial of the same job, which was stopped."""
        for step, value in stopped.intermediate_values.items():
            trial.report(value, step)
        reason = f"like trial #{stopped.number}, which was the same job"
        run_id = stopped.user_attrs["run"]["run_id"]
        return JobOutcome(trial.number, job.name, STOPPED, reason, run_id=run_id)

    def _find_store(self) -> Store | None:
        return get_tracker(self.runner.resources, self.spec).find_store()

    def _read_stored_metrics(self, outcome: JobOutcome) -> dict[str, float]:
        """Return the metrics in the store of a job that did not run now."""
        store = self._find_store()
        if store is None or outcome.run_id is None:
            return {}
        return history.read_metrics(store, outcome.run_id)

    def _find_finished_run(self, job_hash: str) -> FinishedRun | None:
        """Return the finished run of a job; None with ``resume=false``, where all jobs run again."""
        store = self._find_store() if self.runner.resume else None
        if store is None:
            return None
        run_id = history.find_finished_runs(store, [job_hash]).get(job_hash)
        if run_id is None:
            return None
        return FinishedRun(run_id, history.read_metrics(store, run_id))

    def _find_heartbeat(self, job_hash: str | None) -> float | None:
        """Return the latest heartbeat of a job's runs, 0 if it has none; None without a store."""
        store = self._find_store()
        if store is None:
            return None
        return history.read_heartbeat(store, job_hash) if job_hash else 0.0

    def _count_failure(self, has_failed: bool) -> None:
        """Compare the failures of the latest trials with the limit, each time that a batch is complete."""
        self._failures.append(has_failed)
        if self.max_failure_rate is None or len(self._failures) % self.batch_size != 0:
            return
        n_failed = sum(self._failures[-self.batch_size :])
        if n_failed / self.batch_size > self.max_failure_rate:
            self._has_too_many_failures = True


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
    metrics = dict(outcome.metrics)
    headline = objectives[0]
    value = format_mean(metrics, headline.name)
    for objective in objectives[1:]:
        value += f", {objective.name} {format_mean(metrics, objective.name)}"
    reason = outcome.reason
    if outcome.kind == SKIPPED:
        reason = f"already done: {headline.name} {value}"
    # No trial is the best of all by several objectives, so there is no score to compare.
    has_score = len(objectives) == 1
    score = metrics.get(headline.name, float("nan")) if has_score else float("nan")
    return replace(
        outcome,
        reason=reason,
        headline=headline.name,
        value=value,
        score=score,
        greater_is_better=headline.direction == "maximize",
    )
