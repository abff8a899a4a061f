"""Comparison of stored runs or of a table: select or read them, compare their scores, and keep the reports as a run.

What is compared on items, sizes of studies, seals and references are parts in other folders, found by their words.
"""

import io
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pandas as pd

from bakeoff.pipeline.commands import PARTS, load_part
from bakeoff.pipeline.commands.compare.cells import score_runs
from bakeoff.pipeline.commands.compare.compare_cells import compare_cells
from bakeoff.pipeline.commands.compare.request import CompareRequest, SelectionRequest
from bakeoff.pipeline.commands.compare.run_grid import (
    BASE_REMARK,
    NO_RUN,
    RunFacts,
    describe_absent_job,
    describe_run,
    list_ids,
    separate_run,
)
from bakeoff.pipeline.commands.compare.scores_table import read_table, score_table
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.comparison_report.kept_report import ITEMS_TAG, SUFFIX, keep_report
from bakeoff.pipeline.commands.comparison_report.reports import make_report, render_report
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring.metrics import get_task_metrics
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import count_nouns
from bakeoff.pipeline.tracking import names
from bakeoff.pipeline.tracking.history import RecordedJob, find_runs_of_jobs, read_latest_sweep, read_sweep_record
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import (
    TABLES,
    read_stored_runs,
    read_tables,
    search_stored_runs,
    write_condition,
)

KIND = "comparison"
MAX_PREDICTED, MAX_SAMPLE = 20, 500
"""The numbers of configurations and of their test rows whose predictions are shown."""


class Selection(NamedTuple):
    """Selected runs, finished or not, and jobs without a run, with a description of how they were selected."""

    facts: Sequence[RunFacts]
    description: str


def make_comparison(request: SelectionRequest, command: str = "", frame: pd.DataFrame | None = None) -> Comparison:
    """Select runs and compare them, or compare the scores of a file.

    Parameters
    ----------
    request : SelectionRequest
        A `CompareRequest` may name a file with scores.
    command : str
        The command line; derived from the request by default.
    frame : DataFrame, optional
        The content of the table that the request names; by default that file is read.

    Raises
    ------
    UserError
        The runs or the scores cannot be compared.
    """
    command = hide_secrets(command or request.write_command())
    if isinstance(request, CompareRequest) and request.table is not None:
        file = request.table
        scores, name = (read_table(file), file.name) if frame is None else (frame, "the table")
        if request.item:
            compared = load_part("item").compare_table(scores, name, request, command)
        else:
            compared = compare_cells(score_table(scores, name, request), request, command)
        return _add_sizes(compared, request)
    request.require_one_selection()
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    return compare_selection(store, select_runs(store, request), request, command)


def select_runs(store: Store, request: SelectionRequest) -> Selection:
    """Return the runs that a request selects.

    Raises
    ------
    UserError
        A run or a sweep does not exist, or a filter is invalid or selects nothing.
    """
    if request.runs:
        return _select_by_ids(store, request.runs, request.dataset)
    if request.filter is not None:
        return _select_by_filter(store, request.filter)
    return _select_sweep(store, str(request.sweep))


def _select_by_ids(store: Store, words: Sequence[str], dataset: str) -> Selection:
    """Select runs by id, by the first characters of an id, or by the words ``latest`` and ``best``.

    Runs that would share a cell become rows of their own, because each was named.
    """
    run_ids = [names.find_run_id(store, word, dataset) for word in words]
    facts = list(map(describe_run, read_stored_runs(store, list(dict.fromkeys(run_ids)))))
    n_finished = Counter(each.job for each in facts if not each.reason)
    own = [separate_run(each) if n_finished[each.job] > 1 and not each.reason else each for each in facts]
    return Selection(own, f"{count_nouns(len(facts), 'run')} named by id ({list_ids(facts)})")


def _select_by_filter(store: Store, query: str) -> Selection:
    """Select runs by a query in MLflow's filter language."""
    runs = search_stored_runs(store, query)
    if not runs:
        raise UserError(
            f"compare: filter={query!r} selects no run in {store.uri}. Values of params must be quoted, and names "
            "are case-sensitive; `bakeoff ui` shows the runs."
        )
    return Selection(list(map(describe_run, runs)), f"{count_nouns(len(runs), 'run')} selected by the filter {query}")


def _select_sweep(store: Store, word: str) -> Selection:
    """Select the jobs of a sweep, including those done earlier, from its list of jobs or the tag of its runs."""
    record = read_latest_sweep(store) if word == names.LATEST else read_sweep_record(store, word)
    if record is None:
        hint = "Start one with -m." if word == names.LATEST else "`bakeoff ui` lists the runs with their sweeps."
        raise UserError(f"compare: sweep={word} does not exist in {store.uri}. {hint}")
    if not record.jobs:
        runs = search_stored_runs(store, write_condition("tags.sweep", record.name))
        description = f"{count_nouns(len(runs), 'run')} with the tag sweep={record.name}"
        return Selection(list(map(describe_run, runs)), description)
    stored = find_runs_of_jobs(store, [job.hash for job in record.jobs if job.hash])
    known = {job_hash: describe_run(run) for job_hash, run in stored.items()}
    facts = [_describe_job(job, known.get(job.hash)) for job in record.jobs]
    return Selection(facts, f"{count_nouns(len(record.jobs), 'job')} of sweep {record.name}")


def _describe_job(job: RecordedJob, facts: RunFacts | None) -> RunFacts:
    """Return the facts of a job of a sweep, which may have been refused or have ended before it stored its params."""
    if facts is not None and facts.configuration:
        return facts
    refused = f"refused: {job.reason}" if job.reason else NO_RUN
    return describe_absent_job(job.learner, job.dataset, refused if facts is None else facts.reason)


