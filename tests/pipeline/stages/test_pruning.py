"""Pruning: uses validation rows only, reports scores before and after, and keeps the path of the cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from doubles import Log, Recorder, experiment, numbered
from sklearn.preprocessing import StandardScaler

from bakeoff.learners import DecisionTreeClassifier
from bakeoff.pipeline.experiment import evaluate_splits, fit_final_model, fit_model
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.preprocessing import make_preprocessing
from bakeoff.pipeline.stages.pruning import METHODS, Pruning
from bakeoff.pipeline.stages.splitting import Holdout, KFold

IRIS = load_bundled("iris")


@pytest.mark.parametrize("method", ["bottom_up", "best_first"])
def test_it_sees_validation_rows_and_their_targets_alone(method: str) -> None:
    log, data = Log(), numbered()
    held_out = experiment(data, Recorder(log), pruning=Pruning(method))
    (split,) = held_out.make_splits().folds
    model = fit_model(held_out, split)
    assert log.of(f"prune {method}") == [split.validation.tolist()]
    assert model.pipeline[-1].pruned_on_ == (split.validation.tolist(), data.y[split.validation].tolist())


def test_pessimistic_pruning_sees_no_rows_and_needs_none() -> None:
    log = Log()
    without = experiment(
        learner=Recorder(log),
        preprocessing=make_preprocessing([StandardScaler()]),
        pruning=Pruning("pessimistic"),
        splitter=Holdout(validation=0),
    )
    assert not without.pruning.needs_rows
    model = fit_model(without, without.make_splits().folds[0])
    assert log.of("prune pessimistic") == [[]]
    assert model.pipeline[-1].pruned_on_ is None


def test_the_final_model_of_folds_is_pruned_on_a_validation_part_of_its_own() -> None:
    log = Log()
    folded = experiment(learner=Recorder(log), pruning=Pruning("best_first"), splitter=KFold(folds=2, validation=0.2))
    folds = list(evaluate_splits(folded, folded.make_splits().folds))
    log.clear()
    fit_final_model(folded, folded.make_splits(), folds[-1])
    (trained,), (pruned,) = log.of("fit"), log.of("prune best_first")
    assert sorted(trained + pruned) == list(range(40))
    assert len(pruned) == 8


@pytest.mark.parametrize("method", METHODS)
def test_our_tree_keeps_the_contract(method: str) -> None:
    held_out = experiment(
        load_bundled("breast_cancer"), DecisionTreeClassifier(random_state=0), pruning=Pruning(method)
    )
    (fold,) = list(evaluate_splits(held_out, held_out.make_splits().folds))
    path: Any = fold.model.path
    assert len(path.leaves) == len(path.depth) == len(path.score)
    assert (np.diff(path.leaves) < 0).all()
    tree = fold.model.pipeline[-1]
    assert (path.leaves[-1], path.depth[-1]) == (tree.get_n_leaves(), tree.get_depth())
    if method != "pessimistic":
        assert path.score[0] == pytest.approx(fold.model.scores_before_pruning["validation"])
        assert path.score[-1] == pytest.approx(fold.scores["validation_accuracy"])


def test_confidence_reaches_the_learner() -> None:
    sizes = []
    for confidence in (0.001, 0.5):
        pruning = Pruning("pessimistic", confidence=confidence)
        chosen = experiment(
            IRIS, DecisionTreeClassifier(random_state=0), pruning=pruning, splitter=Holdout(validation=0)
        )
        sizes.append(fit_model(chosen, chosen.make_splits().folds[0]).pipeline[-1].get_n_leaves())
    assert sizes[0] < sizes[1]
