"""A report that is kept in the store as a run, in the experiment of the comparisons.

That experiment is a separate one, ``<experiment>-comparisons``. In the experiment of the compared runs, the run would
become the ``latest`` one and a row of the leaderboard, and its duration and status would affect resuming and estimates.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress

from bakeoff.pipeline.commands.comparison_report.delivery import FORMATS
from bakeoff.pipeline.errors import StoreError
from bakeoff.pipeline.tables.output_file import EXTENSIONS
from bakeoff.pipeline.tables.report import Report
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking import artifacts, provenance
from bakeoff.pipeline.tracking.names import KIND_TAGS as EXPERIMENT_TAGS
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.store_writer import RunValues

RUNS_FILE = "runs.json"
SUFFIX = "-comparisons"
"""The end of the name of the experiment with the reports on the runs of another."""
KIND_TAG = "kind"
DIGEST_TAG = "sha256"
ITEMS_TAG = "items_digest"
"""The tag of a comparison of a table of items; later ones of the same items count its systems."""


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
