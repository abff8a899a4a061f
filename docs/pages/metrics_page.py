"""The page on the metrics that have names."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_text import escape_text, format_table, join_parts

from bakeoff.pipeline.commands.store.listing import describe_metric
from bakeoff.pipeline.stages.scoring.names import SENTENCES
from bakeoff.pipeline.stages.scoring.scorers import list_scorer_names


def make_metrics_page() -> str:
    """Return the page as Markdown."""
    return join_parts(
        [
            "# metrics",
            "`evaluation.metrics=[NAME,…]` chooses them; the first one is the headline. "
            "[Evaluate, and choose metrics](../../evaluation.md) says how to add your own.",
            *(part for task in SENTENCES for part in _iterate_parts(task)),
        ]
    )


def _iterate_parts(task: str) -> Iterator[str]:
    sentences = SENTENCES[task]
    rows = [(f"`{name}`", escape_text(describe_metric(name, sentence))) for name, sentence in sentences.items()]
    others = [f"`{name}`" for name in list_scorer_names(task) if name not in sentences]
    yield f"## Of {task}"
    yield format_table(["name", "description"], rows)
    yield f"Scorers of scikit-learn, of which `neg_NAME` is minus `NAME`: {', '.join(others)}."
