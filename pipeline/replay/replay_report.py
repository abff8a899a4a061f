"""The result of a replay: identical or not, which values differ, and what has changed since the stored run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bakeoff.pipeline.replay.differences import Comparison, count_differences
from bakeoff.pipeline.replay.environment import Change
from bakeoff.pipeline.tables.table import make_table
from bakeoff.pipeline.tables.terminal import align_lines
from bakeoff.pipeline.text.words import join_words

IDENTICAL = "identical"
DIFFERENT = "differs"
REFUSED = "refused"
MAX_DIFFERENCES_SHOWN = 12
"""Differences in a report of one run on the screen; the JSON file holds all of them."""


@dataclass(frozen=True)
class ReplayReport:
    """The result of the replay of a run.

    Attributes
    ----------
    run_id, name : str
    verdict : str
        ``identical``, ``differs`` or ``refused``.
    reason : str
        Why it differs if that is not a number, or why it was refused.
    comparisons : tuple of Comparison
    changes : tuple of Change
    notes : tuple of str
        What could not be compared.
    """

    run_id: str
    name: str
    verdict: str
    reason: str = ""
    comparisons: tuple[Comparison, ...] = ()
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """One line: the verdict, and what it rests on."""
        if self.reason:
            return f"{self.verdict}: {self.reason}"
        words = [_count_values(comparison, self.verdict) for comparison in self.comparisons]
        return f"{self.verdict}: {join_words(words) or 'there was nothing to compare'}"

    def to_lines(self) -> list[str]:
        """Return the report as lines of text."""
        lines = [f"replay of {self.name} (run {self.run_id})", self.summary]
        lines += [f"not compared: {note}" for note in self.notes]
        if self.verdict == DIFFERENT:
            lines += self._list_differences()
        return [*lines, *self._list_changes()]

    def to_json(self) -> dict[str, Any]:
        """Return the report as values for JSON, with every difference at full precision."""
        return {"summary": self.summary, **asdict(self)}

    def _list_changes(self) -> list[str]:
        if self.changes:
            rows = [[f"  {change.what}", change.then, f"→ {change.now}"] for change in self.changes]
            return ["since the stored run, these have changed:", *align_lines(make_table("", [""] * 3, rows))]
        return ["nothing that the run has recorded has changed since"] if self.verdict == DIFFERENT else []

    def _list_differences(self) -> list[str]:
        differences = [each for comparison in self.comparisons for each in comparison.differences]
        rows = [[f"  {each.name}", each.place, each.stored, each.now] for each in differences[:MAX_DIFFERENCES_SHOWN]]
        lines = align_lines(make_table("", ["  value", "place", "stored", "now"], rows)) if rows else []
        n_hidden = len(differences) - MAX_DIFFERENCES_SHOWN
        if n_hidden > 0:
            lines.append(f"  and {n_hidden} more; output=FILE.json lists all of them")
        return lines


def find_verdict(comparisons: Sequence[Comparison]) -> str:
    """Return ``identical`` if no value differs, else ``differs``."""
    return DIFFERENT if count_differences(comparisons) else IDENTICAL


def _count_values(comparison: Comparison, verdict: str) -> str:
    if verdict == IDENTICAL:
        return f"{comparison.n_values} {comparison.what}"
    return f"{len(comparison.differences)} of {comparison.n_values} {comparison.what}"
