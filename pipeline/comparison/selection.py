"""Selection of the runs to compare: those of a sweep, of a filter, or given individually."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bakeoff.pipeline.comparison.run_facts import REQUIRED_PARAMS, RunFacts, describe_run, mark_as_base, shorten_id
from bakeoff.pipeline.comparison.run_grid import MissingJob
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.words import count_nouns
from bakeoff.pipeline.tracking.find_run import find_run_id
from bakeoff.pipeline.tracking.registry import LATEST
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import (
    StoredRun,
    find_runs_of_jobs,
    read_stored_runs,
    search_stored_runs,
)
from bakeoff.pipeline.tracking.sweep_record import SweepRecord, list_sweeps, read_latest_sweep, read_sweep_record

MAX_SHOWN_IDS = 6
"""Ids in the description of a selection; the report lists all runs."""


@dataclass(frozen=True)
class Selection:
    """Selected runs.

    Attributes
    ----------
    facts : tuple of RunFacts
        Finished or not.
    missing : tuple of MissingJob
        Jobs of the selection without a run.
    description : str
        A description of the selected runs.
    is_by_id : bool
        Whether the runs were named individually.
    sweep : str
        The name of the sweep; empty for other selections.
    """

    facts: tuple[RunFacts, ...]
    missing: tuple[MissingJob, ...]
    description: str
    is_by_id: bool = False
    sweep: str = ""


def select_sweep(store: Store, word: str) -> Selection:
    """Select the jobs of a sweep, including those done earlier.

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
        hint = did_you_mean(word, list_sweeps(store)) if word != LATEST else "Start one with -m."
        raise UserError(f"compare: sweep={word}: there is no such sweep in {store.uri}. {hint}")
    return select_recorded(store, record)


def select_recorded(store: Store, record: SweepRecord) -> Selection:
    """Select the jobs of a sweep by its list of jobs, or by the tag of its runs if it left none."""
    if not record.jobs:
        runs = search_stored_runs(store, f"tags.sweep = '{record.name}'")
        facts, missing = _sort_runs(runs)
        description = f"{count_nouns(len(runs), 'run')} with the tag sweep={record.name}"
        return Selection(facts, missing, description, sweep=record.name)
    by_hash = find_runs_of_jobs(store, [job.hash for job in record.jobs if job.hash])
    facts, _ = _sort_runs(list(by_hash.values()))
    known = {each.run.tags["config_hash"] for each in facts}
    missing = tuple(
        MissingJob(job.learner, job.dataset, _explain_absence(job.reason, by_hash.get(job.hash)))
        for job in record.jobs
        if job.hash not in known
    )
    description = f"{count_nouns(len(record.jobs), 'job')} of sweep {record.name}"
    return Selection(facts, missing, description, sweep=record.name)


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
    facts, missing = _sort_runs(runs)
    return Selection(facts, missing, f"{count_nouns(len(runs), 'run')} selected by the filter {query}")


def select_by_ids(store: Store, words: Sequence[str], dataset: str) -> Selection:
    """Select runs by ids, beginnings of ids, ``latest`` or ``best``.

    Raises
    ------
    UserError
        There is no such run, or it was deleted.
    """
    run_ids = [find_run_id(store, word, dataset) for word in words]
    runs = read_stored_runs(store, list(dict.fromkeys(run_ids)))
    facts = tuple(describe_run(run) for run in runs)
    shown = ", ".join(shorten_id(run.run_id) for run in runs[:MAX_SHOWN_IDS])
    more = ", …" if len(runs) > MAX_SHOWN_IDS else ""
    return Selection(facts, (), f"{count_nouns(len(runs), 'run')} named by id ({shown}{more})", is_by_id=True)


def add_base_run(store: Store, selection: Selection, run_id: str) -> Selection:
    """Return a selection with the base run as a separate row.

    Raises
    ------
    UserError
        The run is not finished, or is the only selected one.
    """
    facts = describe_run(read_stored_runs(store, [run_id])[0])
    if not facts.run.is_finished:
        raise UserError(f"compare: base={run_id} cannot be the base: its run has {facts.reason}.")
    others = tuple(each for each in selection.facts if each.run.run_id != run_id)
    if not others:
        raise UserError(f"compare: the base, run {run_id}, is the only run that was selected; name another one.")
    return replace(selection, facts=(*others, mark_as_base(facts)))


def _sort_runs(runs: Sequence[StoredRun]) -> tuple[tuple[RunFacts, ...], tuple[MissingJob, ...]]:
    """Return the facts of runs, and separately the runs that ended before they wrote their params."""
    facts = []
    missing = []
    for run in runs:
        has_no_params = any(key not in run.params for key in REQUIRED_PARAMS)
        if has_no_params and not run.is_finished:
            missing.append(MissingJob(run.name, run.params.get("dataset", "?"), _explain_absence("", run)))
        else:
            facts.append(describe_run(run))
    return tuple(facts), tuple(missing)


def _explain_absence(refused: str, run: StoredRun | None) -> str:
    """Return why a job has no scores: it was refused, its run ended before the first score, or it never ran."""
    if refused:
        return f"refused: {refused}"
    if run is None:
        return "no run"
    error = " ".join(run.tags.get("error", "").split())
    return f"{run.status.lower()}: {error}" if error else run.status.lower()
