"""Reports: means and deviations over folds, the headline first, sizes before and after pruning, and tables of rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import Recorder, experiment, numbered
from sklearn.naive_bayes import GaussianNB

from bakeoff import learners
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult, evaluate_splits, fit_final_model
from bakeoff.pipeline.stages.dataset import load_bundled, make_points
from bakeoff.pipeline.stages.pruning import Pruning
from bakeoff.pipeline.stages.splitting import KFold
from bakeoff.pipeline.stages.tuning import GridTuning
from bakeoff.pipeline.tracking.card import (
    describe_tuning,
    get_pruning_path,
    measure_fold,
    summarize_folds,
    write_tables,
)


def folds_of(built: Experiment) -> list[FoldResult]:
    return list(evaluate_splits(built, built.make_splits().folds))


def scored(*values: float) -> list[FoldResult]:
    """Return folds with these accuracies on test rows."""
    (fold, *_) = folds_of(experiment(metrics=["accuracy"]))
    return [replace(fold, number=number, scores={"test_accuracy": value}) for number, value in enumerate(values)]


@pytest.fixture
def everything() -> tuple[Experiment, list[FoldResult], FittedModel]:
    built = experiment(
        tuning=GridTuning({"mark": [2, 1]}, folds=2),
        pruning=Pruning("best_first"),
        splitter=KFold(folds=3, validation=0.2),
        metrics=["accuracy", "error"],
    )
    folds = folds_of(built)
    return built, folds, fit_final_model(built, built.make_splits(), folds[-1])


# Values


def test_a_fold_reports_scores_times_and_sizes_before_and_after_pruning(everything: Any) -> None:
    values = measure_fold(everything[1][0])
    assert next(iter(values)) == "test_accuracy"
    assert {"time/fit", "time/tune", "time/prune", "time/predict"} <= set(values)
    assert (values["pruning/leaves_before"], values["pruning/leaves_after"]) == (3.0, 1.0)
    assert (values["pruning/depth_before"], values["pruning/depth_after"]) == (2.0, 0.0)
    assert values["pruning/test_accuracy_before"] == pytest.approx(1 - values["pruning/test_accuracy_after"])
    assert values["pruning/test_accuracy_after"] == values["test_accuracy"]
    assert values["pruning/validation_accuracy_after"] == values["validation_accuracy"]


def test_a_summary_gives_mean_and_sample_deviation_the_headline_first() -> None:
    built = experiment(metrics=["accuracy"])
    values = summarize_folds(built, scored(0.5, 0.75, 1.0))
    assert list(values)[:2] == ["test_accuracy", "test_accuracy_std"]
    assert values["test_accuracy"] == 0.75
    assert values["test_accuracy_std"] == 0.25
    assert not any(name.startswith("time/") and name.endswith("_std") for name in values)
    assert "test_accuracy_std" not in summarize_folds(built, scored(0.5))


def test_a_score_not_defined_in_one_fold_has_no_mean() -> None:
    values = summarize_folds(experiment(metrics=["accuracy"]), scored(0.5, float("nan")))
    assert np.isnan(values["test_accuracy"])
    assert np.isnan(values["test_accuracy_std"])


def test_the_path_of_the_runs_model_is_a_series(everything: Any) -> None:
    path = get_pruning_path(everything[2])
    assert path["pruning_path/leaves"].tolist() == [3, 2, 1]
    assert path["pruning_path/validation_score"].tolist() == [0.25, 0.5, 0.75]
    assert path["pruning_path/depth"].tolist() == [2, 1, 0]


# Tables


def test_predictions_hold_each_test_row_with_its_fold_truth_and_probabilities(tmp_path: Path) -> None:
    iris = load_bundled("iris")
    built = experiment(iris, GaussianNB(), splitter=KFold(folds=3))
    folds = folds_of(built)
    write_tables(tmp_path, built, folds, fit_final_model(built, built.make_splits(), folds[-1]))
    table = pd.read_csv(tmp_path / "predictions.csv")
    assert sorted(table["row"]) == list(range(150))
    assert (table["truth"] == iris.y[table["row"]]).all()
    assert table.groupby("fold").size().tolist() == [50, 50, 50]
    probabilities = table[[f"probability_{label}" for label in iris.classes]]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (probabilities.idxmax(axis=1) == "probability_" + table["predicted"]).all()
    counts = pd.read_csv(tmp_path / "confusion_matrix.csv", index_col="truth")
    assert counts.to_numpy().sum() == 150
    assert counts.loc["setosa", "setosa"] == ((table["truth"] == "setosa") & (table["predicted"] == "setosa")).sum()
    assert not (tmp_path / "candidates.csv").exists()
    assert not (tmp_path / "pruning_path.csv").exists()
    assert not (tmp_path / "warnings.txt").exists()


def test_regression_has_predictions_and_no_confusion_matrix(tmp_path: Path) -> None:
    built = experiment(load_bundled("diabetes"), learners.MeanRegressor())
    folds = folds_of(built)
    write_tables(tmp_path, built, folds, folds[-1].model)
    assert list(pd.read_csv(tmp_path / "predictions.csv")) == ["row", "fold", "truth", "predicted"]
    assert not (tmp_path / "confusion_matrix.csv").exists()


def test_candidates_and_paths_are_told_for_each_fold_and_the_run_s_model(everything: Any, tmp_path: Path) -> None:
    write_tables(tmp_path, *everything)
    candidates = pd.read_csv(tmp_path / "candidates.csv")
    assert candidates["fold"].unique().tolist() == ["0", "1", "2", "all rows"]
    assert candidates["mark"].tolist() == [2, 1] * 4
    assert {"validation_score", "fit_seconds"} <= set(candidates)
    path = pd.read_csv(tmp_path / "pruning_path.csv")
    assert path["fold"].unique().tolist() == ["0", "1", "2", "all rows"]
    assert path[path["fold"] == "1"]["step"].tolist() == [0, 1, 2]


def test_a_model_that_was_scored_is_told_once(tmp_path: Path) -> None:
    built = experiment(pruning=Pruning("best_first"))
    folds = folds_of(built)
    write_tables(tmp_path, built, folds, fit_final_model(built, built.make_splits(), folds[-1]))
    assert pd.read_csv(tmp_path / "pruning_path.csv")["fold"].unique().tolist() == [0]


def test_warnings_are_written_once_each(tmp_path: Path) -> None:
    built = experiment(numbered(), Recorder())
    folds = [replace(fold, model=replace(fold.model, warnings=("b", "a"))) for fold in folds_of(built) * 2]
    write_tables(tmp_path, built, folds, folds[-1].model)
    assert (tmp_path / "warnings.txt").read_text() == "a\nb\n"


# Tuning


def test_the_choices_are_counted_in_a_sentence() -> None:
    tuning = GridTuning({"n_neighbors": [1, 5, 40], "weights": ["uniform", "distance"]}, folds=3)
    moons = make_points("moons", 200, 0.4, 0)
    built = experiment(moons, learners.KNeighborsClassifier(), tuning=tuning, splitter=KFold(folds=5))
    folds = folds_of(built)
    model = fit_final_model(built, built.make_splits(), folds[-1])
    chosen = [fold.model.pipeline[-1] for fold in folds]
    counts = Counter(f"n_neighbors={knn.n_neighbors}, weights={knn.weights}" for knn in chosen)
    (values, n_folds), *_ = counts.most_common()
    of_model, sentence = describe_tuning(folds, model)
    assert of_model.startswith(f"tuned on all rows: n_neighbors={model.pipeline[-1].n_neighbors}, weights=")
    assert sentence.startswith(f"tuned: {values} in {n_folds} of 5 folds")
