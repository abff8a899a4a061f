"""When a comparison may stop: each pair is tested after each repeat of the folds, until it is decided.

A pair is decided if one configuration is better, by the corrected t-test, or if both are practically equal, by two
one-sided tests. Both are corrected for the looks (`bakeoff.pipeline.stages.tuning.looks`) and then, by Holm's method,
for all pairs of the dataset. A decided pair keeps its p-values, so that further repeats of others cannot change them.

References
----------
Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for assessing the
equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bakeoff.pipeline.comparison.fold_tests import CorrectedTTest, compute_corrected_t_test, compute_posterior
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model.row_report import adjust_by_holm
from bakeoff.pipeline.stages.tuning.looks import Looks, correct_for_looks

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


@dataclass(frozen=True)
class PairStop:
    """A pair at the look that decided it, or at its last one.

    Attributes
    ----------
    test : CorrectedTTest
        On the folds up to this look.
    repeats : int
        The number of repeats up to this look.
    p_difference, p_equality : float
        Of the corrected t-test, and the larger one of the two one-sided tests; corrected for the looks, and by
        `StopRule.stop_pairs` for all pairs.
    answer : str
        `TOLD_APART`, `EQUAL` or `UNDECIDED`.
    """

    test: CorrectedTTest
    repeats: int
    p_difference: float
    p_equality: float
    answer: str = UNDECIDED


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
        stops: list[PairStop] = []
        answers = [UNDECIDED] * len(differences)
        for look, n_folds in enumerate(self.looks, start=1):
            stops = [
                self._test_pair(own[:n_folds], look, ratio)
                if answers[pair] == UNDECIDED and len(own) >= n_folds
                else stops[pair]
                for pair, (own, ratio) in enumerate(zip(differences, ratios, strict=True))
            ]
            answers = [self._answer(each) if each.answer == UNDECIDED else each.answer for each in self._adjust(stops)]
            stops = [replace(each, answer=answer) for each, answer in zip(stops, answers, strict=True)]
        return self._adjust(stops)

    def _test_pair(self, differences: np.ndarray, look: int, ratio: float) -> PairStop:
        """Return the tests of a look, corrected for all looks but not for the other pairs."""
        test = compute_corrected_t_test(differences, ratio, 1 - self.alpha)
        # A tail of the posterior is the p-value of the one-sided test whose border is that of the rope.
        posterior = compute_posterior(test, self.rope)
        p_equality = max(posterior.better, posterior.worse)
        corrected = correct_for_looks(np.array([test.p, p_equality]), self.looks, ratio)
        return PairStop(test, look, *corrected.tolist())

    def _adjust(self, stops: Sequence[PairStop]) -> list[PairStop]:
        """Return the pairs with p-values corrected by Holm's method."""
        p_difference = adjust_by_holm(np.array([each.p_difference for each in stops])).tolist()
        p_equality = adjust_by_holm(np.array([each.p_equality for each in stops])).tolist()
        return [
            replace(each, p_difference=difference, p_equality=equality)
            for each, difference, equality in zip(stops, p_difference, p_equality, strict=True)
        ]

    def _answer(self, pair: PairStop) -> str:
        # A difference of 0 has no direction: neither configuration is better.
        if pair.p_difference <= self.alpha and pair.test.mean != 0:
            return TOLD_APART
        return EQUAL if pair.p_equality <= self.alpha else UNDECIDED
