"""scikit-learn's own conformance suite over every learner and its other paths: no expected failures."""

from collections.abc import Callable

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from bakeoff.learners import REGISTRY, svm


# The checks fit noise, on which an iteration may rightly say that it has not ended.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([learner() for learner in REGISTRY.values()])
def test_every_learner_passes_scikit_learns_checks(
    estimator: BaseEstimator, check: Callable[[BaseEstimator], None]
) -> None:
    check(estimator)


@parametrize_with_checks(
    [svm.SVC(kernel="precomputed"), svm.SVC(kernel="linear"), svm.SVC(kernel="linear", multi_class="ovr")]
)
def test_every_setting_passes_scikit_learns_checks(estimator: svm.SVC, check: Callable[[svm.SVC], None]) -> None:
    check(estimator)