def compare_selection(store: Store, selection: Selection, request: SelectionRequest, command: str = "") -> Comparison:
    """Compare selected runs; for the parameters and errors see `make_comparison`."""
    word = request.reference if isinstance(request, CompareRequest) else ""
    reference = load_part("reference").open_reference(word) if word else None
    facts = selection.facts if reference is None else reference.join(selection.facts)
    base_run = _find_base_run(store, request.base, facts)
    if base_run is not None:
        facts = _separate_base(store, facts, base_run)
    command = hide_secrets(command or request.write_command())
    if isinstance(request, CompareRequest) and request.item:
        compared = load_part("item").compare_rows(facts, selection.description, request, store, command)
    else:
        compared = compare_cells(score_runs(facts, selection.description, request, store), request, command)
    predictions = _read_predictions(store, compared, facts) if reference is None else {}
    compared = replace(compared, predictions=predictions)
    own = replace(_add_sizes(compared, request), store=hide_secrets(store.uri), experiment=request.tracking__experiment)
    if reference is not None:
        own = reference.describe(own, selection.facts, store)
    is_checked = request.seal or "seal" in PARTS
    sealed = load_part("seal").check_seal(store, own, request) if is_checked else ()
    return replace(own, notes=(*sealed, *own.notes))


def _read_predictions(
    store: Store, comparison: Comparison, facts: Sequence[RunFacts]
) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return the true and predicted targets of each row if this is a regression on one dataset in a local store."""
    is_regression = comparison.metrics[0].name.removeprefix("test_") in get_task_metrics("regression")
    if not is_regression or len(comparison.datasets) > 1 or store.uri.startswith("http"):
        return {}
    runs = {each.run.run_id: each.run for each in facts}
    predictions = {}
    for cell in comparison.cells[:MAX_PREDICTED]:
        with suppress(ValueError):  # a damaged file: the scores are compared without a picture
            table = read_tables(store, runs[cell.run_ids[0]]).get(TABLES[0]) if cell.run_ids else None
            if table is not None:
                pairs = pd.read_csv(io.StringIO(table), usecols=["truth", "predicted"], dtype=float)
                sample = pairs.iloc[:: -(-len(pairs) // MAX_SAMPLE)]
                predictions[cell.configuration] = tuple(sample.itertuples(index=False, name=None))
    return predictions


def _add_sizes(comparison: Comparison, request: SelectionRequest) -> Comparison:
    """Return a comparison with notes on how large a study must be, if it is requested."""
    if not isinstance(request, CompareRequest) or not request.plan:
        return comparison
    sizes = load_part("plan").describe_sizes(comparison, request.differences)
    return replace(comparison, notes=(*comparison.notes, *(finding.sentence for finding in sizes)))


def _find_base_run(store: Store, word: str, facts: Sequence[RunFacts]) -> str | None:
    """Return the run that ``base`` names, or None if it names a configuration, a learner, or nothing."""
    learners = {each.learner for each in facts}
    is_configuration = not word or word == names.BEST or word.split()[0] in learners
    return None if is_configuration else names.find_standard_run(store, word)


def _separate_base(store: Store, facts: Sequence[RunFacts], run_id: str) -> list[RunFacts]:
    """Return selected runs with the base run as a separate row.

    The base may have the same configuration as the compared runs but may have been fitted by different code.
    """
    base = describe_run(read_stored_runs(store, [run_id])[0])
    if base.reason:
        raise UserError(f"compare: base={run_id} cannot be the base: the run has {base.reason}.")
    others = [each for each in facts if each.run.run_id != run_id]
    if not others:
        raise UserError(f"compare: the base, run {run_id}, is the only run that was selected; name another one.")
    return [*others, separate_run(base, BASE_REMARK)]


def keep_reports(comparison: Comparison, request: SelectionRequest) -> str:
    """Store a comparison as a run, with its pictures and a report in each format, and return the id of the run.

    Parameters
    ----------
    comparison : Comparison
    request : SelectionRequest
        The request for this comparison, which names the store.

    Raises
    ------
    UserError
        The scores are those of a table of folds, so there is no store.
    """
    if not comparison.run_ids and comparison.items is None:
        raise UserError("a comparison of a table is not stored, because it has no runs; leave out keep=True.")
    from bakeoff.pipeline.commands.comparison_report.pictures import write_pictures

    of_table = SUFFIX * (not comparison.run_ids)
    store = open_store(request.tracking__uri, f"{request.tracking__experiment}{of_table}", create=False)
    runs = {run.run_id: run.name for run in read_stored_runs(store, comparison.run_ids)}
    tags = {"selection": comparison.selection}
    return keep_report(
        store,
        comparison.experiment,
        KIND,
        make_report(comparison),
        runs=runs or {row.name: row.learner for row in comparison.configurations},
        render=partial(render_report, comparison),
        params={
            "metrics": ", ".join(metric.name for metric in comparison.metrics),
            "base": comparison.settings.base,
            "alpha": f"{comparison.settings.alpha:g}",
            "rope": f"{comparison.metrics[0].rope:g}",
            "datasets": ", ".join(dataset.name for dataset in comparison.datasets),
            "configurations": ", ".join(row.name for row in comparison.configurations),
        },
        tags=tags | ({ITEMS_TAG: comparison.datasets[0].digest} if of_table else {}),
        pictures=write_pictures(comparison, ".svg"),
    )
