"""A line: the rules that were fixed when it was opened, the configurations that count as tries, and its decisions.

A line is a run of its own kind, as a seal is: a JSON file, whose SHA-256 digest is a tag. Anyone who can write to the
store can change both, so a line proves to others what was tried only if its digest was published elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from bakeoff.pipeline.commands.comparison_report.kept_report import DIGEST_TAG, KIND_TAG, SUFFIX
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking import artifacts, provenance
from bakeoff.pipeline.tracking.history import list_looks
from bakeoff.pipeline.tracking.mlflow_tables import find_experiment
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
LOCK_SECONDS = 600
KEEP = "keep"
NO = "no"
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Rules:
    """What all runs of a line share.

    Attributes
    ----------
    metric, definition : str
        The score that decides, and what defines it beyond its name.
    greater_is_better : bool
    dataset, data : str
        The name of the dataset, and the digest of its rows.
    folds, reserve : str
        The digests of the folds and of the reserved rows; the latter is empty without a reserve.
    versions : str
        The versions of bakeoff, Python and the numerical packages.
    """

    metric: str
    definition: str
    greater_is_better: bool
    dataset: str
    data: str
    reserve: str
    folds: str
    versions: str


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
        The one-sided p-value of a gain of at most the margin, and the one that a keep has to be below.
    findable : float
        The true gain that these folds find with a probability of 80 %; NaN if the differences do not vary.
    n_folds : int
    answer : str
        `KEEP`, `NO`, or with ``until=sure`` `UNDECIDED`, if the last repeat did not settle it.
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
    n_folds: int
    answer: str

    @property
    def is_kept(self) -> bool:
        """Whether the run became the champion."""
        return self.answer == KEEP

    @property
    def is_open(self) -> bool:
        """Whether further folds might lead to a keep."""
        return self.answer == UNDECIDED


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
    tries : int
    alpha, margin : float
    rules : Rules
    base, champion : Contender
    earlier : tuple of str
        The ``config_hash`` of each configuration that was scored on these rows before the line was opened.
    counted : tuple of str
        The ``config_hash`` of each try, in the order in which the line learned of them.
    decisions : tuple of Decision
    repeats : tuple of str
        The ``config_hash`` of each job that repeats the folds of the champion and of a try, which are no tries.
    begun : mapping of str to int
        The ``config_hash`` of each try whose folds were repeated -> the largest number of repeats that was asked for.
    final : Final or None
    """

    name: str
    tries: int
    alpha: float
    margin: float
    rules: Rules
    base: Contender
    champion: Contender
    earlier: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    repeats: tuple[str, ...] = ()
    begun: Mapping[str, int] = field(default_factory=dict)
    final: Final | None = None

    @property
    def level(self) -> float:
        """The level of each test: by Bonferroni's bound, all together err with a probability of at most alpha."""
        return self.alpha / self.tries

    @property
    def n_left(self) -> int:
        """The number of tries that are left."""
        return max(0, self.tries - len(self.counted))

    @property
    def kept(self) -> dict[str, Decision]:
        """The decisions that made a champion, by its run."""
        return {each.run_id: each for each in self.decisions if each.is_kept}

    def decide(self, decision: Decision, contender: Contender) -> Line:
        """Return the line with a further decision, by which the contender may have become the champion."""
        champion = contender if decision.is_kept else self.champion
        return replace(self, champion=champion, decisions=(*self.decisions, decision))

    def count(self, scored: set[str], offered: str) -> Line:
        """Return the line with all configurations that have been scored as tries, the offered one the last.

        If the offered one was scored before the line was opened, it was chosen among all that were: these count too.
        """
        pool = scored | {*self.earlier} if offered in self.earlier else scored - {*self.earlier}
        found = pool - {*self.counted, *self.repeats, self.base.config_hash}
        return replace(self, counted=(*self.counted, *sorted(found, key=lambda job: (job == offered, job))))


@dataclass(frozen=True)
class StoredLine:
    """A line in its store; ``run`` is its own run there, and ``digest`` the SHA-256 digest of its file."""

    line: Line
    run: StoredRun
    digest: str


