"""Names of a search and of a power, and predictions of the training rows from the others."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

from bakeoff.learners import KNeighborsClassifier

OTHER_WEIGHTS = np.array([1.0, 0.5, 2.0])


@pytest.mark.parametrize("algorithm", ["auto", "brute", "ball_tree"])
@pytest.mark.parametrize("metric", ["l2", "cityblock", "infinity", "p", "mahalanobis", "hamming"])
def test_a_ball_tree_is_a_name_for_a_search_of_the_same_neighbours(metric: str, algorithm: str) -> None:
    X, y = load_iris(return_X_y=True)
    expected = KNeighborsClassifier(metric=metric, algorithm="brute").fit(X, y).predict_proba(X + 0.1)
    ours = KNeighborsClassifier(metric=metric, algorithm=algorithm).fit(X, y)
    np.testing.assert_array_equal(ours.predict_proba(X + 0.1), expected)


def test_a_power_may_be_infinite_and_given_with_weights() -> None:
    X, y = load_iris(return_X_y=True)
    largest = KNeighborsClassifier(p=np.inf).fit(X, y)
    assert largest.effective_metric_ == "chebyshev"
    with pytest.warns(SyntaxWarning, match="p is found in metric_params"):
        squared = KNeighborsClassifier(metric_params={"p": 1, "w": [1, 2, 0, 1]}).fit(X, y)
    expected = cdist(X[:5], X, "minkowski", p=1, w=[1, 2, 0, 1])
    np.testing.assert_allclose(squared.kneighbors(X[:5])[0], np.sort(expected)[:, :5], atol=1e-12)
