"""Comparison of stored runs: select them, compare their scores, and store the reports as an MLflow run.

The run of a comparison is in a separate experiment, ``<experiment>-comparisons``. In the experiment of the compared
runs, it would become the ``latest`` run and a row of the leaderboard, and its duration and status would affect resuming
and estimates. Its artifacts are the reports and the list of the compared runs.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pandas as pd

from bakeoff.pipeline.commands.compare.carried_runs import open_reference
from bakeoff.pipeline.commands.compare.cells import score_runs
from bakeoff.pipeline.commands.compare.compare_cells import compare_cells, write_look_notes
from bakeoff.pipeline.commands.compare.comparison import Comparison
from bakeoff.pipeline.commands.compare.item_comparison import compare_items
from bakeoff.pipeline.commands.compare.item_rows import score_rows
from bakeoff.pipeline.commands.compare.item_scores import read_item_scores
from bakeoff.pipeline.commands.compare.reports import make_report, render_report
from bakeoff.pipeline.commands.compare.request import FORMATS, KIND_TAG, SUFFIX, CompareRequest, SelectionRequest
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
from bakeoff.pipeline.commands.compare.seal import check_seal
from bakeoff.pipeline.commands.compare.study_size import describe_sizes
from bakeoff.pipeline.errors import StoreError, UserError
from bakeoff.pipeline.tables.output_file import EXTENSIONS
from bakeoff.pipeline.tables.report import Report
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import count_nouns
from bakeoff.pipeline.tracking import artifacts, names, provenance
from bakeoff.pipeline.tracking.history import RecordedJob, find_runs_of_jobs, read_latest_sweep, read_sweep_record
from bakeoff.pipeline.tracking.names import KIND_TAGS as EXPERIMENT_TAGS
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.store_writer import MAX_TAG_LETTERS, RunValues
from bakeoff.pipeline.tracking.stored_runs import (
    IS_FINISHED,
    read_stored_runs,
    search_runs,
    search_stored_runs,
    write_condition,
)

KIND = "comparison"
RUNS_TAG = "compared_runs"
RUNS_FILE = "runs.json"
ITEMS_TAG = "items_digest"
"""The tag of a comparison of a table of items; later ones of the same items count its systems."""


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
    if isinstance(request, CompareRequest) and request.table is not None:
        file = request.table
        scores, name = (read_table(file), file.name) if frame is None else (frame, "the table")
        if request.item:
            items = read_item_scores(scores, name, request)
            compared = compare_items(items, request, command or request.write_command())
            compared = _count_looks(compared, request) if request.keep else compared
        else:
            compared = compare_cells(score_table(scores, name, request), request, command or request.write_command())
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
    reference = open_reference(word) if word else None
    facts = selection.facts if reference is None else reference.join(selection.facts)
    base_run = _find_base_run(store, request.base, facts)
    if base_run is not None:
        facts = _separate_base(store, facts, base_run)
    command = command or request.write_command()
    if isinstance(request, CompareRequest) and request.item:
        compared = compare_items(score_rows(facts, selection.description, request, store), request, command)
    else:
        compared = compare_cells(score_runs(facts, selection.description, request, store), request, command)
    own = replace(_add_sizes(compared, request), store=hide_secrets(store.uri), experiment=request.tracking__experiment)
    if reference is not None:
        own = reference.describe(own, selection.facts, store)
    return replace(own, notes=(*check_seal(store, own, request), *own.notes))


def _add_sizes(comparison: Comparison, request: SelectionRequest) -> Comparison:
    """Return a comparison with notes on how large a study must be, if it is requested."""
    differences = request.differences if isinstance(request, CompareRequest) else ()
    sizes = [finding.sentence for finding in describe_sizes(comparison, differences)]
    return replace(comparison, notes=(*comparison.notes, *sizes))


def _count_looks(comparison: Comparison, request: CompareRequest) -> Comparison:
    """Return a comparison of a table of items, with the systems that stored comparisons showed on the same items."""
    try:
        store = open_store(request.tracking__uri, f"{request.tracking__experiment}{SUFFIX}")
    except UserError as error:
        raise UserError(f"{error} With keep=false, the comparison needs no store.") from error
    query = f"{IS_FINISHED} and {write_condition(f'tags.{ITEMS_TAG}', comparison.datasets[0].digest)}"
    names = {row.name for row in comparison.configurations}
    shown = names.union(
        *(json.loads(artifacts.read_artifact(store, f"{run.address}/{RUNS_FILE}")) for run in search_runs(store, query))
    )
    datasets = (replace(comparison.datasets[0], n_looks=len(shown)), *comparison.datasets[1:])
    notes = write_look_notes(datasets, len(names), "systems have been compared on the same items")
    return replace(
        comparison,
        datasets=datasets,
        notes=(*comparison.notes, *notes),
        store=hide_secrets(store.uri),
        experiment=request.tracking__experiment,
    )


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
    from bakeoff.pipeline.commands.compare.pictures import write_pictures

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


def keep_report(
    store: Store,
    experiment: str,
    kind: str,
    report: Report,
    runs: Mapping[str, str],
    render: Callable[[str], str],
    params: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    pictures: Mapping[str, bytes] | None = None,
) -> str:
    """Write a comparison, a difference or an ablation as a finished run, and return its id.

    The compared runs are not changed.

    Parameters
    ----------
    store : Store
        The store of the compared runs.
    experiment : str
        The name of their experiment.
    kind : str
    report : Report
    runs : mapping of str to str
        Run id -> name, for the compared runs.
    render : callable
        Returns the report in a format.
    params, tags : mapping of str to str, optional
        Values to store besides the question and the command.
    pictures : mapping of str to bytes, optional
        File name -> content.
    """
    own = open_store(store.uri, f"{experiment}{SUFFIX}")
    remark = f"The artifact {RUNS_FILE} lists the runs or the systems that were compared."
    all_tags = {
        **provenance.list_tags(),
        **(tags or {}),
        "command": report.command,
        KIND_TAG: kind,
        RUNS_TAG: _list_ids(runs),
        "mlflow.note.content": "\n\n".join([f"**{report.question}**", *report.verdict, remark]),
    }
    shown = {key: hide_secrets(value) for key, value in all_tags.items()}
    run_id, address = own.writer.create_run(own.experiment_id, report.question, shown)
    try:
        # Otherwise MLflow opens the run in its pages for language models.
        for key, value in EXPERIMENT_TAGS.items():
            own.writer.tag_experiment(own.experiment_id, key, value)
        own.writer.add_values(run_id, RunValues(params={"question": report.question, **(params or {})}))
        texts = {f"{kind}{EXTENSIONS[to]}": render(to) for to in FORMATS}
        texts[RUNS_FILE] = json.dumps(dict(runs), indent=1)
        with artifacts.run_folder(own, address, run_id) as folder:
            for name, text in texts.items():
                (folder / name).write_bytes(text.encode())
            for name, content in (pictures or {}).items():
                (folder / name).write_bytes(content)
    except BaseException:
        with suppress(StoreError):  # the first error is the one to report
            own.writer.end_run(run_id, "FAILED")
        raise
    own.writer.end_run(run_id, "FINISHED")
    return run_id


def _list_ids(runs: Mapping[str, str]) -> str:
    """Return the ids of the runs as JSON, or their number if they exceed the maximum length of a tag."""
    text = json.dumps(list(runs))
    # A truncated list would look complete, so a long list is stored only in the artifacts.
    return text if len(text) <= MAX_TAG_LETTERS else f"{len(runs)} runs in {RUNS_FILE}"
