"""Columns of few values: counting rows by value grows the trees that sorting them grows, to the last bit."""

import numpy as np
import pytest

from bakeoff.learners import DecisionTreeClassifier
from bakeoff.learners.trees.rows import binning
from bakeoff.learners.trees.splitting import histogram
from bakeoff.learners.trees.tree import Tree

LIMITS = [{}, {"min_samples_leaf": 7}, {"min_weight_fraction_leaf": 0.02}, {"max_leaf_nodes": 9}]


def _table(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of columns with up to 19 values, up to 9 classes that depend on them, and whole weights."""
    rng = np.random.default_rng(seed)
    values, c, n = int(rng.integers(2, 20)), int(rng.integers(2, 10)), int(rng.integers(1280, 1500))
    whole = rng.integers(0, values, (n, 5)).astype(np.float64)
    X = whole if seed % 2 else (whole - 3.3) / 7.1
    y = np.where(rng.random(n) < 0.6, (whole[:, 1] + 2 * whole[:, 4]).astype(int) // 3 % c, rng.integers(0, c, n))
    y[:2] = 0, 1
    return X, y, rng.integers(1, 5, n).astype(np.float64)


def _same(one: Tree, other: Tree) -> bool:
    pairs = zip(vars(one).values(), vars(other).values(), strict=True)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs if isinstance(a, np.ndarray))


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "misclassification"])
@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_counted_and_sorted_rows_give_one_tree(
    criterion: str, limit: dict[str, float], weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(6):
        X, y, weight = _table(seed)
        learner, weight = DecisionTreeClassifier(criterion=criterion, **limit), weight if weighted else None
        counted = learner.fit(X, y, weight).tree_
        with monkeypatch.context() as without:
            without.setattr(binning, "MAX_BINS", 0)
            assert _same(counted, learner.fit(X, y, weight).tree_)


@pytest.mark.parametrize("missing", [False, True])
def test_rows_are_counted_where_values_are_few_and_known(missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[int] = []
    cuts = histogram.HistogramBlock.list_cuts
    monkeypatch.setattr(
        histogram.HistogramBlock, "list_cuts", lambda block, limits: levels.append(block.m) or cuts(block, limits)
    )
    X, y, _ = _table(2)
    X[0, 0] = np.nan if missing else X[0, 0]
    DecisionTreeClassifier().fit(X, y)
    assert bool(levels) is not missing
    many = np.column_stack([X, np.arange(len(X))])
    levels.clear()
    DecisionTreeClassifier().fit(many, y)
    assert not levels
