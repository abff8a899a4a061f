"""A comparison as an MLflow run, with its reports and the list of the compared runs as artifacts.

It is stored in a separate experiment, ``<experiment>-comparisons``: in the experiment of the runs, it would be the
``latest`` run, a row of the leaderboard, and a run whose duration and status resume and estimates would read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from bakeoff.pipeline.errors import StoreError
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking import provenance
from bakeoff.pipeline.tracking.run_content import RunValues, artifact_folder, cut_tags, log_metrics
from bakeoff.pipeline.tracking.store import MAX_TAG_LETTERS, Store, open_store
from bakeoff.pipeline.tracking.views import KIND_TAGS as EXPERIMENT_TAGS

SUFFIX = "-comparisons"
KIND_TAG = "kind"
KIND = "comparison"
RUNS_TAG = "compared_runs"
RUNS_FILE = "runs.json"


@dataclass(frozen=True)
class ComparisonRecord:
    """The stored parts of a comparison.

    Attributes
    ----------
    name : str
    params, tags : mapping of str to str
    summary : str
        The top of the description, in Markdown.
    run_names : mapping of str to str
        Run id -> name of the compared runs.
    files : mapping of str to str
        Name -> text of each report.
    """

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
        KIND_TAG: KIND,
        RUNS_TAG: _list_ids(record),
        "mlflow.note.content": f"{record.summary}\n\nThe artifact {RUNS_FILE} lists the runs that were compared.",
    }
    created = own.client.create_run(
        own.experiment_id,
        run_name=record.name,
        tags=cut_tags({key: hide_secrets(value) for key, value in tags.items()}),
    )
    run_id = str(created.info.run_id)
    try:
        # Otherwise MLflow opens the run in the pages for language models.
        for key, value in EXPERIMENT_TAGS.items():
            own.client.set_experiment_tag(own.experiment_id, key, value)
        log_metrics(own.client, run_id, RunValues(params=dict(record.params)))
        with artifact_folder(created.info.artifact_uri, own.client.log_artifacts, run_id) as folder:
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
    """Return the ids of the runs as JSON, or their number if they exceed the length of a tag."""
    ids = list(record.run_names)
    text = json.dumps(ids)
    # An incomplete list would look like a complete one, so a long one is only in the artifacts.
    return text if len(text) <= MAX_TAG_LETTERS else f"{len(ids)} runs in {RUNS_FILE}"
