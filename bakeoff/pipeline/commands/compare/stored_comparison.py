"""Comparison of stored runs: select and compare them, and store the reports as an MLflow run.

The run is stored in a separate experiment, ``<experiment>-comparisons``. In the experiment of the compared runs, it
would become the ``latest`` run and a row of the leaderboard, and its duration and status would affect resuming and
estimates. Its artifacts are the reports and the list of the compared runs.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pandas as pd

from bakeoff.pipeline.commands.compare import selection as select
from bakeoff.pipeline.commands.compare.compare_runs import compare_runs
from bakeoff.pipeline.commands.compare.comparison import Comparison
from bakeoff.pipeline.commands.compare.reports import make_report, render_report
from bakeoff.pipeline.commands.compare.request import FORMATS, KIND_TAG, SUFFIX, CompareRequest, SelectionRequest
from bakeoff.pipeline.commands.compare.scores_table import compare_scores, read_table
from bakeoff.pipeline.commands.compare.seal import check_seal
from bakeoff.pipeline.commands.compare.selection import Selection
from bakeoff.pipeline.errors import StoreError, UserError
from bakeoff.pipeline.tables.output_file import EXTENSIONS
from bakeoff.pipeline.tables.report import Report
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking import names, provenance, run_content
from bakeoff.pipeline.tracking.names import KIND_TAGS as EXPERIMENT_TAGS
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.store_writer import MAX_TAG_LETTERS, RunValues
from bakeoff.pipeline.tracking.stored_runs import read_stored_runs

KIND = "comparison"
RUNS_TAG = "compared_runs"
RUNS_FILE = "runs.json"


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
    remark = f"The artifact {RUNS_FILE} lists the runs that were compared."
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
        with run_content.run_folder(own, address, run_id) as folder:
            texts = {f"{kind}{EXTENSIONS[to]}": render(to) for to in FORMATS}
            texts[RUNS_FILE] = json.dumps(dict(runs), indent=1)
            files = {name: text.encode() for name, text in texts.items()}
            for name, content in {**files, **(pictures or {})}.items():
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
    command = command or request.write_command()
    if isinstance(request, CompareRequest) and request.table is not None:
        file = request.table
        scores, name = (read_table(file), file.name) if frame is None else (frame, "the table")
        return compare_scores(scores, name, request, command)
    request.require_one_selection()
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    return compare_selection(store, select_runs(store, request), request, command)


def select_runs(store: Store, request: SelectionRequest) -> Selection:
    """Return the runs that a request selects, finished or not, and jobs without a run."""
    if request.runs:
        return select.select_by_ids(store, request.runs, request.dataset)
    if request.filter is not None:
        return select.select_by_filter(store, request.filter)
    return select.select_sweep(store, str(request.sweep))


def compare_selection(store: Store, selection: Selection, request: SelectionRequest, command: str = "") -> Comparison:
    """Compare selected runs; for the parameters and errors see `make_comparison`."""
    base_run = _find_base_run(store, request.base, selection)
    if base_run is not None:
        selection = select.add_base_run(store, selection, base_run)
    compared = compare_runs(store, selection, request, command)
    return replace(compared, notes=(*check_seal(store, compared, request.seal), *compared.notes))


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
        The scores are those of a table, so there is no store.
    """
    if not comparison.run_ids:
        raise UserError("a comparison of a table is not stored, because it has no runs; leave out keep=True.")
    from bakeoff.pipeline.commands.compare.pictures import write_pictures

    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    return keep_report(
        store,
        comparison.experiment,
        KIND,
        make_report(comparison),
        runs={run.run_id: run.name for run in read_stored_runs(store, comparison.run_ids)},
        render=partial(render_report, comparison),
        params={
            "metrics": ", ".join(metric.name for metric in comparison.metrics),
            "base": comparison.settings.base,
            "alpha": f"{comparison.settings.alpha:g}",
            "rope": f"{comparison.metrics[0].rope:g}",
            "datasets": ", ".join(dataset.name for dataset in comparison.datasets),
            "configurations": ", ".join(row.name for row in comparison.configurations),
        },
        tags={"selection": comparison.selection},
        pictures=write_pictures(comparison, ".svg"),
    )


def _find_base_run(store: Store, word: str, selection: Selection) -> str | None:
    """Return the run that ``base`` names, or None if it names a configuration, a learner, or nothing."""
    learners = {each.learner for each in selection.facts}
    is_configuration = not word or word == names.BEST or word.split()[0] in learners
    return None if is_configuration else names.find_standard_run(store, word)
