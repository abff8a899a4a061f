"""Planning: before the first job runs, every job is checked, and the store is queried for finished jobs.

Of the learners that match a pattern, as in ``learner=glob(*)``, those for the task of a dataset become jobs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hydra.core.override_parser.types import Glob, Override
from sklearn.base import is_classifier, is_regressor

from bakeoff.pipeline.checks.cells import exceeds_memory
from bakeoff.pipeline.errors import MissingPackage, UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.identity.config_hash import describe_unidentified, require_current_code
from bakeoff.pipeline.sweep.done_jobs import find_done_jobs
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import ComposedJob, Job, JobOutcome
from bakeoff.pipeline.text.words import count_nouns
from bakeoff.pipeline.tracking.history import Durations
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.sweep_record import (
    RecordedJob,
    SweepRecord,
    find_continued_sweep,
    write_sweep_record,
)

TO_DO = "to do"
DONE = "done"
INVALID = "invalid"
DUPLICATE = "duplicate"

StoreKey = str
"""The settings of a job's store as text; jobs with equal settings share a store."""
JobKey = tuple[StoreKey, str]
"""The identity of a job: its store and its hash."""


@dataclass(frozen=True)
class PlanEntry:
    """The plan for a job.

    Attributes
    ----------
    composed : ComposedJob
    state : str
        ``to do``, ``done`` (finished in the store), ``invalid``, or ``duplicate`` (the same as an earlier job).
    reason : str
        Why it is invalid, or the run or job with which it is identical.
    job : Job or None
        None if it could not be composed.
    seconds : float or None
        The expected duration, if the store has finished runs of its learner.
    run_id : str or None
        The finished run of a job that is done.
    """

    composed: ComposedJob
    state: str
    reason: str = ""
    job: Job | None = None
    seconds: float | None = None
    run_id: str | None = None

    @property
    def name(self) -> str:
        """The name of the job, or its overrides if it could not be composed."""
        if self.job is not None:
            return self.job.name
        return " ".join(self.composed.overrides) or "default"

    def rename_sweep(self, name: str) -> PlanEntry:
        """Return the entry with another name of its sweep."""
        job = self.job
        if job is None:
            return self
        return replace(self, job=replace(job, invocation=replace(job.invocation, sweep=name)))

    def to_outcome(self, kind: str) -> JobOutcome:
        """Return the outcome of a job that does not run."""
        if self.job is not None:
            return self.job.to_outcome(kind, self.reason, self.run_id)
        return JobOutcome(self.composed.number, self.name, kind, self.reason)

    def to_record(self) -> RecordedJob:
        """Return the record of the job in the list of the jobs of the sweep."""
        job = self.job
        words = dict(word.lstrip("+").split("=", 1) for word in self.composed.overrides if "=" in word)
        choices = words if self.composed.invocation is None else self.composed.invocation.choices
        # Runs store the name of the dataset, which may differ from the name of the option.
        return RecordedJob(
            hash="" if job is None else job.hash,
            name=self.name,
            learner=choices.get("learner", ""),
            dataset=choices.get("dataset", "") if job is None else job.dataset,
            reason=self.reason if self.state == INVALID else "",
        )


@dataclass(frozen=True)
class Plan:
    """All jobs of a sweep, in order."""

    entries: tuple[PlanEntry, ...]

    def with_state(self, state: str) -> list[PlanEntry]:
        """Return the entries of a state."""
        return [entry for entry in self.entries if entry.state == state]

    @property
    def identified(self) -> list[Job]:
        """The jobs that could be composed and whose data can be read."""
        return [entry.job for entry in self.entries if entry.job is not None]

    @property
    def jobs(self) -> list[Job]:
        """The jobs to run."""
        return [entry.job for entry in self.with_state(TO_DO) if entry.job is not None]

    @property
    def sweep(self) -> str | None:
        """The name of the sweep, or of the earlier sweep that it continues; None without a job."""
        jobs = self.identified
        return jobs[0].invocation.sweep if jobs else None

    @property
    def unidentified(self) -> tuple[str, ...]:
        """A sentence for each influence on the results that is not part of the identity of the jobs."""
        sentences = (sentence for job in self.identified for sentence in describe_unidentified(job.spec))
        return tuple(dict.fromkeys(sentences))


