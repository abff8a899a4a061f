"""What a sweep has done, for a caller that goes on with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import NOT_RUN, JobOutcome
from bakeoff.pipeline.sweep.planning import Plan
from bakeoff.pipeline.sweep.result_table import ResultTable, add_stored_scores, make_tables
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.trackers import get_tracker


@dataclass(frozen=True)
class SweepReport:
    """What a sweep has done.

    Attributes
    ----------
    outcomes : list of JobOutcome
        Of the jobs that ended, were done before, or were refused.
    name : str
        The name of the sweep, which is that of an earlier one if it was continued.
    plan : Plan
        Without entries for a study, which knows its jobs one by one.
    results : list of JobOutcome
        Of all jobs, with the stored scores of those that were done before; empty if nothing was to run.
    settings : list of mapping
        Of the stores of the jobs; empty if nothing is stored.
    notes : tuple of str
        What may be wrong with the data, and what went wrong without stopping the sweep.
    is_dry_run : bool
        Whether only the plan was asked for.
    skips_invalid : bool
        Whether invalid jobs were to be left out.
    """

    outcomes: list[JobOutcome]
    name: str
    plan: Plan = field(default_factory=lambda: Plan(()))
    results: Sequence[JobOutcome] = ()
    settings: Sequence[Mapping[str, Any]] = ()
    notes: tuple[str, ...] = ()
    is_dry_run: bool = False
    skips_invalid: bool = False

    @property
    def tables(self) -> list[ResultTable]:
        """A table for each headline score."""
        return make_tables(self.results)


def find_stores(plan: Plan, runner: JobRunner) -> dict[int, Store]:
    """Return the store of each job of a plan that has one, by the number of the job."""
    jobs = [entry.job for entry in plan.entries if entry.job is not None]
    trackers = {job.number: get_tracker(runner.resources, job.spec) for job in jobs}
    return {number: store for number, tracker in trackers.items() if (store := tracker.find_store()) is not None}


def collect_results(
    outcomes: Sequence[JobOutcome], plan: Plan, runner: JobRunner
) -> tuple[list[JobOutcome], list[Mapping[str, Any]]]:
    """Return the outcomes of all jobs of a plan, and the settings of the stores that hold their runs.

    Parameters
    ----------
    outcomes : sequence of JobOutcome
        Those that are known. A job without one has not started.
    plan : Plan
    runner : JobRunner
        Has opened the stores.
    """
    known = {outcome.number for outcome in outcomes}
    unstarted = [job.to_outcome(NOT_RUN, "the sweep ended before it") for job in plan.jobs if job.number not in known]
    jobs = [entry.job for entry in plan.entries if entry.job is not None]
    stores = find_stores(plan, runner)
    settings = [job.spec["tracking"] for job in jobs if job.number in stores]
    return add_stored_scores([*outcomes, *unstarted], stores), settings
