"""The result of a replay: identical or not, the values that differ, and the changes since the stored run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bakeoff.pipeline.replay.differences import Comparison, count_differences
from bakeoff.pipeline.tables.table import make_table
from bakeoff.pipeline.tables.terminal import align_lines
from bakeoff.pipeline.text.words import join_words

UNKNOWN = "not recorded"
COMMIT_TAG = "mlflow.source.git.commit"
DECISIVE_TAGS = {
    "dataset_digest": "data",
    "splits_digest": "splits",
    "code_hash": "code of the learner and the pipeline",
    "blas": "BLAS",
    "threads": "threads",
    COMMIT_TAG: "commit",
    "git_dirty": "files that differ from the commit",
    "host": "machine",
}
"""Tags of a run that may explain a difference, and their names in words."""
IDENTICAL = "identical"
DIFFERENT = "differs"
REFUSED = "refused"
MAX_DIFFERENCES_SHOWN = 12
"""Differences in a report of one run on the screen; the JSON file contains all of them."""


@dataclass(frozen=True)
class Change:
    """Something that was different when the stored run was made.

    Attributes
    ----------
    what : str
    then, now : str
    """

    what: str
    then: str
    now: str


def find_changes(stored: Mapping[str, str], repeated: Mapping[str, str]) -> list[Change]:
    """Return the differences between the circumstances of a stored run and of its replay.

    Parameters
    ----------
    stored : mapping of str to str
        The tags of the stored run; outside a repository, for one, it has recorded no commit.
    repeated : mapping of str to str
        The tags that the replay would have.
    """
    return [*_find_version_changes(stored, repeated), *_find_tag_changes(stored, repeated)]


def _find_version_changes(stored: Mapping[str, str], repeated: Mapping[str, str]) -> Iterator[Change]:
    then = {"python": stored.get("python", UNKNOWN), **json.loads(stored.get("versions", "{}"))}
    now = json.loads(repeated.get("versions", "{}"))
    for package, version in now.items():
        stored_version = str(then.get(package, UNKNOWN))
        if stored_version != str(version):
            yield Change(package, stored_version, str(version))


def _find_tag_changes(stored: Mapping[str, str], repeated: Mapping[str, str]) -> Iterator[Change]:
    for tag, what in DECISIVE_TAGS.items():
        then = stored.get(tag, UNKNOWN)
        now = repeated.get(tag, UNKNOWN)
        if then != now:
            yield Change(what, then, now)


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
        """One line with the verdict and its basis."""
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
