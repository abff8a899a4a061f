"""Planning: before the first job runs, every job is checked, and the store is asked which are done."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import ComposedJob, Job
from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.history import Durations
from bakeoff.pipeline.tracking.store import Store

TO_DO, DONE, INVALID, DUPLICATE = "to do", "done", "invalid", "twice"


@dataclass(frozen=True)
class PlanEntry:
    """What is planned for a job.

    Attributes
    ----------
    draft : ComposedJob
    state : str
        ``to do``, ``done`` (finished in the store), ``invalid``, or ``twice`` (the same as an earlier one).
    reason : str
        Why it is invalid, or which run or job it is the same as.
    job : Job or None
    seconds : float or None
        How long it may take, where the store knows.
    """

    draft: ComposedJob
    state: str
    reason: str = ""
    job: Job | None = None
    seconds: float | None = None

    @property
    def name(self) -> str:
        """The job's name; its overrides where it could not be composed."""
        return self.job.name if self.job else " ".join(self.draft.overrides) or "default"


@dataclass(frozen=True)
class Plan:
    """All jobs of a sweep, in order."""

    entries: tuple[PlanEntry, ...]

    def with_state(self, state: str) -> list[PlanEntry]:
        """Return the rows of a state."""
        return [row for row in self.entries if row.state == state]

    @property
    def jobs(self) -> list[Job]:
        """The jobs that are to run."""
        return [row.job for row in self.with_state(TO_DO) if row.job is not None]


@dataclass
class Planner:
    """Makes a plan of drafts.

    Parameters
    ----------
    runner : JobRunner
        Its datasets and stores are used, so that jobs that run here find them loaded.
    resume : bool
        Ask the store what is done.
    """

    runner: JobRunner
    resume: bool

    def make_plan(self, drafts: Sequence[ComposedJob]) -> Plan:
        """Say of each draft whether it is valid, done, or the same as an earlier one."""
        rows = self._once([self._identified(draft) for draft in drafts])
        done = self._done([row.job for row in rows if row.job and row.state == TO_DO]) if self.resume else {}
        return Plan(tuple(self._checked(row, done) for row in rows))

    def add_estimates(self, plan: Plan) -> Plan:
        """Return the plan with times, where the store knows some."""
        known: dict[str, Durations] = {}
        for job in plan.jobs:
            store = self._store(job)
            if store is not None and _store_key(job) not in known:
                known[_store_key(job)] = Durations.of(store)
        return Plan(tuple(_timed(row, known) for row in plan.entries))

    def _identified(self, draft: ComposedJob) -> PlanEntry:
        """Give the draft its hash, for which its data must be read."""
        if draft.refusal is not None or draft.spec is None or draft.invocation is None:
            return PlanEntry(draft, INVALID, str(draft.refusal))
        try:
            job = self.runner.identify_job(draft.number, draft.spec, draft.invocation)
        except UserError as refusal:
            return PlanEntry(draft, INVALID, str(refusal))
        return PlanEntry(draft, TO_DO, job=job)

    def _once(self, rows: Sequence[PlanEntry]) -> list[PlanEntry]:
        """Leave each job in the plan once."""
        first: dict[tuple[str, str], Job] = {}
        kept = []
        for row in rows:
            if row.job is not None:
                same = first.setdefault((_store_key(row.job), row.job.hash), row.job)
                if same is not row.job:
                    row = replace(row, state=DUPLICATE, reason=f"the same as #{same.number}")
            kept.append(row)
        return kept

    def _done(self, jobs: Sequence[Job]) -> dict[tuple[str, str], str]:
        """Ask each store which jobs are finished, after ending what died there."""
        wanted: dict[str, list[Job]] = {}
        for job in jobs:
            wanted.setdefault(_store_key(job), []).append(job)
        done: dict[tuple[str, str], str] = {}
        for key, asking in wanted.items():
            store = self._store(asking[0])
            if store is not None:
                history.end_orphans(store)
                found = history.find_finished_runs(store, {job.hash for job in asking})
                done |= {(key, each): run_id for each, run_id in found.items()}
        return done

    def _checked(self, row: PlanEntry, done: dict[tuple[str, str], str]) -> PlanEntry:
        """Check what is not done; what is finished was valid."""
        if row.job is None or row.state != TO_DO:
            return row
        run_id = done.get((_store_key(row.job), row.job.hash))
        if run_id is not None:
            return replace(row, state=DONE, reason=f"run {run_id}")
        try:
            self.runner.check_job(row.job)
        except UserError as refusal:
            return replace(row, state=INVALID, reason=str(refusal))
        return row

    def _store(self, job: Job) -> Store | None:
        """Return the store of a job if it exists; a plan makes none."""
        return self.runner.resources.tracker(job.spec).find()


def _timed(row: PlanEntry, known: Mapping[str, Durations]) -> PlanEntry:
    if row.job is None or row.state != TO_DO or _store_key(row.job) not in known:
        return row
    choices = row.job.invocation.choices
    return replace(row, seconds=known[_store_key(row.job)].estimate(choices["learner"], choices["dataset"]))


def _store_key(job: Job) -> str:
    return json.dumps(job.spec["tracking"], sort_keys=True, default=str)
