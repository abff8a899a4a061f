"""The verb ``list``: metrics, figures, models, and the options of each group with the first comment of their file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bakeoff.pipeline.config.options import LISTED, METRIC_LIST, read_listing
from bakeoff.pipeline.config.requests import MODELS, ListRequest
from bakeoff.pipeline.tables.table import align_lines, make_table
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import format_score

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.names import RegisteredVersion

OWN_MARK = "(own)"
MODEL_COLUMNS = ("model", "version", "alias", "rows", "score of its run", "run")
RUN_ID_LETTERS = 8
"""The number of characters shown of a run id, which suffice to find the run."""
TASKS = ("classification", "regression")
LINE_LETTERS = 110
INDENT = "  "
LOWER = "Lower is better."


def list_options(request: ListRequest) -> int:
    """Print the options of the named groups, or of all groups, each with a sentence.

    Raises
    ------
    UserError
        The group does not exist, or a user-defined option has a name that is not allowed.
    """
    for group in request.groups or LISTED:
        lines = _iterate_models(request) if group == MODELS else _iterate_group(group)
        for line in lines:
            print(line)
    return 0


def _iterate_group(group: str) -> Iterator[str]:
    options, own = read_listing(group)
    if group == METRIC_LIST:
        yield from iterate_metric_lines()
    else:
        yield f"{group}="
    rows = [[f"{INDENT}{name}", sentence] for name, sentence in options.items()]
    rows += [[f"{INDENT}{name}", f"{OWN_MARK} {sentence}"] for name, sentence in own.items()]
    yield from align_lines(make_table("", ["", ""], rows))


def iterate_metric_lines() -> Iterator[str]:
    """Yield the lines of the list: bakeoff's metrics for each task with a sentence, and the names of scikit-learn's."""
    # scikit-learn takes a second to load, and other lists do not need it.
    from bakeoff.pipeline.stages import scoring

    yield "evaluation.metrics=[...]"
    for task in TASKS:
        known = scoring.get_task_metrics(task)
        sentences = {name: metric.sentence for name, metric in known.items()}
        if task == TASKS[0]:
            sentences[scoring.COST] = scoring.COST_SENTENCE
        yield f"{INDENT}of {task}:"
        rows = [
            [f"{INDENT * 2}{name}", sentence if scoring.is_greater_better(name) else f"{sentence} {LOWER}"]
            for name, sentence in sentences.items()
        ]
        yield from align_lines(make_table(task, ["", ""], rows))
        others = [name for name in scoring.list_scorer_names(task) if name not in known]
        yield f"{INDENT}and scikit-learn's scorers, of which neg_NAME is minus NAME:"
        yield textwrap.indent(textwrap.fill(", ".join(others), LINE_LETTERS), INDENT * 2)
    yield f"{INDENT}and user-defined ones, by dotted names: docs/evaluation.md"


def _iterate_models(request: ListRequest) -> Iterator[str]:
    """Yield a line for each version of the registered models in a store, with the newest version of each first."""
    from bakeoff.pipeline.tracking.names import list_versions
    from bakeoff.pipeline.tracking.store import open_store

    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    versions = sorted(list_versions(store), key=lambda each: (each.name, -each.version))
    if not versions:
        yield f"no model is registered in {hide_secrets(store.uri)}; `bakeoff ship RUN as=NAME@ALIAS` registers one"
        return
    yield from align_lines(make_table("models", MODEL_COLUMNS, map(_describe_version, versions)))


def _describe_version(version: RegisteredVersion) -> tuple[str, ...]:
    """Return the cells of a version; those not recorded by another program are empty."""
    tags = version.tags
    headline = tags.get("headline", "")
    score = f"{headline} {format_score(float(tags[headline]))}" if headline in tags else ""
    run = f"{version.run_id[:RUN_ID_LETTERS]} {tags.get('run_name', '')}".strip()
    return (version.name, str(version.version), ", ".join(version.aliases), tags.get("rows", ""), score, run)
