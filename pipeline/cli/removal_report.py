"""What ``bakeoff rm`` and ``bakeoff gc`` say before they delete, and the deletion."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.removal import Removal
    from bakeoff.pipeline.tracking.store import Store

BYTES_PER_UNIT = 1000
UNITS = ("bytes", "kB", "MB", "GB", "TB")
MAX_SHOWN_RUNS = 20


def carry_out(store: Store, removal: Removal, *, is_dry: bool) -> None:
    """Print what is deleted, delete it unless this is a dry run, and give the space of the database back."""
    from bakeoff.pipeline.tracking.removal import remove, shrink_database

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
    counted = [
        _count(len(removal.runs), "run"),
        _count(len(removal.models), "model"),
        _count(len(removal.versions), "registered version"),
        _count(len(removal.experiments), "experiment"),
    ]
    size = format_bytes(removal.n_bytes)
    lines = [f"deleting {', '.join(each for each in counted if each)}: {size} of files, and their rows in the database"]
    shown = [f"  {run}" for run in removal.runs[:MAX_SHOWN_RUNS]]
    n_hidden = len(removal.runs) - len(shown)
    lines += [*shown, *([f"  and {n_hidden} more"] if n_hidden else [])]
    lines += [f"  {each.name}, version {each.version}" for each in removal.versions]
    if removal.runs:
        lines.append("Looks at test rows count them no longer, although their scores may have been seen.")
    return lines


def format_bytes(n_bytes: float) -> str:
    """Return a number of bytes in the largest unit of which there is one.

    Examples
    --------
    >>> format_bytes(0), format_bytes(999), format_bytes(102_400_000)
    ('0 bytes', '999 bytes', '102.4 MB')
    """
    for unit in UNITS:
        if n_bytes < BYTES_PER_UNIT or unit == UNITS[-1]:
            break
        n_bytes /= BYTES_PER_UNIT
    return f"{n_bytes:.0f} {unit}" if unit == UNITS[0] else f"{n_bytes:.1f} {unit}"


def _count(number: int, noun: str) -> str:
    plural = "" if number == 1 else "s"
    return f"{number} {noun}{plural}" if number else ""
