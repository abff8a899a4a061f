"""Hybrids of two configurations, run as a sweep, with their scores in each fold."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.pipeline.comparison.changes import LEARNER, Change, Variant, join_changes, mix_variants
from bakeoff.pipeline.comparison.effects import Changes
from bakeoff.pipeline.comparison.run_facts import SHORT_ID_LETTERS
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.config.words import SWEEP_KEYS, Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import FINISHED, SKIPPED, Job
from bakeoff.pipeline.sweep.request import SweepRequest, run_requested_sweep
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, read_series, read_stored_runs

EVALUATION = "evaluation"
SWEEPS_FOLDER = "outputs/sweeps"
DONE_KINDS = (FINISHED, SKIPPED)


def split_key(word: str) -> list[str]:
    """Return the parts of the key of an override."""
    return re.split("[.=@/]", word.lstrip("+~"))


@dataclass(frozen=True)
class HybridSweep:
    """The command that runs hybrids.

    Attributes
    ----------
    name : str
        The name of the sweep.
    words : tuple of str
        Overrides of the sweep, such as ``workers=4``.
    evaluation : tuple of str
        Overrides of the evaluation, which replaces that of the runs.
    source : ConfigSource
    quiet : bool
    """

    name: str
    words: tuple[str, ...]
    evaluation: tuple[str, ...]
    source: ConfigSource
    quiet: bool = False

    @classmethod
    def make(
        cls, verb: str, runs: Sequence[StoredRun], words: Sequence[str], source: ConfigSource, *, quiet: bool
    ) -> HybridSweep:
        """Return the sweep of a verb about some runs, whose ids name it.

        Raises
        ------
        UserError
            A word belongs neither to the sweep nor to the evaluation.
        """
        evaluation = tuple(word for word in words if split_key(word)[0] == EVALUATION)
        others = tuple(word for word in words if word not in evaluation)
        for word in others:
            if split_key(word)[0] not in (*SWEEP_KEYS, "hydra") or "sweeper" in word:
                raise UserError(
                    f"{word} is no key of {verb}: hybrids take their keys from the runs. Keys of the sweep, such as "
                    "workers=2, and of the evaluation, such as evaluation=repeated_kfold, are allowed."
                )
        short_ids = [run.run_id[:SHORT_ID_LETTERS] for run in runs]
        return cls("-".join([verb, *short_ids]), others, evaluation, source, quiet)

    def evaluate(
        self, a: Variant, b: Variant, changes: Sequence[Change], hybrids: Sequence[Changes], store: Store, metric: str
    ) -> Evaluation | None:
        """Run the hybrids that are not done and read their scores; return None if only the plan was requested.

        Raises
        ------
        UserError
            A hybrid is invalid or failed; those that finished are kept.
        """
        jobs = make_jobs(a, b, changes, hybrids, self.name)
        words = (*self.words, f"hydra.sweep.dir={SWEEPS_FOLDER}/{self.name}")
        report = run_requested_sweep(SweepRequest(words, self.source, composed=jobs, quiet=self.quiet))
        if report.is_dry_run:
            return None
        done = {each.number: each.run_id for each in report.outcomes if each.kind in DONE_KINDS and each.run_id}
        for job in jobs:
            if job.number not in done:
                reason = next((each.reason for each in report.outcomes if each.number == job.number), "it was not run")
                raise UserError(
                    f"the hybrid {job.name!r} has no scores: {reason}. The hybrids that finished are kept; the same "
                    "command runs the others."
                )
        runs = read_stored_runs(store, [done[job.number] for job in jobs])
        scores = read_fold_scores(store, runs, metric)
        return Evaluation(dict(zip(hybrids, runs, strict=True)), dict(zip(hybrids, scores, strict=True)))


def make_jobs(a: Variant, b: Variant, changes: Sequence[Change], hybrids: Sequence[Changes], sweep: str) -> list[Job]:
    """Return a job for each hybrid of two configurations.

    Parameters
    ----------
    a, b : Variant
    changes : sequence of Change
        The changes from the first configuration to the second.
    hybrids : sequence of frozenset of int
        The numbers of the changes that each hybrid contains.
    sweep : str
        The name of the sweep.
    """
    varying = tuple(".".join(path) for change in changes for path in change.paths)
    jobs = []
    for number, chosen in enumerate(hybrids):
        variant = mix_variants(a, b, [changes[i] for i in sorted(chosen)])
        invocation = Invocation(variant.choices, varying, sweep, number, variant.overrides)
        jobs.append(Job(number, " ".join(variant.overrides), invocation, variant.spec))
    return jobs


def separate_changes(a: Variant, b: Variant, changes: Sequence[Change]) -> list[Change]:
    """Return the changes, of which those that are invalid without each other are joined.

    Raises
    ------
    UserError
        The configurations themselves are invalid here.
    """
    runner = JobRunner(tries_own_code=False)
    every = frozenset(range(len(changes)))
    invalid: dict[str, str] = {}
    for i, change in enumerate(changes):
        for job in make_jobs(a, b, changes, [frozenset([i]), every - {i}], ""):
            try:
                runner.check_job(runner.identify_job(job))
            except UserError as error:
                invalid[change.key] = str(error)
    if not invalid:
        return list(changes)
    if len(changes) == 1:
        raise UserError(f"the runs cannot be repeated here: {invalid[changes[0].key]}")
    keys = {change.key for change in changes}
    # Another learner is the usual reason why a change is invalid without another one.
    joined = {*invalid, LEARNER} & keys
    return separate_changes(a, b, join_changes(changes, joined if len(joined) > 1 else keys))


@dataclass(frozen=True)
class Evaluation:
    """Hybrids that were run.

    Attributes
    ----------
    runs : mapping of frozenset of int to StoredRun
        The changes in a hybrid -> its run.
    scores : mapping of frozenset of int to ndarray of shape (J,)
    """

    runs: Mapping[Changes, StoredRun]
    scores: Mapping[Changes, np.ndarray]

    @property
    def first(self) -> StoredRun:
        """The run without any change."""
        return self.runs[frozenset()]

    @property
    def last(self) -> StoredRun:
        """The run with the most changes."""
        return self.runs[max(self.runs, key=len)]

    @property
    def first_scores(self) -> np.ndarray:
        """The scores without any change, shape (J,)."""
        return self.scores[frozenset()]

    @property
    def last_scores(self) -> np.ndarray:
        """The scores with the most changes, shape (J,)."""
        return self.scores[max(self.scores, key=len)]

    @property
    def ratio(self) -> float:
        """The largest number of test rows per training row."""
        return find_ratio(list(self.runs.values()))


def have_same_splits(runs: Sequence[StoredRun]) -> bool:
    """Whether runs were scored on the same test rows in each fold."""
    return len({run.tags.get("splits_digest") for run in runs}) == 1


def read_fold_scores(store: Store, runs: Sequence[StoredRun], metric: str) -> list[np.ndarray]:
    """Return the scores of each run in each fold, shape (J,).

    Raises
    ------
    UserError
        A score is not defined in each fold.
    """
    series = read_series(store, runs, [metric])
    scores = [np.array(series[run.run_id].get(metric, ())) for run in runs]
    n_folds = max(map(len, scores))
    for run, values in zip(runs, scores, strict=True):
        if len(values) < n_folds or np.isnan(values).any() or not n_folds:
            raise UserError(
                f"{metric} of run {run.run_id} ({run.name}) is not defined in each fold, so no effects on it "
                "can be measured; name runs with another score in evaluation.metrics."
            )
    return scores


def find_ratio(runs: Sequence[StoredRun]) -> float:
    """Return the largest number of test rows per training row of some runs."""
    rows = [json.loads(run.tags["rows_per_fold"]) for run in runs]
    return max(float(each["test"]) / float(each["train"]) for each in rows)
