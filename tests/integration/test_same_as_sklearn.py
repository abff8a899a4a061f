"""Fold by fold, k-NN and the tree score as scikit-learn's; behind each other answer the test finds a tie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn import neighbors, tree

from bakeoff import learners
from bakeoff.pipeline.experiment import Experiment, FoldResult, evaluate_splits
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.pruning import NoPruning
from bakeoff.pipeline.stages.scoring.choice import choose_metrics
from bakeoff.pipeline.stages.splitting import KFold
from bakeoff.pipeline.stages.tuning import NoTuning

SETS = ("iris", "wine", "breast_cancer", "digits", "diabetes")


def folds(name: str, learner: Any) -> list[FoldResult]:
    """Evaluate a learner on five folds of a bundled set."""
    data = load_bundled(name)
    metrics = choose_metrics(None, data.task, learner)
    experiment = Experiment(data, None, learner, NoTuning(), NoPruning(), KFold(folds=5), metrics, seed=0)
    return list(evaluate_splits(experiment, experiment.make_splits().folds))


def pairs(
    name: str, ours: Any, theirs: Any
) -> Iterator[tuple[FoldResult, FoldResult, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield both learners' folds, the training rows, the test rows, and which test rows they answer differently."""
    table = load_bundled(name).X.to_numpy()
    for one, two in zip(folds(name, ours), folds(name, theirs), strict=True):
        np.testing.assert_array_equal(one.split.test, two.split.test)
        apart = np.flatnonzero(~_same(one.predictions.predicted, two.predictions.predicted))
        if not apart.size:
            for metric in ("test_accuracy", "test_f1") if "test_accuracy" in one.scores else ("test_r2", "test_mae"):
                assert one.scores[metric] == pytest.approx(two.scores[metric], rel=1e-9)
        yield one, two, table[one.split.train], table[one.split.test], apart


def _same(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    return np.isclose(one, two, rtol=1e-9) if one.dtype.kind == "f" else one == two


@pytest.mark.parametrize("name", SETS)
def test_knn_differs_only_where_the_kth_distance_or_the_vote_is_tied(name: str) -> None:
    regression = name == "diabetes"
    ours = learners.KNeighborsRegressor() if regression else learners.KNeighborsClassifier()
    theirs = neighbors.KNeighborsRegressor() if regression else neighbors.KNeighborsClassifier()
    for _, _, train, test, apart in pairs(name, ours, theirs):
        for row in test[apart]:
            distance = np.sort(np.sqrt(((train - row) ** 2).sum(axis=1)))
            assert distance[4] == pytest.approx(distance[5], rel=1e-9)
    # A tie of votes is decided alike, for the smallest class, so it makes no difference.


@pytest.mark.parametrize("name", SETS)
def test_the_tree_differs_only_below_a_tie_or_at_a_value_equal_to_a_threshold(name: str) -> None:
    regression = name == "diabetes"
    ours = learners.DecisionTreeRegressor() if regression else learners.DecisionTreeClassifier()
    theirs = (tree.DecisionTreeRegressor if regression else tree.DecisionTreeClassifier)(random_state=0)
    answered = apart_in_all = 0
    for one, two, train, test, apart in pairs(name, ours, theirs):
        answered, apart_in_all = answered + len(test), apart_in_all + apart.size
        trees = one.model.pipeline[-1].fitted_tree_, two.model.pipeline[-1].tree_
        for row in test[apart]:
            assert _parting(*trees, train, row) in ("tie", "threshold")
    assert apart_in_all < answered if regression else apart_in_all < answered / 8


def _parting(ours: Any, theirs: Any, train: np.ndarray, row: np.ndarray) -> str:
    """Follow a row down both trees to where they part, and say why they do."""
    here = there = 0
    while ours.feature[here] >= 0 and theirs.children_left[there] >= 0:
        children, others = list(ours.children(here)), [theirs.children_left[there], theirs.children_right[there]]
        left = train[:, ours.feature[here]] < ours.threshold[here]
        left_there = train[:, theirs.feature[there]].astype(np.float32) <= theirs.threshold[there]
        if not np.array_equal(left, left_there) or ours.feature[here] != theirs.feature[there]:
            fall = ours.weighted_n_node_samples[children] @ ours.impurity[children]
            fall_there = theirs.weighted_n_node_samples[others] @ theirs.impurity[others]
            equal_to_a_threshold = np.isclose(train[:, ours.feature[here]], ours.threshold[here], rtol=1e-6).any()
            assert equal_to_a_threshold or fall == pytest.approx(fall_there, rel=1e-7, abs=1e-9)
            return "tie"
        right = int(row[ours.feature[here]] >= ours.threshold[here])
        right_there = int(np.float32(row[theirs.feature[there]]) > theirs.threshold[there])
        if right != right_there:
            assert row[ours.feature[here]] == pytest.approx(ours.threshold[here], rel=1e-6)
            return "threshold"
        train = train[left != bool(right)]
        here, there = children[right], others[right]
    return "nothing"
