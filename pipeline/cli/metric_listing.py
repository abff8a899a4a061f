"""The metrics that ``evaluation.metrics`` may name, as ``bakeoff list metrics`` prints them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from bakeoff.pipeline.stages.scoring import (
    COST,
    COST_SENTENCE,
    get_task_metrics,
    is_greater_better,
    list_scorer_names,
)
from bakeoff.pipeline.tables.table import make_table
from bakeoff.pipeline.tables.terminal import align_lines

TASKS = ("classification", "regression")
LINE_LETTERS = 110
INDENT = "  "
LOWER = "Lower is better."


def iterate_metric_lines() -> Iterator[str]:
    """Yield the lines of the list: bakeoff's metrics of each task with a sentence, and the names of scikit-learn's."""
    yield "evaluation.metrics=[...]"
    for task in TASKS:
        known = get_task_metrics(task)
        sentences = {name: metric.sentence for name, metric in known.items()}
        if task == TASKS[0]:
            sentences[COST] = COST_SENTENCE
        yield f"{INDENT}of {task}:"
        rows = [
            [f"{INDENT * 2}{name}", sentence if is_greater_better(name) else f"{sentence} {LOWER}"]
            for name, sentence in sentences.items()
        ]
        yield from align_lines(make_table(task, ["", ""], rows))
        others = [name for name in list_scorer_names(task) if name not in known]
        yield f"{INDENT}and scikit-learn's scorers, of which neg_NAME is minus NAME:"
        yield textwrap.indent(textwrap.fill(", ".join(others), LINE_LETTERS), INDENT * 2)
    yield f"{INDENT}and your own, by dotted names: docs/evaluation.md"
