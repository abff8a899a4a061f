"""scikit-learn's conformance suite over the settings of the support vector machine that take another path."""

from collections.abc import Callable

from sklearn.utils.estimator_checks import parametrize_with_checks

from bakeoff.learners import svm


@parametrize_with_checks(
    [svm.SVC(kernel="precomputed"), svm.SVC(kernel="linear"), svm.SVC(kernel="linear", multi_class="ovr")]
)
def test_every_setting_passes_scikit_learns_checks(estimator: svm.SVC, check: Callable[[svm.SVC], None]) -> None:
    check(estimator)
