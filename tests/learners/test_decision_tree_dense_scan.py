"""A dense scan finds the cuts that are found among listed candidates, to the last bit."""

from typing import Any

import numpy as np
import pytest

from bakeoff.learners import DecisionTreeClassifier, DecisionTreeRegressor
from bakeoff.learners.trees.splitting import numeric
from bakeoff.learners.trees.tree import Tree

LIMITS: list[dict[str, Any]] = [{}, {"min_samples_leaf": 5}, {"min_weight_fraction_leaf": 0.03}, {"max_leaf_nodes": 9}]


def _make_table(seed: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of which some have many ties, one missing cells and one mirrors another; c = 0 is regression."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5))
    X[:, 1] = np.rint(3 * X[:, 1])
    X[:, 2] = rng.integers(0, 6, 300)
    X[:, 3] = -X[:, 0]
    X[rng.random(300) < 0.1, 4] = np.nan
    score = X[:, 0] + np.sin(X[:, 1]) + rng.normal(size=300)
    if c == 0:
        return X, score
    quantiles = np.quantile(score, np.arange(1, c) / c)
    return X, np.digitize(score, quantiles)


def _are_equal(one: Tree, other: Tree) -> bool:
    pairs = zip(vars(one).values(), vars(other).values(), strict=True)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs if isinstance(a, np.ndarray))


@pytest.mark.slow
@pytest.mark.parametrize("c", [0, 2, 3, 4, 11])
@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("weights", ["none", "whole", "fractions"])
def test_a_dense_scan_and_listed_cuts_give_one_tree(
    c: int, limit: dict[str, Any], weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        X, y = _make_table(seed, c)
        rng = np.random.default_rng(seed)
        sample_weight = {"none": None, "whole": rng.integers(1, 4, 300), "fractions": rng.random(300) + 0.1}[weights]
        learner = (DecisionTreeClassifier if c else DecisionTreeRegressor)(**limit)
        by_dense_scan = learner.fit(X, y, sample_weight).fitted_tree_
        with monkeypatch.context() as without_scan:
            without_scan.setattr(numeric, "MAX_CELLS_SCANNED", 0)
            without_scan.setattr(numeric, "MAX_POSITIONS_PER_CUT", 0)
            by_listing = learner.fit(X, y, sample_weight).fitted_tree_
        assert _are_equal(by_dense_scan, by_listing)
