"""The time limit of a whole sweep: which jobs run first, and which are not started because they would end too late."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from heapq import heappop, heappush

from bakeoff.pipeline.sweep.jobs import NOT_RUN, TO_DO, Job, TimeKey
from bakeoff.pipeline.sweep.planning import Plan

Durations = Mapping[TimeKey, float]
"""The seconds that the first job of its kind took in this sweep."""


def order_jobs(plan: Plan) -> list[Job]:
    """Return the jobs that remain, in an order in which the first ones tell the most in the least time.

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