@dataclass
class Planner:
    """Makes a plan of composed jobs.

    Parameters
    ----------
    runner : JobRunner
        Loads datasets and opens stores, so that jobs that run in this process can reuse them.
    resume : bool
        Whether to query the store for finished jobs.
    """

    runner: JobRunner
    resume: bool

    def make_plan(self, composed_jobs: Sequence[ComposedJob]) -> Plan:
        """Return a plan with the state of each job."""
        entries = _mark_duplicates([self._identify(composed) for composed in composed_jobs])
        done: dict[JobKey, str] = {}
        if self.resume:
            done = self._find_done(entries)
            entries = self._continue_sweep(entries, done)
        return Plan(tuple(self._check_entry(entry, done) for entry in entries))

    def add_estimates(self, plan: Plan) -> Plan:
        """Return the plan with the expected duration of each job whose learner has finished runs in the store."""
        durations: dict[StoreKey, Durations] = {}
        for job in plan.jobs:
            store = self.runner.find_store(job)
            if store is not None and _store_key(job) not in durations:
                durations[_store_key(job)] = Durations.of(store)
        return Plan(tuple(_add_estimate(entry, durations) for entry in plan.entries))

    def _identify(self, composed: ComposedJob) -> PlanEntry:
        """Determine the name and the hash of a job, which requires reading its data."""
        if composed.spec is None or composed.invocation is None:
            return PlanEntry(composed, INVALID, str(composed.error))
        try:
            require_current_code(composed.spec)
            job = self.runner.identify_job(composed.number, composed.spec, composed.invocation)
            return PlanEntry(composed, TO_DO, job=self.runner.count_claims(job))
        except UserError as error:
            return PlanEntry(composed, INVALID, str(error))

    def _find_done(self, entries: Sequence[PlanEntry]) -> dict[JobKey, str]:
        """Return the finished runs of the planned jobs; each store is queried once for all of its jobs."""
        jobs_by_store: dict[StoreKey, list[Job]] = {}
        for job in Plan(tuple(entries)).jobs:
            jobs_by_store.setdefault(_store_key(job), []).append(job)
        done: dict[JobKey, str] = {}
        for key, jobs in jobs_by_store.items():
            store = self.runner.find_store(jobs[0])
            if store is not None:
                found = find_done_jobs(store, {job.hash for job in jobs})
                done |= {(key, job_hash): run_id for job_hash, run_id in found.items()}
        return done

    def _continue_sweep(self, entries: Sequence[PlanEntry], done: Mapping[JobKey, str]) -> list[PlanEntry]:
        """Give the jobs the name of an earlier sweep with exactly the same jobs, which this sweep continues."""
        jobs = Plan(tuple(entries)).identified
        store = self.runner.find_store(jobs[0]) if len({_store_key(job) for job in jobs}) == 1 else None
        if store is None:
            return list(entries)
        name = find_continued_sweep(store, {job.hash for job in jobs}, next(iter(done.values()), None))
        return list(entries) if name is None else [entry.rename_sweep(name) for entry in entries]

    def _check_entry(self, entry: PlanEntry, done: dict[JobKey, str]) -> PlanEntry:
        """Mark a job as done or invalid; finished jobs are valid and need no check."""
        if entry.job is None or entry.state != TO_DO:
            return entry
        run_id = done.get(_job_key(entry.job))
        if run_id is not None:
            return replace(entry, state=DONE, reason=f"run {run_id}", run_id=run_id)
        try:
            self.runner.check_job(entry.job)
        except UserError as error:
            return replace(entry, state=INVALID, reason=str(error))
        return entry


def record_sweep(name: str, plan: Plan, stores: Mapping[int, Store]) -> list[str]:
    """Write the jobs of a plan, including finished and refused ones, so that `compare` finds them all.

    A list that cannot be written does not stop the sweep, because its jobs may still be worth running.

    Parameters
    ----------
    name : str
        The name of the sweep.
    plan : Plan
    stores : mapping of int to Store
        The store of each job by its number.

    Returns
    -------
    list of str
        Reasons why lists could not be written.
    """
    by_key: dict[tuple[str, str], tuple[Store, list[RecordedJob]]] = {}
    # A job that could not be composed has no store, but belongs to the sweep.
    unplaced: list[RecordedJob] = []
    for entry in plan.entries:
        store = stores.get(entry.composed.number)
        members = unplaced
        if store is not None:
            members = by_key.setdefault((store.uri, store.experiment_id), (store, []))[1]
        if entry.state != DUPLICATE:
            members.append(entry.to_record())
    problems = []
    for store, jobs in by_key.values():
        try:
            write_sweep_record(store, SweepRecord(name, (*jobs, *unplaced)))
        except OSError as error:
            problems.append(
                f"the list of the jobs of this sweep cannot be written ({error}): "
                f"bakeoff compare sweep={name} will find only those that run now"
            )
    return problems


def _mark_duplicates(entries: Sequence[PlanEntry]) -> list[PlanEntry]:
    """Mark each job that is identical with an earlier one."""
    first_jobs: dict[JobKey, Job] = {}
    marked = []
    for entry in entries:
        if entry.job is not None:
            first = first_jobs.setdefault(_job_key(entry.job), entry.job)
            if first is not entry.job:
                entry = replace(entry, state=DUPLICATE, reason=f"the same as #{first.number}")
        marked.append(entry)
    return marked


