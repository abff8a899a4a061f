"""Selection of the runs to compare: those of a sweep, of a filter, or given individually."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bakeoff.pipeline.comparison.run_facts import (
    RunFacts,
    describe_absent_job,
    describe_run,
    list_ids,
    separate_run,
)
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.words import count_nouns
from bakeoff.pipeline.tracking.find_run import find_run_id
from bakeoff.pipeline.tracking.registry import LATEST
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import find_runs_of_jobs, read_stored_runs, search_stored_runs
from bakeoff.pipeline.tracking.sweep_record import RecordedJob, read_latest_sweep, read_sweep_record

MAX_SHOWN_IDS = 6
"""Ids in the description of a selection; the report lists all runs."""
BASE_REMARK = "base "


@dataclass(frozen=True)
class Selection:
    """Selected runs.

    Attributes
    ----------
    facts : tuple of RunFacts
        Finished or not, and jobs without a run.
    description : str
        A description of the selected runs.
    is_by_id : bool
        Whether the runs were named individually.
    """

    facts: tuple[RunFacts, ...]
    description: str
    is_by_id: bool = False


def select_sweep(store: Store, word: str) -> Selection:
    """Select the jobs of a sweep, including those done earlier, by its list of jobs or by the tag of its runs.

    Parameters
    ----------
    store : Store
    word : str
        The name of a sweep, or ``latest``.

    Raises
    ------
    UserError
        There is no such sweep.
    """
    record = read_latest_sweep(store) if word == LATEST else read_sweep_record(store, word)
    if record is None:
        hint = "Start one with -m." if word == LATEST else "`bakeoff ui` lists the runs with their sweeps."
        raise UserError(f"compare: sweep={word}: there is no such sweep in {store.uri}. {hint}")
    if not record.jobs:
        runs = search_stored_runs(store, f"tags.sweep = '{record.name}'")
        description = f"{count_nouns(len(runs), 'run')} with the tag sweep={record.name}"
        return Selection(tuple(map(describe_run, runs)), description)
    stored = find_runs_of_jobs(store, [job.hash for job in record.jobs if job.hash])
    known = {job_hash: describe_run(run) for job_hash, run in stored.items()}
    facts = tuple(_describe_job(job, known.get(job.hash)) for job in record.jobs)
    return Selection(facts, f"{count_nouns(len(record.jobs), 'job')} of sweep {record.name}")


def select_by_filter(store: Store, query: str) -> Selection:
    """Select runs by a query in MLflow's filter language.

    Raises
    ------
    UserError
        The query cannot be read, or selects nothing.
    """
    runs = search_stored_runs(store, query)
    if not runs:
        raise UserError(
            f"compare: filter={query!r} selects no run in {store.uri}. Values of params are text in quotation marks, "
            "and names are compared as they are written; `bakeoff ui` shows the runs."
        )
    facts = tuple(map(describe_run, runs))
    return Selection(facts, f"{count_nouns(len(runs), 'run')} selected by the filter {query}")


def select_by_ids(store: Store, words: Sequence[str], dataset: str) -> Selection:
    """Select runs by ids, beginnings of ids, ``latest`` or ``best``.

    Raises
    ------
    UserError
        There is no such run, or it was deleted.
    """
    run_ids = [find_run_id(store, word, dataset) for word in words]
    facts = tuple(map(describe_run, read_stored_runs(store, list(dict.fromkeys(run_ids)))))
    shown = list_ids(facts, MAX_SHOWN_IDS)
    return Selection(facts, f"{count_nouns(len(facts), 'run')} named by id ({shown})", is_by_id=True)


def add_base_run(store: Store, selection: Selection, run_id: str) -> Selection:
    """Return a selection with the base run as a separate row.

    It may have the same configuration as the compared runs, but be fitted by other code.

    Raises
    ------
    UserError
        The run is not finished, or is the only selected one.
    """
    facts = describe_run(read_stored_runs(store, [run_id])[0])
    if facts.reason:
        raise UserError(f"compare: base={run_id} cannot be the base: its run has {facts.reason}.")
    others = tuple(each for each in selection.facts if each.run.run_id != run_id)
    if not others:
        raise UserError(f"compare: the base, run {run_id}, is the only run that was selected; name another one.")
    return replace(selection, facts=(*others, separate_run(facts, BASE_REMARK)))


def _describe_job(job: RecordedJob, facts: RunFacts | None) -> RunFacts:
    """Return the facts of a job of a sweep, which may have been refused, or ended before it wrote its params."""
    if facts is None:
        reason = f"refused: {job.reason}" if job.reason else "no run"
        return describe_absent_job(job.learner, job.dataset, reason)
    return facts if facts.configuration else describe_absent_job(job.learner, job.dataset, facts.reason)
