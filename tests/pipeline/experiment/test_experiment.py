"""The loop: one stage reads each part of the data, seeds are independent, and the run keeps the right model."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import Log, Recorder, RecordingStep, experiment, numbered
from joblib import cpu_count
from sklearn.ensemble import RandomForestClassifier

from bakeoff.learners import DecisionTreeClassifier
from bakeoff.pipeline.experiment import Experiment, FoldResult, evaluate_splits, fit_final_model, fit_model
from bakeoff.pipeline.experiment import loop as loop_module
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.experiment.loop import count_most_processes, limit_processes
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.pruning import Pruning
from bakeoff.pipeline.stages.splitting import Holdout, KFold, Split
from bakeoff.pipeline.stages.tuning import GridTuning


class Talkative(Recorder):
    """Warns twice on each fit, with the same message."""

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Talkative:
        for _ in range(2):
            warnings.warn("did not converge", RuntimeWarning, stacklevel=2)
        super().fit(X, y)
        return self


def loop(experiment: Experiment) -> list[FoldResult]:
    return list(evaluate_splits(experiment, experiment.make_splits().folds))


def recorded(**parts: Any) -> tuple[Experiment, Split, Log]:
    log = Log()
    built = experiment(learner=Recorder(log), preprocessing=RecordingStep(log), **parts)
    return built, built.make_splits().folds[0], log


# Each part of the data is read by one stage


def test_the_test_part_is_only_ever_predicted() -> None:
    built, split, log = recorded(
        tuning=GridTuning({"mark": [1, 2]}, folds=2), pruning=Pruning("best_first"), splitter=Holdout()
    )
    loop(built)
    test = set(split.test)
    assert all(deed == "predict" for deed, rows in log if test & set(rows))
    assert all(set(rows) == test for _, rows in log if test & set(rows))


def test_the_test_part_is_scored_once_and_once_more_before_a_cut() -> None:
    for parts, times in (({}, 1), ({"pruning": Pruning("best_first")}, 2)):
        built, split, log = recorded(**parts)
        loop(built)
        assert log.of("predict").count(split.test.tolist()) == times


def test_one_validation_row_serves_one_choice() -> None:
    built, split, log = recorded(tuning=GridTuning({"mark": [1, 2]}, folds=3), pruning=Pruning("bottom_up"))
    fit_model(built, split)
    while_tuning = log[: log.index(("fit 1", split.train.tolist()))]
    assert {row for _, rows in while_tuning for row in rows} == set(split.train)
    assert log.of("prune bottom_up") == [split.validation.tolist()]


def test_every_fold_starts_afresh_and_the_given_learner_stays_unfitted() -> None:
    built, _, log = recorded(splitter=KFold(folds=4))
    folds = loop(built)
    assert log.of("fit") == [fold.split.train.tolist() for fold in folds]
    assert not hasattr(built.learner, "classes_")
    assert len({id(fold.model.pipeline[-1]) for fold in folds}) == 4


# Folds


@pytest.mark.parametrize(
    ("splitter", "train_metrics", "scores"),
    [
        (Holdout(), "headline", "test_error test_accuracy validation_error validation_accuracy train_error"),
        (Holdout(), "all", "test_error test_accuracy validation_error validation_accuracy train_error train_accuracy"),
        (KFold(folds=4), "headline", "test_error test_accuracy train_error"),
    ],
)
def test_a_fold_tells_scores_of_each_part_that_has_rows_the_tests_first(
    splitter: Any, train_metrics: str, scores: str
) -> None:
    built = experiment(splitter=splitter, metrics=["error", "accuracy"], train_metrics=train_metrics)
    (fold, *_) = loop(built)
    assert [*fold.scores] == scores.split()
    assert fold.scores["test_accuracy"] == pytest.approx(1 - fold.scores["test_error"])
    assert fold.predictions.truth.tolist() == numbered().y[fold.split.test].tolist()


def test_warnings_are_gathered_once_each_and_do_not_escape() -> None:
    (fold,) = loop(experiment(learner=Talkative()))
    assert fold.model.warnings == ("did not converge",)


# The run's model


def test_under_holdout_the_model_is_the_one_that_was_scored() -> None:
    built, _, log = recorded()
    (fold,) = loop(built)
    log.clear()
    assert fit_final_model(built, built.make_splits(), fold) is fold.model
    assert log == []


def test_under_folds_the_whole_procedure_runs_once_more_on_all_rows() -> None:
    built, _, log = recorded(splitter=KFold(folds=4), tuning=GridTuning({"mark": [1, 2]}, folds=2))
    folds = loop(built)
    log.clear()
    model = fit_final_model(built, built.make_splits(), folds[-1])
    assert log[-2:] == [("prepare", list(range(40))), ("fit 1", list(range(40)))]
    assert len(log.of("fit 2")) == 2
    assert model.candidates is not None


def test_tuned_on_the_validation_part_the_final_model_leaves_that_part_out() -> None:
    built, _, log = recorded(splitter=KFold(folds=4, validation=0.25), tuning=GridTuning({"mark": [1, 2]}))
    folds = loop(built)
    log.clear()
    fit_final_model(built, built.make_splits(), folds[-1])
    (chosen_on,) = {tuple(rows) for rows in log.of("predict")}
    assert log[-1][0] == "fit 1"  # on the training rows alone
    assert sorted([*chosen_on, *log[-1][1]]) == list(range(40))


# Seeds


def test_the_seed_decides_splits_and_results() -> None:
    forest = RandomForestClassifier(5, random_state=0)
    wine = load_bundled("wine")
    first, again, other = (loop(experiment(wine, forest, seed=seed))[0] for seed in (1, 1, 2))
    assert first.scores == again.scores
    assert first.split.test.tolist() != other.split.test.tolist()


def test_axes_have_seeds_of_their_own() -> None:
    seeds = {derive_seed(seed, axis) for seed in range(50) for axis in ("split", "tuning")}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**31 for seed in seeds)


# Folds in several processes


@pytest.mark.slow
def test_folds_that_two_processes_share_are_those_of_one_in_the_same_order() -> None:
    built = experiment(load_bundled("iris"), learner=DecisionTreeClassifier(random_state=0), splitter=KFold(folds=4))
    one, two = loop(built), list(evaluate_splits(built, built.make_splits().folds, n_jobs=2))
    assert [fold.number for fold in two] == [0, 1, 2, 3]
    assert [fold.scores for fold in two] == [fold.scores for fold in one]
    for alone, shared in zip(one, two, strict=True):
        np.testing.assert_array_equal(alone.predictions.predicted, shared.predictions.predicted)
        np.testing.assert_array_equal(alone.split.test, shared.split.test)


def test_processes_are_at_most_as_many_as_tasks_and_eight_per_core() -> None:
    most = count_most_processes()
    assert [limit_processes(10**9, n_tasks) for n_tasks in (0, 3, 10**9)] == [1, 3, most]
    assert [limit_processes(-1, n_tasks) for n_tasks in (1, 10**9)] == [1, cpu_count()]


@pytest.mark.parametrize(("n_jobs", "n_rows", "n_processes"), [(-1, 150, []), (-1, 2000, [7]), (2, 150, [2])])
def test_one_process_per_core_is_started_only_for_splits_with_many_rows_and_at_most_one_for_each(
    monkeypatch: pytest.MonkeyPatch, n_jobs: int, n_rows: int, n_processes: list[int]
) -> None:
    class Parallel:
        def __init__(self, **settings: Any) -> None:
            started.append(settings["n_jobs"])

        def __call__(self, calls: Any) -> list[Any]:
            return [*calls]

    started: list[int] = []
    monkeypatch.setattr(loop_module, "Parallel", Parallel)
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: 64)
    monkeypatch.setattr(loop_module, "count_most_processes", lambda: 512)
    monkeypatch.setattr(loop_module, "evaluate_split", lambda experiment, number, split: number)
    built = experiment(load_bundled("iris"), splitter=KFold(folds=7))
    splits = [replace(split, train=np.arange(n_rows)) for split in built.make_splits().folds]
    assert len([*evaluate_splits(built, splits, n_jobs)]) == 7
    assert started == n_processes
