"""Planning: before the first job runs, every job is checked, and the store is queried for finished jobs.

With a time limit, the plan also says which jobs run first, and which are not started because they would end too late.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.identity.config_hash import hash_config_code, require_current_code
from bakeoff.pipeline.sweep.done_jobs import find_done_jobs
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import DONE, INVALID, NOT_RUN, TO_DO, Job, TimeKey
from bakeoff.pipeline.sweep.run_screen import Announce, announce_long
from bakeoff.pipeline.text.wording import count_nouns
from bakeoff.pipeline.tracking import history, provenance
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import load_runs, tidy_name

STATE_WORDS = {TO_DO: "to run", NOT_RUN: "beyond the budget", DONE: "already done", INVALID: "invalid"}
RENAMED = (
    "jobs have finished in another experiment, which may have been renamed; they are not repeated with "
    "tracking.experiment={0!r}."
)
N_CHECKED = 1000
"""The number of jobs from which only one of those that differ in their seeds alone is checked before the first fit."""
USER_TAG = "mlflow.user"
UNKNOWN_USER = "an unknown user"
Durations = Mapping[TimeKey, float]
"""The seconds that the first job of its kind took in this sweep."""


@dataclass(frozen=True)
class Plan:
    """All jobs of a sweep, in order.

    Attributes
    ----------
    jobs : tuple of Job
    authors : str
        A sentence on who ran the jobs that are done; empty if only this user did.
    remarks : tuple of str
        A sentence if no job is done, but some have finished in another experiment, such as one that was renamed.
    """

    jobs: tuple[Job, ...] = ()
    authors: str = ""
    remarks: tuple[str, ...] = ()

    def with_state(self, state: str) -> list[Job]:
        """Return the jobs with a given state."""
        return [job for job in self.jobs if job.state == state]

    @property
    def identified(self) -> list[Job]:
        """The jobs that could be composed and whose data can be read."""
        return [job for job in self.jobs if job.hash]

    @property
    def summary(self) -> str:
        """The number of jobs, in total and by state; "to do" is always included, other states only if they occur."""
        counts = Counter(job.state for job in self.jobs)
        shown = [f"{counts[state]} {words}" for state, words in STATE_WORDS.items() if counts[state] or state == TO_DO]
        return f"{count_nouns(len(self.jobs), 'job')}: {', '.join(shown)}"


def make_plan(jobs: list[Job], runner: JobRunner, announce: Announce, *, resume: bool) -> Plan:
    """Return a plan with the state of each job.

    Parameters
    ----------
    jobs : list of Job
        Composed jobs, which are replaced in the list, so that a hundred thousand of them are in memory once.
    runner : JobRunner
        Loads datasets and opens the store, so that jobs in this process can reuse them.
    announce : callable
        Receives sentences on the progress if there are many jobs.
    resume : bool
        Whether to query the store for finished jobs.

    Raises
    ------
    UserError
        The jobs use several stores, or their store cannot be used.
    """
    codes: dict[int, str] = {}
    for number, job in enumerate(announce_long(jobs, "identifying", announce)):
        jobs[number] = _identify(job, runner, codes)
    _require_one_store(jobs)
    done: dict[str, str] = {}
    others: list[str] = []
    hashes = {job.hash for job in jobs if job.hash}
    store = find_store(jobs, runner)
    claims = None if store is None else runner.claims_of(store)
    for number, job in enumerate(jobs):
        if job.hash:
            # If the count of a claim changes later, the store is queried again.
            jobs[number] = replace(job, claim_count=claims.read_count(job.hash) if claims else 0)
    if resume and store is not None:
        done = find_done_jobs(store, hashes)
        others = [] if done else history.list_experiments_of_jobs(store, hashes)
    for number, job in enumerate(_check_jobs(announce_long(jobs, "checking", announce), done, runner)):
        jobs[number] = job
    return Plan(tuple(jobs), remarks=tuple(map(RENAMED.format, others)))


def find_store(jobs: Sequence[Job], runner: JobRunner) -> Store | None:
    """Return the store of the jobs of a sweep, if it exists."""
    return next((runner.find_store(job) for job in jobs if job.hash), None)


def add_estimates(plan: Plan, runner: JobRunner) -> Plan:
    """Return the plan with the expected duration of each job whose learner has similar finished runs, and the users."""
    store = find_store(plan.jobs, runner)
    if store is None:
        return plan
    durations = history.read_durations(store)
    jobs = tuple(replace(job, seconds=durations.get(job.time_key)) if job.state == TO_DO else job for job in plan.jobs)
    return Plan(jobs, _name_authors(plan, store))


def order_jobs(plan: Plan) -> list[Job]:
    """Return the jobs that remain, ordered so that the first ones give the most information in the least time.

    The jobs of a seed precede those of the next one. Among them, one job of each learner on each dataset comes first,
    then a second one of each, and so on; cheap jobs come first. Jobs of unknown duration follow, by their size.

    Parameters
    ----------
    plan : Plan
        With estimates. Jobs that are done count, so that a repeated command continues in the same order.
    """
    counts: Counter[object] = Counter()
    keys = {}
    for job in plan.identified:
        seed = job.spec.get("seed", 0)
        kind = (seed, job.time_key[:2])
        keys[job.number] = (seed, counts[kind], job.seconds is None, job.seconds or job.size)
        counts[kind] += 1
    return sorted(plan.with_state(TO_DO), key=lambda job: keys[job.number])


def take_job(waiting: list[Job], seconds: float, durations: Durations) -> Job | None:
    """Remove and return the first job that is expected to end in time, or None.

    Parameters
    ----------
    waiting : list of Job
        The jobs, in order. One of unknown duration is taken as long as any time remains.
    seconds : float
        The remaining time.
    durations : mapping
    """
    for position, job in enumerate(waiting):
        if (job.seconds or durations.get(job.time_key, 0)) < seconds:
            return waiting.pop(position)
    return None


def mark_left(plan: Plan, budget: float, workers: int) -> Plan:
    """Return a plan with the state ``not run`` for the jobs that would be left.

    Parameters
    ----------
    plan : Plan
        With estimates; jobs of unknown duration are taken to need no time.
    budget : float
        In seconds.
    workers : int
        The number of processes.
    """
    waiting = order_jobs(plan)
    ends = [0.0] * workers  # the times at which the processes become free
    while (job := take_job(waiting, budget - (free := heappop(ends)), {})) is not None:
        heappush(ends, free + (job.seconds or 0))
    left = {job.number for job in waiting}
    return replace(plan, jobs=tuple(replace(job, state=NOT_RUN) if job.number in left else job for job in plan.jobs))


def _name_authors(plan: Plan, store: Store) -> str:
    """Return the attribute of a plan."""
    done = plan.with_state(DONE)
    runs = load_runs(store, {job.run_id or "" for job in done}, [USER_TAG], [])
    users = {run.run_id: run.tags.get(USER_TAG, UNKNOWN_USER) for run in runs}
    counts = Counter(users.get(job.run_id or "", UNKNOWN_USER) for job in done)
    own = provenance.find_user()
    if counts.keys() <= {own}:
        return ""
    shown = [f"{n_jobs} by {'you' if user == own else tidy_name(user)}" for user, n_jobs in counts.most_common()]
    return f"{len(done)} of {count_nouns(len(plan.jobs), 'job')} are done: {', '.join(shown)}"


def _identify(job: Job, runner: JobRunner, codes: dict[int, str]) -> Job:
    """Determine the name and the hash of a job, for which its data are read; similar jobs share a digest of code."""
    if job.state == INVALID:
        return job
    shared = job.shared_spec
    try:
        if id(shared) not in codes:
            require_current_code(shared)
            codes[id(shared)] = hash_config_code(shared)
        return runner.identify_job(job, codes[id(shared)])
    except UserError as error:
        return replace(job, state=INVALID, reason=str(error))


def _require_one_store(jobs: Sequence[Job]) -> None:
    """Reject jobs that use several stores, because the plan, scores and resuming rely on a single one."""
    settings = [job.spec["tracking"] for job in jobs if job.hash]
    stores = {(setting["_target_"], setting.get("uri"), setting.get("experiment")) for setting in settings}
    if len(stores) > 1:
        raise UserError(
            "the jobs of a sweep share one store, but the values of tracking, tracking.uri or "
            "tracking.experiment differ; use a single value, or run a sweep for each."
        )


def _check_jobs(jobs: Iterable[Job], done: Mapping[str, str], runner: JobRunner) -> Iterator[Job]:
    """Mark jobs as done or invalid: the first ones are checked, and of the others one of each group.

    A finished job is valid and needs no check. A job that is not checked now is checked when it runs.
    """
    sizes: dict[tuple[int, ...], int] = {}
    n_checked = 0
    for job in jobs:
        run_id = done.get(job.hash)
        if job.state != TO_DO:
            yield job
        elif run_id is not None:
            yield replace(job, state=DONE, reason=f"run {run_id}", run_id=run_id)
        elif n_checked >= N_CHECKED and job.group in sizes:
            yield replace(job, size=sizes[job.group])
        else:
            n_checked += 1
            yield (checked := _check(job, runner))
            if checked.state == TO_DO:
                sizes[job.group] = checked.size


def _check(job: Job, runner: JobRunner) -> Job:
    try:
        return runner.check_job(job)
    except UserError as error:
        return replace(job, state=INVALID, reason=str(error))


def record_sweep(name: str, plan: Plan, store: Store) -> None:
    """Store the jobs of a plan, including finished and refused ones, so that `compare` finds all of them.

    Parameters
    ----------
    name : str
        The name of the sweep.
    plan : Plan
    store : Store
    """
    recorded = {job.hash or job.number: _to_record(job) for job in plan.jobs}
    history.write_sweep_record(store, history.SweepRecord(name, tuple(recorded.values())))


def _to_record(job: Job) -> history.RecordedJob:
    words = dict(word.lstrip("+").split("=", 1) for word in job.invocation.overrides if "=" in word)
    choices = job.invocation.choices or words
    # Runs store the name of the dataset, which may differ from the name of its option.
    return history.RecordedJob(
        hash=job.hash,
        name=job.name,
        learner=choices.get("learner", ""),
        dataset=job.dataset or choices.get("dataset", ""),
        reason=job.reason if job.state == INVALID else "",
    )
