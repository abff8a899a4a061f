"""Between a study and the engine of sweeps: a trial becomes a job, a job's outcome is told to its trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from optuna.trial import Trial

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.report import format_mean
from bakeoff.pipeline.study.objectives import Objective
from bakeoff.pipeline.study.space import Point
from bakeoff.pipeline.study.trials import Found, Trials
from bakeoff.pipeline.sweep.compose import Composer
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import FINISHED, REFUSED, SKIPPED, STOPPED, Job, JobOutcome, JobProgress
from bakeoff.pipeline.tracking import history


@dataclass
class Jobs:
    """The jobs of a study, made one by one as there is room for them.

    Attributes
    ----------
    trials : Trials
    runner : JobRunner
    spec : mapping
        Settled, of some job: the store is the same for all.
    composer : Composer
    most_failing : float or None
        The part of each `at_once` trials that may fail.
    at_once : int
    note : callable
        Takes note of the outcome of a job that need not run.
    """

    trials: Trials
    runner: JobRunner
    spec: Mapping[str, Any]
    composer: Composer
    most_failing: float | None
    at_once: int
    note: Callable[[JobOutcome], object] = bool
    _ended: list[bool] = field(default_factory=list)
    _too_many: bool = False

    def __iter__(self) -> Iterator[Job]:
        while not self._too_many and (asked := self.trials.ask(self._found)) is not None:
            job = self._job(*asked)
            if job is not None:
                yield job

    def should_continue(self, progress: JobProgress) -> bool:
        """Report the mean over the folds so far; return whether the trial is worth another fold."""
        trial = self.trials.running[progress.number]
        value = self.trials.values(progress.metrics)[0]
        if value == value:
            trial.report(value, step=progress.folds)
        return not trial.should_prune()

    def on_outcome(self, outcome: JobOutcome) -> JobOutcome:
        """Tell a trial what became of its job; returns the outcome in the words of the study."""
        trial = self.trials.running[outcome.number]
        if outcome.kind in (FINISHED, SKIPPED) and not outcome.metrics:
            outcome = replace(outcome, metrics=self._measured(outcome))
        outcome = shown(outcome, self.trials.objectives)
        if outcome.kind == STOPPED:
            self.trials.prune(trial, outcome.run_id)
        elif outcome.kind in (FINISHED, SKIPPED):
            self.trials.tell(trial, outcome.metrics, outcome.run_id)
        else:
            self.trials.fail(trial, outcome.reason)
        self._count(outcome.kind not in (FINISHED, SKIPPED, STOPPED))
        return outcome

    def _job(self, trial: Trial, point: Point) -> Job | None:
        """Return the job of a trial; None if there is nothing to run, which is noted."""
        name = " ".join(point.overrides)
        composed = self.composer.compose_job(
            trial.number, point.overrides, tuple(point.values), self.trials.study.study_name
        )
        try:
            if composed.spec is None or composed.invocation is None:
                raise composed.error or UserError(name)
            job = self.runner.identify_job(trial.number, composed.spec, composed.invocation, has_store_query=False)
        except UserError as refusal:
            self.trials.sign(trial, point, None)
            self.note(JobOutcome(trial.number, name, REFUSED, str(refusal)))
            return None
        earlier = self.trials.pruned(job.hash) if self.runner.resume else None
        self.trials.sign(trial, point, job.hash)
        if earlier is None:
            return job
        for step, value in earlier.intermediate_values.items():
            trial.report(value, step)
        told = f"like trial #{earlier.number}, which was the same job"
        self.note(JobOutcome(trial.number, job.name, STOPPED, told, run_id=earlier.user_attrs["run"]["run_id"]))
        return None

    def _measured(self, outcome: JobOutcome) -> dict[str, float]:
        """Return what the store knows of a job that did not run now."""
        store = self.runner.resources.get_tracker(self.spec).find_store()
        return {} if store is None or outcome.run_id is None else history.read_metrics(store, outcome.run_id)

    def _found(self, job_hash: str) -> Found | None:
        """Return the finished run of a job, unless all are to run again."""
        store = self.runner.resources.get_tracker(self.spec).find_store() if self.runner.resume else None
        run_id = None if store is None else history.find_finished_runs(store, [job_hash]).get(job_hash)
        return None if store is None or run_id is None else (run_id, history.read_metrics(store, run_id))

    def _count(self, failed: bool) -> None:
        self._ended.append(failed)
        if self.most_failing is not None and len(self._ended) % self.at_once == 0:
            self._too_many |= sum(self._ended[-self.at_once :]) / self.at_once > self.most_failing


def shown(outcome: JobOutcome, objectives: Sequence[Objective]) -> JobOutcome:
    """Return an outcome in the words of the study: its objectives stand for the headline."""
    if not outcome.metrics:
        return outcome
    metrics, first = dict(outcome.metrics), objectives[0]
    texts = [format_mean(metrics, objective.name) for objective in objectives]
    more = "".join(f", {o.name} {text}" for o, text in zip(objectives[1:], texts[1:], strict=True))
    value, reason = f"{texts[0]}{more}", outcome.reason
    return replace(
        outcome,
        reason=f"already done: {first.name} {value}" if outcome.kind == SKIPPED else reason,
        headline=first.name,
        value=value,
        score=metrics.get(first.name, float("nan")) if len(objectives) == 1 else float("nan"),
        greater_is_better=first.direction == "maximize",
    )
