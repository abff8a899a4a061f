"""A line: the rules that were fixed when it was opened, the configurations that count as tries, and its decisions.

A line is a run of its own kind, as a seal is: a JSON file, whose SHA-256 digest is a tag. Anyone who can write to the
store can change both, so a line proves to others what was tried only if its digest was published elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from bakeoff.pipeline.commands.compare.request import KIND_TAG, SUFFIX
from bakeoff.pipeline.commands.compare.seal import DIGEST_TAG
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking import artifacts, provenance
from bakeoff.pipeline.tracking.history import list_looks
from bakeoff.pipeline.tracking.names import KIND_TAGS as EXPERIMENT_TAGS
from bakeoff.pipeline.tracking.sqlite_file import find_file
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.store_writer import RunValues
from bakeoff.pipeline.tracking.stored_runs import (
    FINISHED,
    IS_FINISHED,
    REMOVED_PREFIX,
    StoredRun,
    search_runs,
    write_condition,
)

KIND = "line"
FILE = "line.json"
NEXT_DIGEST_TAG = "sha256.next"
"""The digest of the file that is about to be written, so that a line survives a process that is killed between."""
NOTE_TAG = "mlflow.note.content"
ROWS_TAG = "line.dataset_digest"
LOCK_SECONDS = 600


@dataclass(frozen=True)
class Contender:
    """A configuration with its scores on the folds of a line.

    Attributes
    ----------
    run_id, config_hash, name : str
    command : str
        The words that repeat the run.
    scores : tuple of float
        One for each fold.
    test_train_ratio : float
        Test rows per training row.
    """

    run_id: str
    config_hash: str
    name: str
    command: str
    scores: tuple[float, ...]
    test_train_ratio: float


@dataclass(frozen=True)
class Decision:
    """The answer to a configuration, which is given once.

    Attributes
    ----------
    run_id, config_hash, name : str
    number : int
        Its place among the tries.
    champion : str
        The run that it was compared with.
    difference, lower, upper : float
        The gain in the direction of better scores, and its interval at the confidence 1 - alpha.
    p, level : float
        The one-sided p-value of a gain of at most the margin, and the largest one that is a keep.
    findable : float
        The true gain that these folds find with a probability of 80 %; NaN if the differences do not vary.
    is_kept : bool
    """

    run_id: str
    config_hash: str
    name: str
    number: int
    champion: str
    difference: float
    lower: float
    upper: float
    p: float
    level: float
    findable: float
    is_kept: bool


@dataclass(frozen=True)
class Final:
    """The champion against the first base on the reserved rows.

    Attributes
    ----------
    n_rows : int
    base, champion : float
        Their scores.
    difference, lower, upper : float
        As in a `Decision`, by resampling the rows.
    p : float
        The share of the resamples whose gain is at most the margin.
    is_better : bool
    unproved : tuple of str
        Tries whose record does not show that they left the reserved rows alone.
    """

    n_rows: int
    base: float
    champion: float
    difference: float
    lower: float
    upper: float
    p: float
    is_better: bool
    unproved: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A line of tries.

    Attributes
    ----------
    name : str
    opened : str
        The time in ISO 8601, in UTC; it decides nothing.
    tries : int
    alpha, margin : float
    metric, definition : str
        The score that decides, and what defines it beyond its name.
    is_greater_better : bool
    dataset, dataset_digest, splits_digest, versions : str
        What all runs of the line share.
    reserve : str
        The digest of the reserved rows; empty without a reserve.
    base, champion : Contender
    earlier : tuple of str
        The ``config_hash`` of each configuration that was scored on these rows before the line was opened.
    counted : tuple of str
        The ``config_hash`` of each try, in the order in which the line learned of them.
    decisions : tuple of Decision
    final : Final or None
    """

    name: str
    opened: str
    tries: int
    alpha: float
    margin: float
    metric: str
    definition: str
    is_greater_better: bool
    dataset: str
    dataset_digest: str
    splits_digest: str
    versions: str
    reserve: str
    base: Contender
    champion: Contender
    earlier: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    final: Final | None = None

    @property
    def level(self) -> float:
        """The level of each test: by Bonferroni's bound, all together err with a probability of at most alpha."""
        return self.alpha / self.tries

    @property
    def kept(self) -> tuple[Decision, ...]:
        """The decisions that made a champion."""
        return tuple(each for each in self.decisions if each.is_kept)

    def find_decision(self, config_hash: str) -> Decision | None:
        """Return the decision on a configuration; None if it has not been judged."""
        return next((each for each in self.decisions if each.config_hash == config_hash), None)

    def decide(self, decision: Decision, contender: Contender) -> Line:
        """Return the line with a further decision, by which the contender may have become the champion."""
        champion = contender if decision.is_kept else self.champion
        return replace(self, champion=champion, decisions=(*self.decisions, decision))

    def count(self, scored: set[str], offered: str = "") -> Line:
        """Return the line with all configurations that have been scored as tries, the offered one the last.

        If the offered one was scored before the line was opened, it was chosen among all that were: these count too.
        """
        known = {*self.counted, self.base.config_hash}
        found = scored - {*self.earlier} - known
        if offered in self.earlier:
            found |= {*self.earlier} - known
        new = [*sorted(found - {offered}), *({offered} - known - {""})]
        return replace(self, counted=(*self.counted, *new))


