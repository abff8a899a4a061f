"""Comparison of stored runs: select and compare them, and store the reports as an MLflow run.

The run is stored in a separate experiment, ``<experiment>-comparisons``. In the experiment of the compared runs, it
would become the ``latest`` run and a row of the leaderboard, and its duration and status would affect resuming and
estimates. Its artifacts are the reports and the list of the compared runs.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from bakeoff.pipeline.comparison import selection as select
from bakeoff.pipeline.comparison.compare_runs import compare_runs
from bakeoff.pipeline.comparison.comparison import Comparison
from bakeoff.pipeline.comparison.reports import make_report, render_csv, render_json, render_page, write_picture_files
from bakeoff.pipeline.comparison.request import CompareRequest
from bakeoff.pipeline.comparison.selection import Selection
from bakeoff.pipeline.errors import StoreError
from bakeoff.pipeline.tables.report import TEXT_FORMATS
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking import names, provenance, run_content
from bakeoff.pipeline.tracking.store import MAX_TAG_LETTERS, Store, open_store, tag_experiment
from bakeoff.pipeline.tracking.views import KIND_TAGS as EXPERIMENT_TAGS

SUFFIX = "-comparisons"
KIND_TAG = "kind"
KIND = "comparison"
RUNS_TAG = "compared_runs"
RUNS_FILE = "runs.json"


@dataclass(frozen=True)
class ComparisonRecord:
    """The parts of a comparison, a difference or an ablation to store.

    Attributes
    ----------
    kind, name : str
    params, tags : mapping of str to str
    summary : str
        The first part of the run's description, in Markdown.
    run_names : mapping of str to str
        Run id -> name, for the compared runs.
    files : mapping of str to str
        Name -> text of each report.
    """

    kind: str
    name: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    summary: str
    run_names: Mapping[str, str]
    files: Mapping[str, str]


def keep_comparison(store: Store, experiment: str, record: ComparisonRecord) -> str:
    """Write a comparison as a finished run, and return its id; the compared runs are not changed.

    Parameters
    ----------
    store : Store
        The store of the compared runs.
    experiment : str
        The name of their experiment.
    record : ComparisonRecord
    """
    own = open_store(store.uri, f"{experiment}{SUFFIX}")
    tags = {
        **provenance.list_tags(),
        **record.tags,
        KIND_TAG: record.kind,
        RUNS_TAG: _list_ids(record),
        "mlflow.note.content": f"{record.summary}\n\nThe artifact {RUNS_FILE} lists the runs that were compared.",
    }
    created = own.client.create_run(
        own.experiment_id,
        run_name=record.name,
        tags=run_content.cut_tags({key: hide_secrets(value) for key, value in tags.items()}),
    )
    run_id = str(created.info.run_id)
    try:
        # Otherwise MLflow opens the run in its pages for language models.
        for key, value in EXPERIMENT_TAGS.items():
            tag_experiment(own, key, value)
        run_content.log_metrics(own.client, run_id, run_content.RunValues(params=dict(record.params)))
        uri = created.info.artifact_uri
        with run_content.artifact_folder(own, uri, own.client.log_artifacts, run_id) as folder:
            for name, text in record.files.items():
                (folder / name).write_text(text)
            (folder / RUNS_FILE).write_text(json.dumps(dict(record.run_names), indent=1))
    except BaseException:
        with suppress(StoreError):  # the first error is the one to report
            own.client.set_terminated(run_id, "FAILED")
        raise
    own.client.set_terminated(run_id, "FINISHED")
    return run_id


def _list_ids(record: ComparisonRecord) -> str:
    """Return the ids of the runs as JSON, or their number if they exceed the maximum length of a tag."""
    ids = list(record.run_names)
    text = json.dumps(ids)
    # A truncated list would look complete, so a long list is stored only in the artifacts.
    return text if len(text) <= MAX_TAG_LETTERS else f"{len(ids)} runs in {RUNS_FILE}"


OWN_FORMATS: dict[str, tuple[str, Callable[[Comparison], str]]] = {
    "csv": (".csv", render_csv),
    "json": (".json", render_json),
    "html": (".html", render_page),
}
"""Format -> the extension of its files, and the function that renders a comparison."""


@dataclass(frozen=True)
class MadeComparison:
    """A comparison and the store of its runs.

    Attributes
    ----------
    comparison : Comparison
    store : Store
    run_names : mapping of str to str
        Run id -> name, for the compared runs.
    """

    comparison: Comparison
    store: Store
    run_names: Mapping[str, str]


def make_comparison(request: CompareRequest, command: str = "") -> MadeComparison:
    """Select runs and compare them.

    Parameters
    ----------
    request : CompareRequest
    command : str
        The command line; derived from the request by default.

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    request.require_one_selection()
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    selection = _select_runs(store, request)
    base_run = _find_base_run(store, request.base, selection)
    if base_run is not None:
        selection = select.add_base_run(store, selection, base_run)
    comparison = compare_runs(store, selection, request, command or request.write_command())
    run_names = {each.run.run_id: each.run.name for each in selection.facts if each.run.run_id in comparison.run_ids}
    return MadeComparison(comparison, store, run_names)


def render_report(comparison: Comparison, to: str) -> str:
    """Return a report in a format of `TEXT_FORMATS` or `OWN_FORMATS`."""
    if to in TEXT_FORMATS:
        return TEXT_FORMATS[to][1](make_report(comparison))
    return OWN_FORMATS[to][1](comparison)


def keep_reports(made: MadeComparison) -> str:
    """Store a comparison as a run, with its pictures and a report in each format, and return the id of the run.

    Parameters
    ----------
    made : MadeComparison
        A comparison with predictions.
    """
    comparison = made.comparison
    record = ComparisonRecord(
        kind=KIND,
        name=comparison.question,
        params={
            "question": comparison.question,
            "metrics": ", ".join(metric.name for metric in comparison.metrics),
            "base": comparison.settings.base,
            "alpha": f"{comparison.settings.alpha:g}",
            "rope": f"{comparison.metrics[0].rope:g}",
            "datasets": ", ".join(dataset.name for dataset in comparison.datasets),
            "configurations": ", ".join(row.name for row in comparison.configurations),
        },
        tags={"command": comparison.command, "selection": comparison.selection},
        summary="\n\n".join([f"**{comparison.question}**", *comparison.verdict]),
        run_names=made.run_names,
        files={
            **{
                f"{KIND}{extension}": render_report(comparison, to)
                for to, (extension, _) in {**TEXT_FORMATS, **OWN_FORMATS}.items()
            },
            **write_picture_files(comparison),
        },
    )
    return keep_comparison(made.store, comparison.experiment, record)


def _find_base_run(store: Store, word: str, selection: Selection) -> str | None:
    """Return the run that ``base`` names, or None if it names a configuration, a learner, or nothing."""
    learners = {each.learner for each in selection.facts}
    is_configuration = not word or word == names.BEST or word.split()[0] in learners
    return None if is_configuration else names.find_standard_run(store, word)


def _select_runs(store: Store, request: CompareRequest) -> Selection:
    if request.runs:
        return select.select_by_ids(store, request.runs, request.dataset)
    if request.filter is not None:
        return select.select_by_filter(store, request.filter)
    return select.select_sweep(store, str(request.sweep))
