"""Repeats of the folds, added one at a time: each is a run of its own, so that it is resumed like any other job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.run_grid import FIRST_REPEAT
from bakeoff.pipeline.commands.compare.stored_comparison import make_comparison
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.significance.pairs import UNDECIDED, require_repeats
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.engine import SweepReport
from bakeoff.pipeline.sweep.jobs import SWEEPS_FOLDER, Job, exit_code
from bakeoff.pipeline.sweep.planning import Plan, record_sweep
from bakeoff.pipeline.text.wording import count_nouns, print_note
from bakeoff.pipeline.tracking.store import open_store

REPEATS = "evaluation.repeats"
JobWords = Sequence[str]
"""The overrides of a job."""
RunJobs = Callable[[Sequence[str], Sequence[JobWords]], SweepReport]
"""Takes further words of the sweep and the overrides of its jobs, and runs them."""


def require_repeatable(words: Sequence[str], jobs: Sequence[Job]) -> None:
    """Reject jobs whose folds cannot be repeated one at a time.

    Raises
    ------
    UserError
    """
    for word in words:
        if word.lstrip("+").partition("=")[0] in (REPEATS, FIRST_REPEAT):
            raise UserError(
                f"{word}: until=sure chooses the number of repeats itself; set repeats= to their maximum number."
            )
    for job in jobs:
        if job.spec:
            keys = [f"evaluation.{key}" for key in job.spec["evaluation"]]
            require_repeats(job.invocation.choices["evaluation"], keys)
    if len({job.spec["seed"] for job in jobs if job.spec}) > 1:
        raise UserError("until=sure adds repeats of the folds of one seed; give seed= a single value.")


def add_repeats(request: CompareRequest, jobs: Sequence[Job], run_jobs: RunJobs) -> tuple[str, int]:
    """Run a repeat of the folds of all jobs, and further ones of the jobs whose pairs are not decided.

    Parameters
    ----------
    request : CompareRequest
    jobs : sequence of Job
        The planned jobs, whose overrides choose no repeats.
    run_jobs : callable

    Returns
    -------
    name : str
        The name of the sweep that lists the runs of all repeats.
    status : int
        The exit code of the sweeps.

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    job_of_run: dict[str, int] = {}
    planned: dict[str | int, Job] = {}
    statuses = []
    name = ""
    numbers = list(range(len(jobs)))
    for repeat in range(request.repeats):
        words = [f"hydra.sweep.dir={SWEEPS_FOLDER}/{name}-repeat-{repeat + 1}"] if name else []
        own = (f"{REPEATS}=1", f"{FIRST_REPEAT}={repeat}")
        report = run_jobs(words, [(*jobs[i].invocation.overrides, *own) for i in numbers])
        name = name or report.name
        statuses.append(exit_code(report.outcomes, report.skips_invalid))
        if statuses[-1] not in (0, 1):
            break
        job_of_run |= {each.run_id: numbers[each.number] for each in report.outcomes if each.run_id}
        planned |= {job.hash or job.number: job for job in report.plan.jobs}
        store = open_store(request.tracking__uri, request.tracking__experiment)
        record_sweep(name, Plan(tuple(planned.values())), store)
        comparison = make_comparison(replace(request, sweep=name))
        undecided = _list_undecided_runs(comparison, request.repeats)
        numbers = sorted({job_of_run[run_id] for run_id in undecided if run_id in job_of_run})
        if not numbers:
            break
        print_note(
            f"after repeat {repeat + 1} of at most {request.repeats}: {count_nouns(len(numbers), 'job')} continue"
        )
    return name, max(statuses)


def _list_undecided_runs(comparison: Comparison, max_repeats: int) -> list[str]:
    """Return the runs of the configurations in pairs that the first metric has not decided."""
    return [
        run_id
        for dataset in comparison.results[0].datasets
        for pair in dataset.pairs
        if pair.answer == UNDECIDED and pair.repeats < max_repeats
        for configuration in (pair.first, pair.second)
        for run_id in comparison.find_cell(configuration, dataset.dataset).run_ids
    ]