def _add_estimate(entry: PlanEntry, durations: Mapping[StoreKey, Durations]) -> PlanEntry:
    job = entry.job
    if job is None or entry.state != TO_DO or _store_key(job) not in durations:
        return entry
    choices = job.invocation.choices
    seconds = durations[_store_key(job)].estimate(choices["learner"], choices["dataset"])
    return replace(entry, seconds=seconds)


def _job_key(job: Job) -> JobKey:
    return _store_key(job), job.hash


def _store_key(job: Job) -> StoreKey:
    return json.dumps(job.spec["tracking"], sort_keys=True, default=str)


LEARNER_KEY = "learner"


@dataclass(frozen=True)
class LearnerPattern:
    """An override that selects learners by a pattern.

    Explicitly named learners for the other task are refused; a pattern leaves them out.

    Attributes
    ----------
    text : str
        The override, such as ``learner=glob(*)``.
    names : tuple of str
        The matching learners of any task.
    """

    text: str
    names: tuple[str, ...]

    def select_jobs(self, composed_jobs: Sequence[ComposedJob], resources: PartCache) -> tuple[list[ComposedJob], str]:
        """Return the jobs with a learner for the task of their dataset, renumbered, and a sentence on the others.

        Parameters
        ----------
        composed_jobs : sequence of ComposedJob
            Jobs that could not be composed, or whose data cannot be read, are kept with their errors.
        resources : PartCache
            The cache that loads the datasets.

        Raises
        ------
        UserError
            No job is left.
        """
        kept: list[ComposedJob] = []
        left_out: dict[LeftOut, set[str]] = {}
        for composed in composed_jobs:
            reason = _find_reason(composed, resources)
            if reason is None:
                kept.append(_renumber(composed, len(kept)))
            else:
                assert composed.invocation is not None
                left_out.setdefault(reason, set()).add(composed.invocation.choices[LEARNER_KEY])
        if not left_out:
            return kept, ""
        sentence = _describe(left_out)
        if not kept:
            raise UserError(
                f"{self.text} names no learner that can be fitted: {sentence}. "
                "Choose another pattern; `bakeoff list learner` shows all learners."
            )
        return kept, f"{self.text}: left out, because {sentence}"


class LeftOut(NamedTuple):
    """The reason why learners matching a pattern cannot be fitted.

    Attributes
    ----------
    reason : str
    place : str
        The dataset, or the command that installs a package.
    noun : str
        A noun for the learners, if they are counted and not named.
    """

    reason: str
    place: str
    noun: str = ""


def _find_reason(composed: ComposedJob, resources: PartCache) -> LeftOut | None:
    """Return the reason for leaving out a job; None if it is kept, possibly with an error for the plan."""
    spec = composed.spec
    if spec is None:
        return None
    try:
        learner = resources.build(LEARNER_KEY, spec[LEARNER_KEY], spec["trust"])
        dataset = resources.get_dataset(spec)
    except MissingPackage as error:
        cure = str(error).partition("; ")[2].rstrip(".")
        return LeftOut("their package is not installed", f"({cure})")
    except Exception:  # the plan shows it as the reason of this job
        return None
    place = f"on {dataset.name}"
    kinds = {"classifier": is_classifier(learner), "regressor": is_regressor(learner)}
    wanted = "classifier" if dataset.is_classification else "regressor"
    other = next((noun for noun, is_kind in kinds.items() if is_kind), wanted)
    if not kinds[wanted] and other != wanted:
        return LeftOut("they are for the other task", place, other)
    return LeftOut("this machine has too little memory", place) if exceeds_memory(learner, len(dataset.y)) else None


def _describe(left_out: Mapping[LeftOut, set[str]]) -> str:
    """Return each reason once, with the learners and the places."""
    texts: dict[str, list[str]] = {}
    for each, names in left_out.items():
        learners = count_nouns(len(names), each.noun) if each.noun else ", ".join(sorted(names))
        texts.setdefault(each.reason, []).append(f"{learners} {each.place}")
    return "; ".join(f"{reason}: {', '.join(described)}" for reason, described in texts.items())


def find_learner_pattern(overrides: Sequence[Override]) -> LearnerPattern | None:
    """Return the pattern that selects the learners; None if they are named explicitly."""
    for override in overrides:
        if override.key_or_group == LEARNER_KEY and isinstance(override.value(), Glob):
            return LearnerPattern(str(override.input_line), tuple(override.sweep_string_iterator()))
    return None


def _renumber(composed: ComposedJob, number: int) -> ComposedJob:
    invocation = composed.invocation
    if invocation is not None:
        invocation = replace(invocation, number=number)
    return replace(composed, number=number, invocation=invocation)
