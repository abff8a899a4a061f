"""What the views of MLflow's page of runs show: the runs of a sweep, their headline score, and what varies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.tracking.find_run import find_headline, is_greater_better
from bakeoff.pipeline.tracking.history import find_finished_runs
from bakeoff.pipeline.tracking.pages.view_state import MAX_LOADED_RUNS
from bakeoff.pipeline.tracking.run_form import leave_out_faulty
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.sweep_record import SweepRecord, list_sweeps, read_latest_sweep, read_sweep_record

GROUPS = ("dataset", "learner")
"""Params whose values every view shows."""
IS_JOB = "tags.config_hash != ''"
"""Selects the runs that evaluate a job: not comparisons, and not runs of other programs."""


@dataclass(frozen=True)
class ShownRuns:
    """What the views show of the runs.

    Attributes
    ----------
    sweep : str or None
        The name of the sweep; None if the store has only single runs.
    query : str
        Selects the runs of the sweep, or of all jobs if there is no sweep, in MLflow's filter language.
    headlines : tuple of str
        The headline scores of the runs, that of the newest run first.
    varying : tuple of str
        The params that vary over the sweep, other than `GROUPS`.
    groups : tuple of (str, str)
        The dataset and learner of each run, once.
    metrics : tuple of str
        The names of all metrics.
    is_greater_better : bool
        Whether greater values of the first headline score are better.
    is_complete : bool
        Whether the page loads all runs of the sweep at once.
    notes : tuple of str
        What the views do not show, in sentences.
    """

    sweep: str | None
    query: str
    headlines: tuple[str, ...]
    varying: tuple[str, ...]
    groups: tuple[tuple[str, str], ...]
    metrics: tuple[str, ...]
    is_greater_better: bool = True
    is_complete: bool = True
    notes: tuple[str, ...] = ()


def read_shown_runs(store: Store, sweep: str | None = None) -> ShownRuns | None:
    """Read from the store what the views show; None if no run has a score.

    Parameters
    ----------
    store : Store
    sweep : str, optional
        The name of the sweep; the newest by default.

    Raises
    ------
    UserError
        There is no such sweep.
    """
    record, notes = _find_sweep(store, sweep)
    query = IS_JOB
    if record is not None:
        query, omissions = _select_sweep(store, record)
        notes += omissions
    runs, is_cut = _read_runs(store, query)
    if is_cut:
        notes.append(
            f"MLflow's charts show the newest {MAX_LOADED_RUNS} runs of the sweep until *Load more* is pressed."
        )
    # A sweep that has just started has no scores yet, while the leaderboard shows those of earlier runs.
    scored = runs if _find_headlines(runs) else _read_runs(store, IS_JOB)[0]
    headlines = _find_headlines(scored)
    if not headlines:
        return None
    return ShownRuns(
        sweep=None if record is None else record.name,
        query=query,
        headlines=headlines,
        varying=() if record is None else find_varying_params(runs),
        groups=tuple({(run.data.params.get("dataset", ""), run.data.params.get("learner", "")): None for run in runs}),
        metrics=tuple({metric: None for run in runs for metric in run.data.metrics}),
        is_greater_better=_is_greater_better(headlines[0], scored),
        is_complete=not is_cut,
        notes=tuple(notes),
    )


def find_varying_params(runs: Sequence[Any]) -> tuple[str, ...]:
    """Return the params that the command line of a sweep varied, in its order, other than dataset and learner.

    Parameters
    ----------
    runs : sequence of Run
        As MLflow returns them.
    """
    params = {param for run in runs for param in run.data.params}
    jobs = [_read_overrides(run.data.tags) for run in runs]
    words_by_key: dict[str, list[str]] = {}
    for words in jobs:
        for word in words:
            words_by_key.setdefault(word.lstrip("+~").split("=")[0], []).append(word)
    varying = []
    for key, words in words_by_key.items():
        # A key that only some of the jobs have, such as that of one learner, varies as well.
        is_same = len(set(words)) == 1 and len(words) == len(jobs)
        if not is_same and key in params and key not in GROUPS:
            varying.append(key)
    return tuple(varying)


def _find_sweep(store: Store, name: str | None) -> tuple[SweepRecord | None, list[str]]:
    """Return the sweep of a name, or the newest one, and what is not known of it; None if there is no sweep yet."""
    try:
        record = read_latest_sweep(store) if name is None else read_sweep_record(store, name)
        known = list_sweeps(store) if record is None else []
        notes = []
    except Exception as error:  # each kind of artifact store has errors of its own, such as for missing rights
        tagged = _search_runs(store, "tags.sweep != ''" if name is None else _match_tag("sweep", name))
        record = SweepRecord(tagged[0].data.tags["sweep"], ()) if tagged else None
        known = []
        notes = [f"The list of the jobs of the sweep cannot be read ({error}), so runs done before it are not shown."]
    if record is None and name is not None:
        names = {run.data.tags["sweep"] for run in _search_runs(store, "tags.sweep != ''")}
        raise UserError(f"ui: there is no sweep={name!r} in {store.uri}. {did_you_mean(name, names.union(known))}")
    return record, notes


def _select_sweep(store: Store, record: SweepRecord) -> tuple[str, list[str]]:
    """Return a query for the runs of a sweep, and what it leaves out, in sentences.

    Jobs that were done before the sweep have runs with the tag of an earlier sweep. The filter language has no "or", so
    then all runs are listed by their ids.
    """
    query = _match_tag("sweep", record.name)
    if len(record.jobs) > MAX_LOADED_RUNS:
        note = f"*Last sweep* shows the runs that the sweep started; of its {len(record.jobs)} jobs, those that were "
        return query, [note + "done before it have runs with the tag of an earlier sweep."]
    tagged = _search_runs(store, query)
    hashes = {job.hash for job in record.jobs if job.hash}
    earlier = find_finished_runs(store, hashes - {run.data.tags.get("config_hash") for run in tagged})
    if not earlier:
        return query, []
    ids = [run.info.run_id for run in tagged] + list(earlier.values())
    return f"attributes.run_id IN ({', '.join(repr(run_id) for run_id in ids)})", []


def _match_tag(key: str, value: str) -> str:
    # The filter language has two quotation marks and no escape.
    mark = '"' if "'" in value else "'"
    return f"tags.{key} = {mark}{value}{mark}"


def _read_runs(store: Store, query: str) -> tuple[list[Any], bool]:
    """Return the newest and the oldest runs that a query selects, and whether there may be others.

    What varies slowest over a sweep differs between its first and its last runs, so the others need not be read.
    """
    newest = _search_runs(store, query)
    is_cut = len(newest) >= MAX_LOADED_RUNS
    oldest = _search_runs(store, query, "start_time ASC") if is_cut else []
    return [*newest, *oldest], is_cut


def _find_headlines(runs: Sequence[Any]) -> tuple[str, ...]:
    found = [find_headline(run.data.params, run.data.metrics) for run in runs]
    return tuple(dict.fromkeys(headline for headline in found if headline is not None))


def _is_greater_better(headline: str, runs: Sequence[Any]) -> bool:
    newest = next(run for run in runs if find_headline(run.data.params, run.data.metrics) == headline)
    return is_greater_better(headline, newest.data.params)


def _search_runs(store: Store, query: str, order: str = "start_time DESC") -> list[Any]:
    found = store.client.search_runs([store.experiment_id], query, max_results=MAX_LOADED_RUNS, order_by=[order])
    return leave_out_faulty(found)


def _read_overrides(tags: Mapping[str, str]) -> list[str]:
    try:
        overrides = json.loads(tags.get("overrides", "[]"))
    except ValueError:  # cut, because it was longer than a tag may be
        return []
    return [str(word) for word in overrides]
