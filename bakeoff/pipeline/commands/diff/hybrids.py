"""Hybrids of two configurations, run as a sweep, with their scores in each fold."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.run_grid import SHORT_ID_LETTERS
from bakeoff.pipeline.commands.diff.changes import EVALUATION, LEARNER, Mixture, Variant, find_changes, join_changes
from bakeoff.pipeline.commands.diff.effects import Changes
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.config.words import SWEEP_KEYS, Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import FINISHED, SKIPPED, SWEEPS_FOLDER, Job
from bakeoff.pipeline.sweep.request import SweepRequest, run_requested_sweep
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, read_series, read_stored_runs

DONE_KINDS = (FINISHED, SKIPPED)


@dataclass(frozen=True)
class HybridSweep:
    """The sweep of hybrids that a command runs.

    Attributes
    ----------
    verb : str
    runs : sequence of StoredRun
        The runs whose ids name the sweep.
    words : sequence of str
        Overrides of the sweep, such as ``workers=4``, and of the evaluation, which replaces that of the runs.
    source : ConfigSource
    quiet : bool

    Raises
    ------
    UserError
        A word belongs neither to the sweep nor to the evaluation.
    """

    verb: str
    runs: Sequence[StoredRun]
    words: Sequence[str]
    source: ConfigSource
    quiet: bool

    def __post_init__(self) -> None:
        for word in self.words:
            if _find_part(word) not in (*SWEEP_KEYS, "hydra", EVALUATION) or "sweeper" in word:
                raise UserError(
                    f"{word} is no key of {self.verb}: hybrids take their keys from the runs. Keys of the sweep, such "
                    "as workers=2, and of the evaluation, such as evaluation=repeated_kfold, are allowed."
                )

    @property
    def evaluation(self) -> list[str]:
        """The overrides of the evaluation."""
        return [word for word in self.words if _find_part(word) == EVALUATION]

    def evaluate(
        self, mixture: Mixture, hybrids: Sequence[Changes], store: Store, metric: str
    ) -> tuple[list[StoredRun], np.ndarray] | None:
        """Run the hybrids that are not done; return None if only the plan was requested.

        Returns
        -------
        runs : list of StoredRun
            The run of each hybrid.
        scores : ndarray of shape (n_hybrids, J)

        Raises
        ------
        UserError
            A hybrid is invalid or failed; those that finished are kept.
        """
        name = "-".join([self.verb, *(run.run_id[:SHORT_ID_LETTERS] for run in self.runs)])
        jobs = make_jobs(mixture, hybrids, name)
        own_words = [word for word in self.words if word not in self.evaluation]
        words = (*own_words, f"hydra.sweep.dir={SWEEPS_FOLDER}/{name}")
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
        return runs, read_fold_scores(store, runs, metric)


def _find_part(word: str) -> str:
    """Return the first part of the key of an override."""
    return re.split("[.=@/]", word.lstrip("+~"))[0]


def make_jobs(mixture: Mixture, hybrids: Sequence[Changes], sweep: str) -> list[Job]:
    """Return a job for each hybrid of two configurations.

    Parameters
    ----------
    mixture : Mixture
    hybrids : sequence of frozenset of int
        The numbers of the changes that each hybrid contains.
    sweep : str
        The name of the sweep.
    """
    varying = tuple(".".join(path) for change in mixture.changes for path in change.paths)
    jobs = []
    for number, chosen in enumerate(hybrids):
        variant = mixture.make_hybrid(chosen)
        invocation = Invocation(variant.choices, varying, sweep, number, variant.overrides)
        jobs.append(Job(number, " ".join(variant.overrides), invocation, variant.spec))
    return jobs


def separate_changes(a: Variant, b: Variant) -> Mixture:
    """Return the changes between two configurations, of which those that are invalid without each other are joined.

    Raises
    ------
    UserError
        The configurations themselves are invalid here.
    """
    mixture = Mixture(a, b, find_changes(a, b))
    while invalid := _find_invalid(mixture):
        keys = {change.key for change in mixture.changes}
        if len(keys) == 1:
            raise UserError(f"the runs cannot be repeated here: {next(iter(invalid.values()))}")
        # Another learner is the usual reason why a change is invalid without another one.
        joined = {*invalid, LEARNER} & keys
        mixture = Mixture(a, b, join_changes(mixture.changes, joined if len(joined) > 1 else keys))
    return mixture


def _find_invalid(mixture: Mixture) -> dict[str, str]:
    """Return the changes that are invalid alone or without the others, each with the reason."""
    runner = JobRunner(tries_own_code=False)
    every = frozenset(range(len(mixture.changes)))
    invalid = {}
    for i, change in enumerate(mixture.changes):
        for job in make_jobs(mixture, [frozenset([i]), every - {i}], ""):
            try:
                runner.check_job(runner.identify_job(job))
            except UserError as error:
                invalid[change.key] = str(error)
    return invalid


def have_same_splits(runs: Sequence[StoredRun]) -> bool:
    """Whether runs were scored on the same test rows in each fold."""
    return len({run.tags.get("splits_digest") for run in runs}) == 1


def read_fold_scores(store: Store, runs: Sequence[StoredRun], metric: str) -> np.ndarray:
    """Return the scores of each run in each fold, shape (n_runs, J).

    Raises
    ------
    UserError
        A score is not defined in each fold.
    """
    series = read_series(store, runs, [metric])
    scores = pd.DataFrame([series[run.run_id].get(metric, ()) for run in runs])  # (n_runs, J)
    for run, is_missing in zip(runs, scores.isna().any(axis=1), strict=True):
        if is_missing or scores.empty:
            raise UserError(
                f"{metric} of run {run.run_id} ({run.name}) is not defined in each fold, so no effects on it can be "
                "measured; name runs with another score in evaluation.metrics."
            )
    return scores.to_numpy()


def find_ratio(runs: Sequence[StoredRun]) -> float:
    """Return the largest number of test rows per training row of some runs."""
    rows = [json.loads(run.tags["rows_per_fold"]) for run in runs]
    return max(float(each["test"]) / float(each["train"]) for each in rows)
