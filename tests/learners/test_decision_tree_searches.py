"""The ways of searching for splits grow the same trees, to the last bit."""

from typing import Any

import numpy as np
import pytest

from bakeoff.learners import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier
from bakeoff.learners.trees import grower, training_table
from bakeoff.learners.trees.splitting import bins, numeric
from bakeoff.learners.trees.splitting.bins import HistogramBlock
from bakeoff.learners.trees.splitting.splits import SplitRules
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
@pytest.mark.parametrize("c", [0, 3, 8, 11])
@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("weights", ["none", "whole", "fractions"])
def test_a_dense_scan_and_listed_cuts_give_one_tree(
    c: int, limit: dict[str, Any], weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(2):
        X, y = _make_table(seed, c)
        rng = np.random.default_rng(seed)
        sample_weight = {"none": None, "whole": rng.integers(1, 4, 300), "fractions": rng.random(300) + 0.1}[weights]
        learner = (DecisionTreeClassifier if c else DecisionTreeRegressor)(**limit)
        by_dense_scan = learner.fit(X, y, sample_weight).fitted_tree_
        with monkeypatch.context() as without_scan:
            without_scan.setattr(numeric, "MAX_POSITIONS_PER_CUT", 0)
            by_listing = learner.fit(X, y, sample_weight).fitted_tree_
        assert _are_equal(by_dense_scan, by_listing)


@pytest.mark.parametrize("c", [0, 2, 3, 4, 11])
@pytest.mark.parametrize("limit", [{}, {"min_samples_leaf": 5}, {"min_samples_split": 9, "max_depth": 4}], ids=str)
def test_a_small_complete_table_grows_the_tree_of_the_general_loop(
    c: int, limit: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        X, y = _make_table(seed, c)
        X[:, 4] = np.rint(4 * X[:, 0])
        X[:9] = X[0]  # equal rows of several classes, or with several targets, cannot be separated
        learner = (DecisionTreeClassifier if c else DecisionTreeRegressor)(**limit)
        dense = learner.fit(X, y).fitted_tree_
        with monkeypatch.context() as without_dense_growth:
            without_dense_growth.setattr(grower, "MAX_DENSE_SUMS", 0)
            general = learner.fit(X, y).fitted_tree_
        assert _are_equal(dense, general)


def _make_table_of_few_values(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of columns with up to 19 values, up to 9 classes that depend on them, and whole weights."""
    rng = np.random.default_rng(seed)
    n_values = int(rng.integers(2, 20))
    c = int(rng.integers(2, 10))
    n = int(rng.integers(1280, 1500))
    whole = rng.integers(0, n_values, (n, 5)).astype(np.float64)
    X = whole if seed % 2 else (whole - 3.3) / 7.1
    score = (whole[:, 1] + 2 * whole[:, 4]).astype(int) // 3
    y = np.where(rng.random(n) < 0.6, score % c, rng.integers(0, c, n))
    y[:2] = 0, 1
    weight = rng.integers(1, 5, n).astype(np.float64)
    return X, y, weight


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "misclassification"])
@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_histograms_and_sorted_rows_give_one_tree(
    criterion: Any, limit: dict[str, Any], weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grower, "MAX_DENSE_SUMS", 0)  # otherwise the smallest tables need neither
    for seed in range(2):
        X, y, weight = _make_table_of_few_values(seed)
        sample_weight = weight if weighted else None
        learner = DecisionTreeClassifier(criterion=criterion, **limit)
        by_histogram = learner.fit(X, y, sample_weight).fitted_tree_
        with monkeypatch.context() as without_bins:
            without_bins.setattr(training_table, "MAX_BINS", 0)
            by_sorting = learner.fit(X, y, sample_weight).fitted_tree_
        assert _are_equal(by_histogram, by_sorting)


@pytest.mark.parametrize("missing", [False, True])
def test_histograms_serve_columns_of_few_known_values(missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    n_nodes: list[int] = []
    list_cuts = HistogramBlock.list_cuts

    def list_and_count(block: HistogramBlock, rules: SplitRules) -> tuple[np.ndarray, np.ndarray]:
        n_nodes.append(block.m)
        return list_cuts(block, rules)

    monkeypatch.setattr(HistogramBlock, "list_cuts", list_and_count)
    monkeypatch.setattr(grower, "MAX_DENSE_SUMS", 0)
    X, y, _ = _make_table_of_few_values(2)
    if missing:
        X[0, 0] = np.nan
    DecisionTreeClassifier().fit(X, y)
    assert bool(n_nodes) is not missing

    n_nodes.clear()
    many_values = np.arange(len(X))
    DecisionTreeClassifier().fit(np.column_stack([X, many_values]), y)
    assert not n_nodes


@pytest.mark.parametrize("limit", [*LIMITS, {"bootstrap": False}], ids=str)
@pytest.mark.parametrize("n_values", [3, 30])
def test_squares_by_bin_and_histograms_give_one_forest(
    limit: dict[str, Any], n_values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(n_values)
    X = rng.integers(0, n_values, (7500, 6)) - 1.5
    y = (2 * (X[:, 0] + X[:, 1]) + rng.integers(0, 3, 7500)) % 21
    X[:4500] = -1.5
    y[:4500] = 0  # the squares of so many rows of a class do not fit into a word
    forest = RandomForestClassifier(1, random_state=0, **limit)
    monkeypatch.setattr(bins, "MAX_ROWS_PER_BIN", np.inf)  # also for a few large nodes
    by_squares = forest.fit(X, y).trees_
    monkeypatch.setattr(bins, "MIN_CLASSES_ADDED", np.inf)
    assert all(map(_are_equal, by_squares, forest.fit(X, y).trees_))
