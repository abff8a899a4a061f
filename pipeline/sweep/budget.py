"""The time limit of a whole sweep: which jobs run first, and which are not started because they would end too late."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from statistics import median

from bakeoff.pipeline.sweep.jobs import TO_DO, Job

LEFT = "it does not fit into the budget"


def order_jobs(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs in an order in which the first ones tell the most in the least time.

    The jobs of a seed precede those of the next one. Among them, one job of each learner on each dataset comes first,
    then a second one of each, and so on; cheap jobs come first. If the duration of a job is unknown, it is taken to be
    proportional to the training rows of all its fits.

    Parameters
    ----------
    jobs : sequence of Job
        Identified jobs, including those that are done, so that a repeated command continues in the same order.
    """
    rates = [job.seconds / 2**job.size for job in jobs if job.seconds is not None]
    rate = median(rates) if rates else 1.0
    seeds = list(dict.fromkeys(str(job.spec.get("seed")) for job in jobs))
    counts: Counter[object] = Counter()
    keys: dict[int, tuple[int, int, float]] = {}
    for job in jobs:
        seed = seeds.index(str(job.spec.get("seed")))
        pair = (seed, job.invocation.choices["learner"], job.cell and job.cell[1:])
        cost = rate * 2**job.size if job.seconds is None else job.seconds
        keys[job.number] = (seed, counts[pair], cost)
        counts[pair] += 1
    return sorted(jobs, key=lambda job: keys[job.number])


def take_job(waiting: list[Job], seconds: float) -> Job | None:
    """Remove and return the first job that is expected to end in time, or None.

    Parameters
    ----------
    waiting : list of Job
        The jobs, in order. One of unknown duration is taken as long as any time remains.
    seconds : float
        The remaining time.
    """
    for position, job in enumerate(waiting):
        if (job.seconds or 0) < seconds:
            return waiting.pop(position)
    return None


def mark_left(jobs: Sequence[Job], budget: float, workers: int) -> tuple[Job, ...]:
    """Return the jobs of a plan, with `LEFT` as the reason of those that would not be started.

    Parameters
    ----------
    jobs : sequence of Job
        All jobs, with their expected durations; those of unknown duration are taken to need no time.
    budget : float
        In seconds.
    workers : int
        The number of processes.
    """
    waiting = [job for job in order_jobs([job for job in jobs if job.hash]) if job.state == TO_DO]
    ends = [0.0] * workers  # the times at which the processes become free
    while (job := take_job(waiting, budget - (free := heappop(ends)))) is not None:
        heappush(ends, free + (job.seconds or 0))
    left = {job.number for job in waiting}
    return tuple(replace(job, reason=LEFT) if job.number in left else job for job in jobs)
