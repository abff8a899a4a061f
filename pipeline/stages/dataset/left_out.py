"""Sentences about columns that are left out, with the keys that take them in."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.stages.dataset.column import CONSTANT, DATE, IDENTIFIER, LEFT_OUT, TEXT, Column
from bakeoff.pipeline.stages.dataset.columns.key_text import format_list_key

KEYS = {IDENTIFIER: "keep", DATE: "dates", TEXT: "text", CONSTANT: "keep"}
NOUNS = {
    IDENTIFIER: "identifiers",
    DATE: "dates",
    TEXT: "free text",
    CONSTANT: "constants",
}
MAX_SHOWN_COLUMNS = 8


def describe_left_out(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return a sentence for each kind of which columns are left out.

    Parameters
    ----------
    columns : sequence of Column
        Those with another role than left out are ignored.

    Examples
    --------
    >>> describe_left_out([Column("id", IDENTIFIER, "90 different in 90 cells", role=LEFT_OUT)])
    ('Left out as identifiers: id (90 different in 90 cells). dataset.keep=[id] takes it in.',)
    """
    sentences = []
    for kind, noun in NOUNS.items():
        found = [column for column in columns if column.kind == kind and column.role == LEFT_OUT]
        if not found:
            continue
        shown = [f"{column.name} ({column.reason})" for column in found[:MAX_SHOWN_COLUMNS]]
        n_further = len(found) - len(shown)
        further = f" and {n_further} more" if n_further else ""
        key = format_list_key(KEYS[kind], [column.name for column in found[:MAX_SHOWN_COLUMNS]])
        pronoun = "it" if len(found) == 1 else "them"
        sentences.append(f"Left out as {noun}: {', '.join(shown)}{further}. {key} takes {pronoun} in.")
    return tuple(sentences)
