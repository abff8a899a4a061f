"""Comparison of stored runs: select and compare them, and store the reports as an MLflow run.

The run is stored in a separate experiment, ``<experiment>-comparisons``. In the experiment of the compared runs, it
would become the ``latest`` run and a row of the leaderboard, and its duration and status would affect resuming and
estimates. Its artifacts are the reports and the list of the compared runs.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import pandas as pd

from bakeoff.pipeline.commands.compare import selection as select
from bakeoff.pipeline.commands.compare.compare_runs import compare_runs
from bakeoff.pipeline.commands.compare.comparison import Comparison
from bakeoff.pipeline.commands.compare.reports import (
    make_report,
    render_csv,
    render_json,
    render_page,
    write_picture_files,
)
from bakeoff.pipeline.commands.compare.request import FORMATS, KIND_TAG, SUFFIX, CompareRequest, SelectionRequest
from bakeoff.pipeline.commands.compare.scores_table import compare_scores, read_table
from bakeoff.pipeline.commands.compare.seal import check_seal
from bakeoff.pipeline.commands.compare.selection import Selection
from bakeoff.pipeline.errors import StoreError, UserError
from bakeoff.pipeline.tables.output_file import EXTENSIONS
from bakeoff.pipeline.tables.report import TEXT_FORMATS, Report
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking import names, provenance, run_content
from bakeoff.pipeline.tracking.names import KIND_TAGS as EXPERIMENT_TAGS
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.store_writer import MAX_TAG_LETTERS, RunValues

KIND = "comparison"
RUNS_TAG = "compared_runs"
RUNS_FILE = "runs.json"


@dataclass(frozen=True)
class ReportRecord:
    """A comparison, a difference or an ablation to store.

    Attributes
    ----------
    kind : str
    report : Report
    runs : mapping of str to str
        Run id -> name, for the compared runs.
    render : callable
        Returns the report in a format.
    params, tags : mapping of str to str
        Values to store besides the question and the command.
    pictures : mapping of str to str
        File name -> SVG.
    """

    kind: str
    report: Report
    runs: Mapping[str, str]
    render: Callable[[str], str]
    params: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[str, str] = field(default_factory=dict)


def keep_report(store: Store, experiment: str, record: ReportRecord) -> str:
    """Write a comparison as a finished run, and return its id; the compared runs are not changed.

    Parameters
    ----------
    store : Store
        The store of the compared runs.
    experiment : str
        The name of their experiment.
    record : ReportRecord
    """
    own = open_store(store.uri, f"{experiment}{SUFFIX}")
    report = record.report
    remark = f"The artifact {RUNS_FILE} lists the runs that were compared."
    tags = {
        **provenance.list_tags(),
        **record.tags,
        "command": report.command,
        KIND_TAG: record.kind,
        RUNS_TAG: _list_ids(record.runs),
        "mlflow.note.content": "\n\n".join([f"**{report.question}**", *report.verdict, remark]),
    }
    shown = {key: hide_secrets(value) for key, value in tags.items()}
    run_id, address = own.writer.create_run(own.experiment_id, report.question, shown)
    try:
        # Otherwise MLflow opens the run in its pages for language models.
        for key, value in EXPERIMENT_TAGS.items():
            own.writer.tag_experiment(own.experiment_id, key, value)
        params = {"question": report.question, **record.params}
        own.writer.add_values(run_id, RunValues(params=params))
        with run_content.run_folder(own, address, run_id) as folder:
            reports = {f"{record.kind}{EXTENSIONS[to]}": record.render(to) for to in FORMATS}
            runs = json.dumps(dict(record.runs), indent=1)
            for name, text in {**reports, **record.pictures, RUNS_FILE: runs}.items():
                (folder / name).write_text(text)
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


OWN_FORMATS: Mapping[str, Callable[[Comparison], str]] = {"csv": render_csv, "json": render_json, "html": render_page}
"""Format -> the function that renders a comparison."""


@dataclass(frozen=True)
class MadeComparison:
    """A comparison and the store of its runs.

    Attributes
    ----------
    comparison : Comparison
    store : Store or None
        None for the scores of a table.
    run_names : mapping of str to str
        Run id -> name, for the compared runs.
    """

    comparison: Comparison
    store: Store | None = None
    run_names: Mapping[str, str] = field(default_factory=dict)


def make_comparison(request: SelectionRequest, command: str = "", frame: pd.DataFrame | None = None) -> MadeComparison:
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
        return MadeComparison(compare_scores(scores, name, request, command))
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


def compare_selection(
    store: Store, selection: Selection, request: SelectionRequest, command: str = ""
) -> MadeComparison:
    """Compare selected runs; for the parameters and errors see `make_comparison`."""
    base_run = _find_base_run(store, request.base, selection)
    if base_run is not None:
        selection = select.add_base_run(store, selection, base_run)
    compared = compare_runs(store, selection, request, command)
    comparison = replace(compared, notes=(*check_seal(store, compared, request.seal), *compared.notes))
    run_names = {each.run.run_id: each.run.name for each in selection.facts if each.run.run_id in comparison.run_ids}
    return MadeComparison(comparison, store, run_names)


def render_report(comparison: Comparison, to: str) -> str:
    """Return a report in a format."""
    return OWN_FORMATS[to](comparison) if to in OWN_FORMATS else TEXT_FORMATS[to](make_report(comparison))


def keep_reports(made: MadeComparison, render: Callable[[Comparison, str], str]) -> str:
    """Store a comparison as a run, with its pictures and a report in each format, and return the id of the run.

    Parameters
    ----------
    made : MadeComparison
    render : callable
        Returns the report of a comparison in a format.

    Raises
    ------
    UserError
        The scores are those of a table, so there is no store.
    """
    if made.store is None:
        raise UserError("a comparison of a table is not stored, because it has no runs; leave out keep=True.")
    comparison = made.comparison
    record = ReportRecord(
        kind=KIND,
        report=make_report(comparison),
        runs=made.run_names,
        render=partial(render, comparison),
        params={
            "metrics": ", ".join(metric.name for metric in comparison.metrics),
            "base": comparison.settings.base,
            "alpha": f"{comparison.settings.alpha:g}",
            "rope": f"{comparison.metrics[0].rope:g}",
            "datasets": ", ".join(dataset.name for dataset in comparison.datasets),
            "configurations": ", ".join(row.name for row in comparison.configurations),
        },
        tags={"selection": comparison.selection},
        pictures=write_picture_files(comparison),
    )
    return keep_report(made.store, comparison.experiment, record)


def _find_base_run(store: Store, word: str, selection: Selection) -> str | None:
    """Return the run that ``base`` names, or None if it names a configuration, a learner, or nothing."""
    learners = {each.learner for each in selection.facts}
    is_configuration = not word or word == names.BEST or word.split()[0] in learners
    return None if is_configuration else names.find_standard_run(store, word)