@contextmanager
def hold_lines(store: Store) -> Iterator[None]:
    """Let one process of this machine at a time read and write the lines of a store.

    Raises
    ------
    UserError
        Another process has kept them for too long.
    """
    import filelock

    path = find_file(store.uri) or Path(gettempdir()) / f"bakeoff-{_digest(store.uri)}"
    try:
        with filelock.FileLock(f"{path}.lock", timeout=LOCK_SECONDS):
            yield
    except filelock.Timeout:
        raise UserError(f"another process has used the lines of {store.uri} for 10 minutes; wait for it.") from None


def find_lines(store: Store, experiment: str) -> dict[str, StoredRun]:
    """Return the runs of the lines of an experiment by their names.

    Raises
    ------
    UserError
        Two of them have the same name.
    """
    found = find_experiment(store.client, f"{experiment}{SUFFIX}")
    if found is None:
        return {}
    query = f"{write_condition(f'tags.{KIND_TAG}', KIND)} and {IS_FINISHED}"
    runs: dict[str, StoredRun] = {}
    for run in search_runs(replace(store, experiment_id=found.experiment_id), query, metrics=[]):
        first = runs.setdefault(run.tags[KIND], run)
        if first is not run:
            raise UserError(
                f"line={run.tags[KIND]} has two runs, {first.run_id} and {run.run_id}, one of which is a copy; delete "
                "it with bakeoff rm."
            )
    return runs


def read_line(store: Store, run: StoredRun) -> StoredLine:
    """Return a line from its run.

    Raises
    ------
    UserError
        Its file was changed.
    """
    text = artifacts.read_artifact(store, f"{run.address}/{FILE}")
    digest = _digest(text)
    if digest not in (run.tags.get(DIGEST_TAG), run.tags.get(NEXT_DIGEST_TAG)):
        raise UserError(
            f"line={run.tags[KIND]}: its file was changed or is missing, and does not match its digest "
            f"{run.tags.get(DIGEST_TAG)}; restore {FILE} of run {run.run_id}, or open a new line with another name."
        )
    return StoredLine(_parse_line(json.loads(text, object_hook=_freeze_lists)), run, digest)


def list_scored(store: Store, line: Line, run: StoredRun | None) -> set[str]:
    """Return the configurations that have been scored on the rows of a line, also those whose runs were removed."""
    tags = run.tags if run else {}
    removed = {
        key.removeprefix(REMOVED_PREFIX)
        for key, dataset in tags.items()
        if key.startswith(REMOVED_PREFIX) and dataset == line.rules.data
    }
    return list_looks(store, line.rules.data) | removed


def create_line(store: Store, experiment: str, line: Line, page: str) -> StoredLine:
    """Store a line that has just been opened."""
    own = open_store(store.uri, f"{experiment}{SUFFIX}")
    tags = {**provenance.list_tags(), KIND_TAG: KIND, KIND: line.name}
    run_id, address = own.writer.create_run(own.experiment_id, f"{KIND} {line.name}", tags)
    for key, value in EXPERIMENT_TAGS.items():
        own.writer.tag_experiment(own.experiment_id, key, value)
    run = StoredRun(run_id, line.name, FINISHED, False, 0, {}, tags, {}, address)
    stored = keep_line(own, run, line, page)
    # Only a finished run is a line.
    own.writer.end_run(run_id, FINISHED)
    return stored


def keep_line(store: Store, run: StoredRun, line: Line, page: str) -> StoredLine:
    """Write a line that has changed, and the page that MLflow shows."""
    text = json.dumps(asdict(line))
    digest = _digest(text)
    store.writer.add_values(run.run_id, RunValues(tags={NEXT_DIGEST_TAG: digest}))
    with artifacts.run_folder(store, run.address, run.run_id) as folder:
        (folder / FILE).write_text(text, encoding="utf-8")
    store.writer.add_values(run.run_id, RunValues(tags={DIGEST_TAG: digest, NOTE_TAG: page}))
    return StoredLine(line, run, digest)


def _parse_line(fields: Mapping[str, Any]) -> Line:
    parts = {
        "rules": Rules(**fields["rules"]),
        "base": Contender(**fields["base"]),
        "champion": Contender(**fields["champion"]),
        "decisions": tuple(Decision(**each) for each in fields["decisions"]),
        "final": fields["final"] and Final(**fields["final"]),
    }
    return Line(**{**fields, **parts})


def _freeze_lists(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
