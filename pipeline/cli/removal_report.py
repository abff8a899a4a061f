"""What ``bakeoff rm`` and ``bakeoff gc`` say before they delete, and the deletion."""

from __future__ import annotations

import sys

from bakeoff.pipeline.text.numbers import format_bytes
from bakeoff.pipeline.text.words import count_nouns
from bakeoff.pipeline.tracking.removal import Removal, describe_item, remove, shrink_database
from bakeoff.pipeline.tracking.store import Store

MAX_SHOWN_RUNS = 20


def carry_out(store: Store, removal: Removal, *, is_dry: bool) -> None:
    """Print what is deleted, delete it unless this is a dry run, and give the space of the database back."""
    for sentence in removal.kept:
        print(f"kept: {sentence}", file=sys.stderr)
    for line in describe(removal):
        print(line)
    if is_dry:
        print("nothing was deleted (dry_run=true)")
        return
    sys.stdout.flush()
    remove(store, removal)
    if not removal.is_empty:
        print("deleted")
    # Also after an earlier removal, during which another process used the database.
    if note := shrink_database(store):
        print(note, file=sys.stderr)


def describe(removal: Removal) -> list[str]:
    """Return the lines that say what a removal deletes, and how many bytes its files have."""
    if removal.is_empty:
        return ["nothing to delete"]
    counts = {
        "run": len(removal.runs),
        "model": len(removal.models),
        "registered version": len(removal.versions),
        "experiment": len(removal.experiments),
    }
    counted = ", ".join(count_nouns(n, noun) for noun, n in counts.items() if n)
    size = format_bytes(removal.n_bytes)
    lines = [f"deleting {counted}: {size} of files, and their rows in the database"]
    shown = [f"  {describe_item(run)}" for run in removal.runs[:MAX_SHOWN_RUNS]]
    n_hidden = len(removal.runs) - len(shown)
    lines += [*shown, *([f"  and {n_hidden} more"] if n_hidden else [])]
    lines += [f"  {each.name}, version {each.version}" for each in removal.versions]
    if removal.runs:
        lines.append("Looks at test rows count them no longer, although their scores may have been seen.")
    return lines