@dataclass(frozen=True)
class StoredLine:
    """A line in its store; ``run`` is its own run there."""

    line: Line
    run: StoredRun

    @property
    def digest(self) -> str:
        """The SHA-256 digest of its file."""
        return _digest(_write_text(self.line))


@contextmanager
def hold_lines(store: Store) -> Iterator[None]:
    """Let one process of this machine at a time read and write the lines of a store.

    Raises
    ------
    UserError
        Another process has kept them for too long.
    """
    import filelock

    file = find_file(store.uri)
    path = Path(gettempdir()) / f"bakeoff-{_digest(store.uri)[:16]}" if file is None else file
    try:
        with filelock.FileLock(f"{path}.lock", timeout=LOCK_SECONDS):
            yield
    except filelock.Timeout:
        raise UserError(f"another process has used the lines of {store.uri} for 10 minutes; wait for it.") from None


def open_lines(store: Store, experiment: str) -> Store:
    """Return the store of the lines of an experiment, which is created if it does not exist."""
    return open_store(store.uri, f"{experiment}{SUFFIX}")


def find_line(own: Store, name: str) -> StoredLine | None:
    """Return a line by its name, or None if there is none.

    Raises
    ------
    UserError
        Its file was changed, or there are two lines of this name.
    """
    found = [run for run in _search_lines(own) if run.tags.get(KIND) == name]
    if not found:
        return None
    if len(found) > 1:
        ids = ", ".join(run.run_id for run in found)
        raise UserError(f"line={name} has {len(found)} runs ({ids}), so one is a copy; delete it with bakeoff rm.")
    return StoredLine(_read_line(own, found[0]), found[0])


def list_others(own: Store, line: Line) -> list[Line]:
    """Return the other lines on the same rows."""
    tries = [run for run in _search_lines(own) if run.tags.get(ROWS_TAG) == line.dataset_digest]
    return [_read_line(own, run) for run in tries if run.tags.get(KIND) != line.name]


def list_names(own: Store) -> list[str]:
    """Return the names of all lines."""
    return [run.tags.get(KIND, "") for run in _search_lines(own)]


def list_scored(store: Store, line: Line, stored: StoredLine | None = None) -> set[str]:
    """Return the configurations that have been scored on the rows of a line, also those whose runs were removed."""
    tags = {} if stored is None else stored.run.tags
    removed = {
        key.removeprefix(REMOVED_PREFIX)
        for key, dataset in tags.items()
        if key.startswith(REMOVED_PREFIX) and dataset == line.dataset_digest
    }
    return list_looks(store, line.dataset_digest) | removed


def create_line(own: Store, line: Line, page: str) -> StoredLine:
    """Store a line that has just been opened."""
    tags = {**provenance.list_tags(), KIND_TAG: KIND, KIND: line.name}
    run_id, address = own.writer.create_run(own.experiment_id, f"{KIND} {line.name}", tags)
    for key, value in EXPERIMENT_TAGS.items():
        own.writer.tag_experiment(own.experiment_id, key, value)
    stored = StoredLine(line, StoredRun(run_id, line.name, FINISHED, False, 0, {}, tags, {}, address))
    keep_line(own, stored, line, page)
    # Only a finished run is a line.
    own.writer.end_run(run_id, FINISHED)
    return stored


def keep_line(own: Store, stored: StoredLine, line: Line, page: str) -> StoredLine:
    """Write a line that has changed, and the page that MLflow shows."""
    text = _write_text(line)
    digest = _digest(text)
    run = stored.run
    own.writer.add_values(run.run_id, RunValues(tags={NEXT_DIGEST_TAG: digest}))
    with artifacts.run_folder(own, run.address, run.run_id) as folder:
        (folder / FILE).write_text(text, encoding="utf-8")
    tags = {DIGEST_TAG: digest, NOTE_TAG: page, ROWS_TAG: line.dataset_digest}
    own.writer.add_values(run.run_id, RunValues(tags=tags))
    return replace(stored, line=line)


def tell_time() -> str:
    """Return the time in ISO 8601, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _search_lines(own: Store) -> Iterator[StoredRun]:
    query = f"{write_condition(f'tags.{KIND_TAG}', KIND)} and {IS_FINISHED}"
    return search_runs(own, query, metrics=[])


def _read_line(own: Store, run: StoredRun) -> Line:
    text = artifacts.read_artifact(own, f"{run.address}/{FILE}")
    if _digest(text) in (run.tags.get(DIGEST_TAG), run.tags.get(NEXT_DIGEST_TAG)):
        return _parse_line(json.loads(text))
    raise UserError(
        f"line={run.tags.get(KIND)}: its file was changed or is missing, and does not match its digest "
        f"{run.tags.get(DIGEST_TAG)}; restore {FILE} of run {run.run_id}, or open a new line with another name."
    )


def _parse_line(fields: Mapping[str, Any]) -> Line:
    contenders = {
        role: Contender(**{**fields[role], "scores": tuple(fields[role]["scores"])}) for role in ("base", "champion")
    }
    final = fields["final"] and Final(**{**fields["final"], "unproved": tuple(fields["final"]["unproved"])})
    return Line(
        **{
            **fields,
            **contenders,
            "earlier": tuple(fields["earlier"]),
            "counted": tuple(fields["counted"]),
            "decisions": tuple(Decision(**each) for each in fields["decisions"]),
            "final": final,
        }
    )


def _write_text(line: Line) -> str:
    return json.dumps(asdict(line), indent=1)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
