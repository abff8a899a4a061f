"""The Bayesian correlated t-test: how probable it is that a learner is worse, equivalent, or better.

The posterior of the mean difference of J correlated folds is Student's t with J - 1 degrees of freedom, the mean of the
differences as its location, and the squared scale ``(1 / J + rho / (1 - rho)) * variance``. The correlation rho is
``n_test / (n_train + n_test)``, so that ``rho / (1 - rho)`` is ``n_test / n_train`` and the scale is the corrected
standard error of `resampled`.

The package baycomp computes the same posterior, but for ``n_test / n_train = 1 / (k - 1)`` only, which is wrong for
holdout, bootstrap and folds with a validation part. The closed form serves all of them, so there is one path and no
need of the package; the tests compare it with baycomp's where both apply. With a rope of 0, baycomp reports two
probabilities and gives half of an exact tie to each; here a tie is equivalent.

Over several datasets, baycomp's signed-rank test is offered. Its hierarchical test is left out: it needs Stan.

References
----------
Corani, G. and Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms on multiple data sets.
Machine Learning 100, 285-304.
Benavoli, A., Corani, G., Demšar, J. and Zaffalon, M. (2017). Time for a change: a tutorial for comparing multiple
classifiers through Bayesian analysis. Journal of Machine Learning Research 18(77), 1-36.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from bakeoff.pipeline.comparison.statistics.extra import import_extra
from bakeoff.pipeline.comparison.statistics.resampled import estimate_mean, subtract_scores

SIGNED_RANK_SAMPLES = 50_000
"""Samples of the signed-rank posterior: baycomp's default. A probability is known to about ± 0.004."""


@dataclass(frozen=True)
class Posterior:
    """The posterior probabilities of a difference, against a region of practical equivalence (rope).

    Parameters
    ----------
    worse, equivalent, better : float
        Their sum is 1; NaN where there is no posterior.
    rope : float
        Differences from -rope to rope are equivalent, in units of the score.
    location, scale : float
        Of Student's t of the mean difference; NaN for the signed-rank test, whose posterior is a sample.
    degrees_of_freedom : int
        Of Student's t; 0 for the signed-rank test.
    is_degenerate : bool
        Whether all differences are equal, so that the posterior is one point.
    problem : str
        Why there is no posterior; empty if there is one.
    """

    worse: float
    equivalent: float
    better: float
    rope: float
    location: float
    scale: float
    degrees_of_freedom: int
    is_degenerate: bool
    problem: str

    def get_verdict(self, threshold: float = 0.95) -> str:
        """Return "worse", "equivalent" or "better" if its probability is at least the threshold, else ""."""
        probabilities = {"worse": self.worse, "equivalent": self.equivalent, "better": self.better}
        likely = [word for word, probability in probabilities.items() if probability >= threshold]
        return likely[0] if likely else ""


def compute_posterior(
    differences: np.ndarray, ratio: float, rope: float = 0.0, greater_is_better: bool = True
) -> Posterior:
    """Compute the posterior of the mean difference on one dataset by the Bayesian correlated t-test.

    Parameters
    ----------
    differences : ndarray of shape (J,)
        Score minus the base's score, of every fold.
    ratio : float
        Test rows per training row, n_test / n_train.
    rope : float, default 0
        Half the width of the region of practical equivalence, in units of the score.
    greater_is_better : bool, default True
        False for errors: a negative difference is then better.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError
        If the rope is negative, or as `estimate_mean`.

    References
    ----------
    Corani and Benavoli (2015), equation 8; Benavoli et al. (2017), section 4.1.
    """
    _check_rope(rope)
    estimate = estimate_mean(differences, ratio)
    if estimate.problem:
        nan = float("nan")
        return Posterior(nan, nan, nan, rope, estimate.mean, nan, 0, False, estimate.problem)

    location = estimate.mean
    scale = estimate.standard_error
    df = estimate.degrees_of_freedom
    if estimate.is_degenerate:
        below = float(location < -rope)
        above = float(location > rope)
    else:
        below = float(stats.t.cdf(-rope, df, location, scale))
        above = float(stats.t.sf(rope, df, location, scale))
    equivalent = max(0.0, 1 - below - above)
    if not greater_is_better:
        return Posterior(above, equivalent, below, rope, location, scale, df, estimate.is_degenerate, "")
    return Posterior(below, equivalent, above, rope, location, scale, df, estimate.is_degenerate, "")


def compute_signed_rank_posterior(
    scores: np.ndarray,
    base_scores: np.ndarray,
    rope: float = 0.0,
    greater_is_better: bool = True,
    seed: int = 0,
) -> Posterior:
    """Compute posterior probabilities over several datasets by baycomp's Bayesian signed-rank test.

    The probabilities are fractions of samples of a Dirichlet process, so that their last digits depend on the seed.

    Parameters
    ----------
    scores, base_scores : ndarray of shape (N,)
        Mean scores on the same N datasets.
    rope : float, default 0
        Half the width of the region of practical equivalence, in units of the score.
    greater_is_better : bool, default True
    seed : int, default 0

    Returns
    -------
    Posterior
        Its location is the mean difference.

    Raises
    ------
    UserError
        If baycomp is not installed.
    ValueError
        If the rope is negative, the shapes differ, or a score is not finite.

    References
    ----------
    Benavoli, A., Corani, G., Mangili, F., Zaffalon, M. and Ruggeri, F. (2014). A Bayesian Wilcoxon signed-rank test
    based on the Dirichlet process. ICML 2014, 1026-1034.
    """
    _check_rope(rope)
    baycomp = import_extra("baycomp", "The Bayesian signed-rank test")
    differences = subtract_scores(scores, base_scores)  # (N,)
    location = float(np.mean(differences))
    # On ties alone, baycomp's answer without a rope depends on rounding.
    if not np.any(differences):
        return Posterior(0.0, 1.0, 0.0, rope, location, float("nan"), 0, True, "")
    probabilities = baycomp.SignedRankTest.probs(
        np.zeros_like(differences), differences, rope, nsamples=SIGNED_RANK_SAMPLES, random_state=seed
    )
    below = float(probabilities[0])
    above = float(probabilities[-1])
    equivalent = max(0.0, 1 - below - above)
    nan = float("nan")
    if not greater_is_better:
        return Posterior(above, equivalent, below, rope, location, nan, 0, False, "")
    return Posterior(below, equivalent, above, rope, location, nan, 0, False, "")


def _check_rope(rope: float) -> None:
    """Raise ValueError if a rope is negative or not finite."""
    if not 0 <= rope < np.inf:
        raise ValueError(f"rope={rope}: a finite half-width, 0 or more, is allowed")
