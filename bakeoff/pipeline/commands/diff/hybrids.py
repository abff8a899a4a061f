"""Hybrids of two configurations, run as a sweep, with their scores in each fold.

The effects of several changes on a score, from the scores of hybrids in each fold.

Up to `MAX_EXACT` changes, all hybrids are evaluated, and the effect of a change is its Shapley value: the mean of its
contributions over all orders in which the changes can be made. Shapley values add up to the whole difference. With more
changes, the effect is the mean of adding the change to the first configuration and removing it from the second; the
remainder is due to interactions.

References
----------
Shapley, L. S. (1953). A value for n-person games. Contributions to the Theory of Games 2, 307-317.
Grabisch, M. and Roubens, M. (1999). An axiomatic approach to the concept of interaction among players in cooperative
games. International Journal of Game Theory 28, 547-565.
Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.analysis import adjust_p_values
from bakeoff.pipeline.commands.compare.hypothesis_tests import MAX_ROUNDING_UNITS, compute_corrected_t_test
from bakeoff.pipeline.commands.compare.run_grid import SHORT_ID_LETTERS
from bakeoff.pipeline.commands.diff.changes import EVALUATION, LEARNER, Mixture, Variant, find_changes, join_changes
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.config.words import SWEEP_KEYS, Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import FINISHED, SKIPPED, SWEEPS_FOLDER, Job
from bakeoff.pipeline.sweep.request import SweepRequest, run_requested_sweep
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, read_series, read_stored_runs

MAX_EXACT = 4
MIN_INTERACTION = 1e-12
"""A smaller interaction is a rounding error."""
Changes = frozenset[int]
"""The numbers of the changes that a hybrid contains."""
Scores = Mapping[Changes, np.ndarray]
"""Hybrid -> its scores, shape (J,)."""


@dataclass(frozen=True)
class Effect:
    """The effect of a change on the mean score over J folds.

    Attributes
    ----------
    mean : float
    low, high : float
        The confidence interval, corrected for overlapping training parts; NaN with a single fold.
    p_value : float
        The corrected resampled t-test, adjusted over all changes by Holm's method; NaN with a single fold.
    """

    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p_value: float = math.nan

    @property
    def is_tested(self) -> bool:
        """Whether there are several folds."""
        return not math.isnan(self.p_value)


def list_hybrids(k: int) -> list[Changes]:
    """Return the hybrids needed for the effects of k changes, from no change to all of them."""
    everything = range(k)
    if k <= MAX_EXACT:
        return [frozenset(chosen) for size in range(k + 1) for chosen in combinations(everything, size)]
    every = frozenset(everything)
    return [frozenset(), *(frozenset([i]) for i in everything), *(every - {i} for i in everything), every]


def compute_effects(scores: Scores, k: int) -> np.ndarray:
    """Return the effect of each change in each fold.

    Parameters
    ----------
    scores : mapping of frozenset to ndarray of shape (J,)
        The scores of the hybrids of `list_hybrids`.
    k : int

    Returns
    -------
    ndarray of shape (k, J)
    """
    if k <= MAX_EXACT:
        effects = np.array([_compute_shapley(scores, i, k) for i in range(k)])  # (k, J)
    else:
        every = frozenset(range(k))
        added = np.array([scores[frozenset([i])] - scores[frozenset()] for i in range(k)])  # (k, J)
        removed = np.array([scores[every] - scores[every - {i}] for i in range(k)])  # (k, J)
        effects = (added + removed) / 2
    largest = np.max(np.abs(list(scores.values())), axis=0)  # (J,)
    # A change without effect must not be tested on rounding errors.
    effects[np.abs(effects) <= MAX_ROUNDING_UNITS * np.spacing(largest)] = 0
    return effects


def _compute_shapley(scores: Scores, i: int, k: int) -> np.ndarray:
    """Return the Shapley value of a change in each fold: shape (J,)."""
    gains = [_weigh(len(rest), k) * (scores[rest | {i}] - scores[rest]) for rest in _list_subsets({*range(k)} - {i})]
    return np.sum(gains, axis=0)


def find_interactions(scores: Scores, effects: np.ndarray) -> dict[tuple[int, int], float]:
    """Return the mean interactions of pairs of changes that are larger than the effects of both.

    Parameters
    ----------
    scores : mapping of frozenset to ndarray of shape (J,)
    effects : ndarray of shape (k, J)

    Returns
    -------
    dict of (int, int) to float
        Pair -> the Shapley interaction index; empty if not all hybrids were evaluated.
    """
    k = len(effects)
    sizes = np.abs(effects.mean(axis=1))  # (k,)
    found: dict[tuple[int, int], float] = {}
    if k > MAX_EXACT:
        return found
    for i, j in combinations(range(k), 2):
        gains = [
            _weigh(len(others), k - 1)
            * (scores[others | {i, j}] - scores[others | {i}] - scores[others | {j}] + scores[others]).mean()
            for others in _list_subsets(set(range(k)) - {i, j})
        ]
        index = float(np.sum(gains))
        if abs(index) > max(sizes[i], sizes[j], MIN_INTERACTION):
            found[i, j] = index
    return found


def estimate_effects(effects: np.ndarray, ratio: float, alpha: float) -> list[Effect]:
    """Return the mean of each effect with its interval and test.

    Parameters
    ----------
    effects : ndarray of shape (k, J)
    ratio : float
        Test rows per training row.
    alpha : float
    """
    tests = [compute_corrected_t_test(values, ratio, 1 - alpha) for values in effects]
    adjusted = adjust_p_values([test.p for test in tests]).tolist()
    return [Effect(test.mean, test.lower, test.upper, p) for test, p in zip(tests, adjusted, strict=True)]


def _weigh(n_before: int, k: int) -> float:
    """Return the share of the orders of k changes in which a given set of them comes before a given other one."""
    return math.factorial(n_before) * math.factorial(k - n_before - 1) / math.factorial(k)


def _list_subsets(numbers: set[int]) -> Iterator[Changes]:
    for size in range(len(numbers) + 1):
        yield from map(frozenset, combinations(sorted(numbers), size))


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
