"""Trees that grow in batches: neither batches nor processes nor the way of sorting change a tree."""

from typing import Any

import numpy as np
import pytest
from random_forests import (
    FOREST_CLASSES,
    NOMINAL_FEATURE,
    choose_target,
    list_fitted_bytes,
    make_forest,
    make_mixed_table,
)
from sklearn.datasets import load_wine

from bakeoff.learners import RandomForestClassifier, RandomForestRegressor
from bakeoff.learners.random_forest import batch_grower
from bakeoff.learners.trees import (
    CLASSIFICATION,
    REGRESSION,
    ClassTarget,
    Frontier,
    GrowthLimits,
    NumericTarget,
    Tree,
    grow_frontier,
)

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")


def test_trees_grown_together_are_the_trees_grown_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_wine(return_X_y=True)
    together = RandomForestClassifier(7, random_state=3).fit(X, y)
    monkeypatch.setattr("bakeoff.learners.random_forest.batch_grower.MAX_ROWS_PER_BATCH", 1)
    alone = RandomForestClassifier(7, random_state=3).fit(X, y)
    for one, other in zip(together.trees_, alone.trees_, strict=True):
        np.testing.assert_array_equal(one.feature, other.feature)
        np.testing.assert_array_equal(one.threshold, other.threshold)


@pytest.mark.slow
@pytest.mark.parametrize("forest_class", FOREST_CLASSES)
def test_any_number_of_processes_gives_the_same_forest(forest_class: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # A few trees in each batch, so that there are batches for several processes.
    monkeypatch.setattr("bakeoff.learners.random_forest.batch_grower.MAX_ROWS_PER_BATCH", 500)
    X, y, weight = make_mixed_table()
    y = y if forest_class is RandomForestRegressor else (y > 1).astype(int)
    one_process = make_forest(forest_class, {"oob_score": True}).fit(X, y, sample_weight=weight)
    for n_jobs in (2, -1):
        forest = make_forest(forest_class, {"oob_score": True, "n_jobs": n_jobs}).fit(X, y, sample_weight=weight)
        assert list_fitted_bytes(one_process) == list_fitted_bytes(forest)


KEYS_AND_ROUNDS = {
    "keys of 64 bits": {"MAX_SMALL_KEY": 0},
    "keys too wide to hold a row": {"MAX_KEY": 0},
    "one round of features after another": {"MAX_CELLS_COMPARED": 0},
}
"""For each way of searching, the constants of `frontier` that make every level take it."""


@pytest.mark.parametrize("changed", KEYS_AND_ROUNDS.values(), ids=KEYS_AND_ROUNDS)
@pytest.mark.parametrize("weights", ["whole", "fractions"])
@pytest.mark.parametrize("forest_class", FOREST_CLASSES)
def test_keys_of_any_width_and_rounds_of_features_give_the_same_trees(
    forest_class: Any, weights: str, changed: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 7)) * (rng.random((200, 7)) < 0.2)  # most drawn features are constant in small nodes
    y = rng.integers(0, 3, 200)
    weight = {"whole": rng.integers(1, 4, 200), "fractions": rng.random(200) + 0.1}[weights]
    # Without draws of rows, fractional weights enter the trees as they are.
    forest = forest_class(4, bootstrap=weights == "whole", max_features=2, random_state=0)
    expected = forest.fit(X, y, weight).trees_
    for name, value in changed.items():
        monkeypatch.setattr(f"bakeoff.learners.trees.frontier.{name}", value)
    for tree, same in zip(forest.fit(X, y, weight).trees_, expected, strict=True):
        for array, other in zip(vars(tree).values(), vars(same).values(), strict=True):
            np.testing.assert_array_equal(array, other)


def test_no_processes_at_all_are_rejected() -> None:
    with pytest.raises(ValueError, match="n_jobs=0 must be a positive number"):
        RandomForestClassifier(2, n_jobs=0).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("n_classes", [3, 12, None])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_sorted_at_each_level_give_the_tree_of_presorted_rows(n_classes: int | None, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(1500, 3)), rng.integers(0, 4, (1500, 2))])
    X[rng.random(1500) < 0.1, 0] = np.nan
    weight = rng.uniform(0.5, 2, 1500) if weighted else np.ones(1500)
    y = X[:, 1] + X[:, 3] + rng.normal(size=1500)
    target: ClassTarget | NumericTarget
    if n_classes is None:
        target = NumericTarget(y, weight)
        criterion = REGRESSION["squared_error"]
    else:
        target = ClassTarget(rng.integers(0, n_classes, 1500), weight, n_classes, "gini")
        criterion = CLASSIFICATION["gini"]
    limits = GrowthLimits(criterion, min_samples_leaf=2, multiway=weighted)
    n_values = np.array([0, 0, 0, 4, 4])

    def grow(*, draws_features: bool) -> Tree:
        frontier = Frontier.from_rows(X, n_values > 0, target, draws_features=draws_features)
        return grow_frontier(frontier, n_values, limits)[0]

    presorted = grow(draws_features=False)
    sorted_anew = grow(draws_features=True)
    assert presorted.node_count > 300
    for name, column in vars(presorted).items():
        np.testing.assert_allclose(column, getattr(sorted_anew, name), rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("forest_class", FOREST_CLASSES)
@pytest.mark.parametrize("nominal_splits", ["multiway", "binary"])
def test_values_that_are_counted_split_as_values_that_are_sorted(
    forest_class: Any, nominal_splits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, weight = make_mixed_table()
    X[:, :3] = np.nan_to_num(X[:, :3]).round()
    y = choose_target(forest_class, y)
    nominal = [0, 2, NOMINAL_FEATURE]
    forest = forest_class(
        9, categorical_features=nominal, nominal_splits=nominal_splits, max_features=2, random_state=0
    )
    counted = list_fitted_bytes(forest.fit(X, y, sample_weight=weight))
    monkeypatch.setattr("bakeoff.learners.trees.splitting.nominal.MAX_KEYS_PER_ROW", 0)
    assert list_fitted_bytes(forest.fit(X, y, sample_weight=weight)) == counted


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 1), (3, 3), (-1, 8), (-2, 7), (-8, 1), (-20, 1)])
def test_negative_numbers_of_processes_count_from_all_cores(
    n_jobs: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_grower, "_count_cores", lambda: 8)
    assert batch_grower.count_processes(n_jobs) == expected
