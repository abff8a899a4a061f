"""The pairs of a dataset: Holm's correction for all of them, and when a comparison may stop.

With ``until=sure``, each pair is tested after each repeat of the folds, until it is decided.

A pair is decided if one configuration is better, by the corrected t-test, or if both are practically equal, by two
one-sided tests. Both are corrected for the looks (`bakeoff.pipeline.stages.tuning.race`) and then, by Holm's method,
for all pairs of the dataset. A decided pair keeps its p-values, so that further repeats of others cannot change them.

References
----------
Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 65-70.
Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for assessing the
equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import numpy as np

from bakeoff.pipeline.commands.significance.folds import CorrectedTTest, compute_corrected_t_test, compute_posterior
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model.row_report import adjust_by_holm
from bakeoff.pipeline.stages.tuning.race import Looks, correct_for_looks

TOLD_APART = "better"
EQUAL = "practically equal"
UNDECIDED = "undecided"
REPEATED_KEYS = ("evaluation.folds", "evaluation.repeats")
"""Keys of the evaluations to which repeats of all folds can be added."""


def require_repeats(evaluation: str, keys: Container[str]) -> None:
    """Reject an evaluation, given by its name and the keys of its job, whose folds cannot be repeated.

    Raises
    ------
    UserError
    """
    if not all(key in keys for key in REPEATED_KEYS):
        raise UserError(
            f"until=sure adds repeats of k folds, but evaluation={evaluation} has none; use evaluation=repeated_kfold, "
            "kfold or group_kfold, or leave out until=sure."
        )


def answer_pair(p_difference: float, p_equality: float, alpha: float) -> str:
    """Return `TOLD_APART`, `EQUAL` or `UNDECIDED` from p-values that are corrected for all pairs."""
    if p_difference <= alpha:
        return TOLD_APART
    return EQUAL if p_equality <= alpha else UNDECIDED


@dataclass(frozen=True)
class PairStop:
    """A pair at the look that decided it, or at its last one; without ``until=sure``, on all of its folds.

    Attributes
    ----------
    test : CorrectedTTest
        On the folds up to this look.
    p_difference : float
        Of the corrected t-test; corrected for the looks and for all pairs.
    repeats : int
        The number of repeats up to this look.
    answer : str
        `TOLD_APART`, `EQUAL` or `UNDECIDED`.
    """

    test: CorrectedTTest
    p_difference: float
    repeats: int = 0
    answer: str = ""


@dataclass(frozen=True)
class StopRule:
    """The looks at the pairs of a dataset.

    Attributes
    ----------
    folds : int
        The number of folds in a repeat, at least 2.
    repeats : int
        The largest number of repeats, each of which is followed by a look.
    alpha : float
    rope : float
        Half the width of the region of practical equivalence, in the unit of the score.
    """

    folds: int
    repeats: int
    alpha: float
    rope: float

    @property
    def looks(self) -> Looks:
        """The number of folds at each look."""
        return tuple(self.folds * (look + 1) for look in range(self.repeats))

    def stop_pairs(self, differences: Sequence[np.ndarray], ratios: Sequence[float]) -> list[PairStop]:
        """Test each pair after each repeat until it is decided, or has no further folds.

        Parameters
        ----------
        differences : sequence of ndarray of shape (J,)
            Of each pair, repeat by repeat; J may differ between pairs, and is at least `folds`.
        ratios : sequence of float
            n_test / n_train of each pair.
        """
        n_pairs = len(differences)
        tests: list[Any] = [None] * n_pairs
        repeats = [0] * n_pairs
        answers = [UNDECIDED] * n_pairs
        p = np.ones((n_pairs, 2))  # for the difference and for the equality
        adjusted = p
        for look, n_folds in enumerate(self.looks, start=1):
            for pair, (own, ratio) in enumerate(zip(differences, ratios, strict=True)):
                if answers[pair] == UNDECIDED and len(own) >= n_folds:
                    tests[pair] = compute_corrected_t_test(own[:n_folds], ratio, 1 - self.alpha)
                    p[pair] = self._compute_p_values(tests[pair], ratio)
                    repeats[pair] = look
            adjusted = np.column_stack([adjust_by_holm(column) for column in p.T])  # (n_pairs, 2)
            for pair, answer in enumerate(answers):
                if answer == UNDECIDED:
                    answers[pair] = answer_pair(adjusted[pair, 0], adjusted[pair, 1], self.alpha)
        return list(starmap(PairStop, zip(tests, adjusted[:, 0].tolist(), repeats, answers, strict=True)))

    def _compute_p_values(self, test: CorrectedTTest, ratio: float) -> np.ndarray:
        """Return the p-values of the difference and of the equality of a pair, corrected for all looks."""
        # A tail of the posterior is the p-value of the one-sided test whose limit is the border of the rope.
        posterior = compute_posterior(test, self.rope)
        p_values = np.array([test.p, max(posterior.better, posterior.worse)])
        return correct_for_looks(p_values, self.looks, ratio)


def adjust_p_values(p_values: Sequence[float]) -> np.ndarray:
    """Return p-values adjusted by Holm's method; NaN where there was no test."""
    adjusted = np.array(p_values, dtype=float)  # (m,)
    is_known = ~np.isnan(adjusted)  # (m,)
    adjusted[is_known] = adjust_by_holm(adjusted[is_known])
    return adjusted


def find_holm_levels(p_values: Sequence[float], alpha: float) -> np.ndarray:
    """Return the level at which Holm's procedure tests each of m p-values, from alpha / m to alpha for the largest."""
    levels = np.empty(len(p_values))  # (m,)
    levels[np.argsort(p_values, kind="stable")] = alpha / np.arange(len(p_values), 0, -1)
    return levels
