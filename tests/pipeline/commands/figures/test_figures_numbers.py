"""The numbers in figures are those of the learner, of scikit-learn, and of the run with all its stages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import experiment as make_experiment
from doubles import preset
from finished_runs import finish, read_texts
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, get_scorer, roc_auc_score, root_mean_squared_error
from sklearn.model_selection import learning_curve
from sklearn.svm import SVC

from bakeoff import learners
from bakeoff.pipeline.commands.drawing.panels import make_panels
from bakeoff.pipeline.commands.figures import classification, curves, importances
from bakeoff.pipeline.commands.figures.classification import ThresholdCurves, rank_folds
from bakeoff.pipeline.commands.figures.curves import order_rows
from bakeoff.pipeline.commands.figures.run_figure import FinishedRun
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.stages.balance import ClassWeights
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.stages.dataset import Dataset, load_bundled, load_lecture_table, make_points
from bakeoff.pipeline.stages.pruning import Pruning
from bakeoff.pipeline.stages.splitting import Holdout, KFold, TimeSeries
from bakeoff.pipeline.stages.target import TransformedTarget, make_function
from bakeoff.pipeline.stages.threshold import GivenThreshold
from bakeoff.pipeline.stages.tuning import GridTuning
from bakeoff.pipeline.text.wording import format_mean, format_score

IRIS = load_bundled("iris")
CANCER = load_bundled("breast_cancer")
DIABETES = load_bundled("diabetes")
MORTGAGE = load_lecture_table("mortgage", "decision", positive="Approve")
MOONS = make_points("moons", 200, 0.4, 0)
BAYES = learners.NaiveBayesClassifier()
FOLDS = KFold(folds=4)


# ROC and precision-recall


def compute_areas(figure: ThresholdCurves, run: FinishedRun, label: object) -> list[float]:
    """Return the areas under the curves that are drawn for a class."""
    _, (axes,) = make_panels(width=4, height=4)
    return figure.draw_curves(axes, rank_folds(run, label))


@pytest.mark.parametrize(
    ("dataset", "learner"),
    [
        (CANCER, BAYES),
        (IRIS, BAYES),
        *((replace(MOONS, positive=label), learners.SVC()) for label in MOONS.classes),
    ],
    ids=["two classes", "three classes", "decision values", "decision values of the other class"],
)
def test_the_areas_of_the_positive_class_or_their_mean_over_classes_are_the_runs_auc(
    dataset: Dataset, learner: Any
) -> None:
    run = finish(make_experiment(dataset, learner, splitter=FOLDS))
    labels = dataset.classes if dataset.positive is None else [dataset.positive]
    areas = [compute_areas(classification.RocCurves(), run, label) for label in labels]
    assert np.mean(areas, axis=0) == pytest.approx([fold.scores["test_roc_auc"] for fold in run.folds])


def test_the_areas_of_precision_and_recall_are_scikit_learns() -> None:
    run = finish(make_experiment(CANCER, BAYES, splitter=FOLDS))
    code = list(CANCER.classes).index(CANCER.positive)
    expected = [
        average_precision_score(fold.predictions.truth == CANCER.positive, table[:, code])
        for fold in run.folds
        if (table := fold.predictions.probabilities) is not None
    ]
    assert compute_areas(classification.PrecisionRecallCurves(), run, CANCER.positive) == pytest.approx(expected)
    assert len(expected) == 4
    mean, deviation = np.mean(expected), np.std(expected, ddof=1)
    assert f"AP {format_mean(mean, deviation)}" in read_texts(classification.PrecisionRecallCurves().draw(run))


def test_decision_values_of_more_classes_rank_each_against_the_rest() -> None:
    run = finish(make_experiment(IRIS, SVC(kernel="linear"), splitter=FOLDS))
    expected = [
        roc_auc_score(
            fold.predictions.truth == "versicolor",
            fold.model.pipeline.decision_function(IRIS.X.iloc[fold.split.test])[:, 1],
        )
        for fold in run.folds
    ]
    assert compute_areas(classification.RocCurves(), run, "versicolor") == pytest.approx(expected)


def test_folds_without_the_class_do_not_count_and_the_figure_reports_it() -> None:
    rare = np.where(np.arange(150) == 7, "rare", IRIS.y)
    dataset = replace(IRIS, y=rare)
    run = finish(make_experiment(dataset, BAYES, splitter=KFold(folds=3, stratify=False)))
    assert len(compute_areas(classification.RocCurves(), run, "rare")) == 1
    assert "1 of 3 folds" in read_texts(classification.RocCurves().draw(run))


# Calibration


@pytest.mark.parametrize("dataset", [IRIS, CANCER], ids=["three classes", "two classes"])
def test_the_positive_class_of_two_or_each_class_has_a_calibration_curve(dataset: Dataset) -> None:
    run = finish(make_experiment(dataset, BAYES, splitter=FOLDS))
    figure = classification.Reliability().draw(run)
    labels = dataset.classes if dataset.positive is None else [dataset.positive]
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(labels)
    for axes in figure.axes:
        bars: list[Any] = list(axes.patches)
        assert sum(bar.get_height() for bar in bars) == pytest.approx(1)


# Importances


def test_permutation_importances_are_scikit_learns_over_the_folds() -> None:
    run = finish(make_experiment(IRIS, learners.DecisionTreeClassifier(max_depth=2), splitter=KFold(folds=3)))
    table = importances.Importances(repeats=3).measure(run)
    expected = []
    for fold in run.folds:
        result = permutation_importance(
            fold.model.pipeline,
            IRIS.X.iloc[fold.split.test],
            IRIS.y[fold.split.test],
            scoring=get_scorer("accuracy"),
            n_repeats=3,
            random_state=derive_seed(0, "importances") + fold.number,
        )
        expected.append(result.importances_mean)
    assert table["column"].tolist() == list(IRIS.X.columns)
    assert table["mean"].to_numpy() == pytest.approx(np.mean(expected, axis=0))
    assert table["std"].to_numpy() == pytest.approx(np.std(expected, axis=0, ddof=1))


def test_an_error_that_rises_is_an_importance_above_zero() -> None:
    run = finish(make_experiment(DIABETES, learners.Ridge(), metrics=["rmse"]))
    table = importances.Importances(repeats=2).measure(run)
    assert float(table["mean"][table["column"] == "bmi"].max()) > 1
    assert "rise in rmse on test rows" in read_texts(importances.Importances(repeats=1).draw(run))


# Learning and validation curves


def test_a_learning_curve_is_scikit_learns_on_the_same_rows() -> None:
    run = finish(make_experiment(IRIS, LogisticRegression(C=0.1), splitter=FOLDS))
    table = curves.LearningCurve(sizes=[0.2, 0.5, 1.0]).measure(run)
    cv = [(order_rows(run.experiment, fold), fold.split.test) for fold in run.folds]
    sizes = sorted(set(table["rows"]) - {112, 113})
    _, training, test = learning_curve(LogisticRegression(C=0.1), IRIS.X, IRIS.y, cv=cv, train_sizes=sizes)
    below = table[table["rows"] < 112]
    for row, size in enumerate(sizes):
        of_size = below[below["rows"] == size]
        # scikit-learn fits on the rows in the order of the part, the run in that of the dataset.
        folds = of_size["fold"].to_numpy()
        np.testing.assert_allclose(of_size["train"], training[row, folds], atol=1e-12)
        np.testing.assert_allclose(of_size["test"], test[row, folds], atol=1e-12)
    whole = table[table["size"] == 1.0]
    assert whole["test"].tolist() == [fold.scores["test_accuracy"] for fold in run.folds]


def test_parts_are_nested_and_hold_each_class_in_proportion() -> None:
    run = finish(make_experiment(IRIS, BAYES, splitter=FOLDS))
    ordered = order_rows(run.experiment, run.folds[0])
    assert sorted(ordered) == run.folds[0].split.train.tolist()
    for n_rows in (9, 30, 60):
        counts = np.unique(IRIS.y[ordered[:n_rows]], return_counts=True)[1]
        assert counts.tolist() == pytest.approx([n_rows / 3] * 3, abs=1)


def test_parts_of_rows_in_chronological_order_are_the_latest() -> None:
    run = finish(make_experiment(MOONS, BAYES, splitter=TimeSeries(folds=3)))
    fold = run.folds[1]
    assert order_rows(run.experiment, fold)[:5].tolist() == fold.split.train[-5:][::-1].tolist()


def test_a_part_that_the_learner_cannot_fit_has_no_score_and_the_figure_says_why() -> None:
    parts: dict[str, Any] = {"preprocessing": preset("one_hot"), "splitter": KFold(folds=2)}
    run = finish(make_experiment(MORTGAGE, learners.LogisticRegression(), **parts))
    curve = curves.LearningCurve(sizes=[0.1, 1.0])
    table = curve.measure(run)
    assert table["test"].isna().tolist() == [True, True, False, False]
    assert "at least two classes" in table["reason"][0]
    curve.draw_table(run, table)


def test_a_learning_curve_repeats_tuning_and_pruning_and_never_fits_on_test_rows() -> None:
    tree = learners.DecisionTreeClassifier()
    parts: dict[str, Any] = {"pruning": Pruning("best_first"), "splitter": Holdout()}
    run = finish(make_experiment(MOONS, tree, **parts))
    table = curves.LearningCurve(sizes=[0.5, 1.0]).measure(run)
    half = order_rows(run.experiment, run.folds[0])[: table["rows"][0]]
    X, y = MOONS.X, MOONS.y
    split = run.folds[0].split
    grown = learners.DecisionTreeClassifier(random_state=tree.random_state).fit(X.iloc[np.sort(half)], y[np.sort(half)])
    grown.prune(X.iloc[split.validation], y[split.validation], method="best_first")
    assert table["test"][0] == grown.score(X.iloc[split.test], y[split.test])
    assert not set(half) & set(split.test)


def test_the_validation_curve_takes_the_first_parameter_of_the_space_that_has_numbers() -> None:
    experiment = make_experiment(MOONS, learners.DecisionTreeClassifier())
    criteria = ["gini", "entropy"]
    space = {"criterion": criteria, "max_depth": [2, 4, None], "min_samples_leaf": [1, 5]}
    assert curves.ValidationCurve(space=space).choose_values(experiment) == ("max_depth", [2, 4, None])
    for curve in ({"space": space, "parameter": "criterion"}, {"space": [{"criterion": criteria}]}):
        assert curves.ValidationCurve(**curve).choose_values(experiment) == ("criterion", criteria)
    tuned = replace(experiment, tuning=GridTuning({"max_depth": [1, 9]}))
    assert curves.ValidationCurve().choose_values(tuned) == ("max_depth", [1, 9])
    with pytest.raises(UserError, match="no values of max_leaf_nodes"):
        curves.ValidationCurve(space=space, parameter="max_leaf_nodes").choose_values(experiment)


def test_the_band_is_the_standard_deviation_that_the_run_stores(tmp_path: Path) -> None:
    run = finish(make_experiment(MOONS, learners.KNeighborsClassifier(n_neighbors=5), splitter=FOLDS))
    curve = curves.ValidationCurve(parameter="n_neighbors", values=[5])
    curve.save(tmp_path, run.experiment, run.folds, run.model)
    table = pd.read_csv(tmp_path / "validation_curve.csv")
    scores = [fold.scores["test_accuracy"] for fold in run.folds]
    assert table["test"].to_numpy() == pytest.approx(scores)
    axes: Any = curve.draw(run).axes[0]
    low, high = axes.collections[1].get_datalim(axes.transData).intervaly
    assert (high - low) / 2 == pytest.approx(np.std(scores, ddof=1))


def test_where_a_run_is_tuned_no_fold_is_scored_with_what_its_test_rows_have_chosen() -> None:
    tuning = GridTuning({"n_neighbors": [1, 15], "weights": ["uniform", "distance"]}, folds=2)
    run = finish(make_experiment(MOONS, learners.KNeighborsClassifier(), tuning=tuning, splitter=KFold(folds=6)))
    test = run.compute_validation_curve("n_neighbors", [15])["test"]
    chosen = [fold.model.pipeline[-1].weights for fold in run.folds]
    assert len(set(chosen)) == 2  # otherwise this test shows nothing
    for number, fold in enumerate(run.folds):
        own = learners.KNeighborsClassifier(n_neighbors=15, weights=chosen[number])
        own.fit(MOONS.X.iloc[fold.split.train], MOONS.y[fold.split.train])
        assert test[number] == own.score(MOONS.X.iloc[fold.split.test], MOONS.y[fold.split.test])


# Tuning and pruning


@pytest.fixture(scope="module")
def tuned() -> FinishedRun:
    tuning = GridTuning({"n_neighbors": [1, 5, 40], "weights": ["uniform", "distance"]}, folds=3)
    return finish(make_experiment(MOONS, learners.KNeighborsClassifier(), tuning=tuning, splitter=KFold(folds=5)))


def test_the_chosen_candidate_is_marked_at_its_values_and_score(tuned: FinishedRun) -> None:
    figure = curves.Candidates().draw(tuned)
    learner: Any = tuned.model.pipeline[-1]
    assert tuned.model.candidates is not None
    best = tuned.model.candidates["validation_score"].max()
    axes: Any = next(axes for axes in figure.axes if axes.get_xlabel() == "n neighbors")
    candidates, star = axes.lines
    assert [*star.get_xdata(), *star.get_ydata()] == pytest.approx([learner.n_neighbors, best])
    assert len(candidates.get_xdata()) == 6


# Regression


def test_residuals_are_those_of_the_test_rows_of_all_folds() -> None:
    run = finish(make_experiment(DIABETES, learners.LinearRegression(), splitter=FOLDS))
    panels: list[Any] = curves.Residuals().draw(run).axes
    left, right = panels
    drawn = left.collections[0].get_offsets()
    truth = np.concatenate([DIABETES.y[fold.split.test] for fold in run.folds])
    assert sorted(drawn[:, 1]) == pytest.approx(sorted(truth))
    residuals = truth - np.concatenate([fold.predictions.predicted for fold in run.folds])
    assert f"standard deviation {format_score(residuals.std(ddof=1))}" in read_texts(right)


# Weights, transformed targets, calibration and thresholds

LOG = TransformedTarget(make_function("log"))


def weighted_diabetes() -> Any:
    return replace(DIABETES, weights=np.random.default_rng(0).uniform(0.1, 2, len(DIABETES.y)))


def test_a_validation_curve_has_the_weighted_errors_in_the_units_of_the_target() -> None:
    data = weighted_diabetes()
    run = finish(
        make_experiment(data, learners.KNeighborsRegressor(), target=LOG, metrics=["rmse"], splitter=KFold(folds=2))
    )
    table = run.compute_validation_curve("n_neighbors", [1, 9])
    training, test = table[["train", "test"]].to_numpy().T.reshape(2, 2, 2)  # (part, value, fold)
    assert data.weights is not None
    for number, fold in enumerate(run.folds):
        rows = fold.split.train
        for position, k in enumerate([1, 9]):
            own = learners.KNeighborsRegressor(n_neighbors=k)
            own.fit(data.X.iloc[rows], np.log(data.y[rows]), sample_weight=data.weights[rows])
            for part, scores in ((rows, training), (fold.split.test, test)):
                predicted = np.exp(own.predict(data.X.iloc[part]))
                expected = root_mean_squared_error(data.y[part], predicted, sample_weight=data.weights[part])
                assert scores[position, number] == pytest.approx(expected)


def test_a_variant_predicts_in_the_units_of_the_target_and_its_learner_does_not() -> None:
    run = finish(make_experiment(DIABETES, LinearRegression(), target=LOG))
    X, _ = run.select_rows(run.split.test)
    predictor = run.get_variant({"learner__fit_intercept": True})
    np.testing.assert_allclose(predictor.predict(X), run.model.predictor.predict(X))
    np.testing.assert_allclose(np.exp(run.fit_variant({}).predict(X)), predictor.predict(X))


def test_the_scores_of_a_variant_are_those_of_a_run_with_its_parameters() -> None:
    data = weighted_diabetes()
    run = finish(make_experiment(data, Ridge(), target=LOG, metrics=["mae"], splitter=KFold(folds=2)))
    other = finish(make_experiment(data, Ridge(alpha=0.01), target=LOG, metrics=["mae"], splitter=KFold(folds=2)))
    assert run.score_variant({"learner__alpha": 0.01}) == pytest.approx(other.score_variant({}))
    means = [np.mean([fold.scores[f"{part}_mae"] for fold in other.folds]) for part in ("train", "test")]
    assert other.score_variant({}) == pytest.approx(means)


def test_a_balanced_variant_is_the_balanced_run() -> None:
    run = finish(make_experiment(CANCER, learners.SVC(), balance=ClassWeights()))
    X, _ = run.select_rows(run.split.test)
    variant = run.fit_variant({})
    np.testing.assert_array_equal(variant.decision_function(X), run.model.pipeline.decision_function(X))
    assert run.get_variant({}) is run.model.predictor


def test_importances_are_those_of_the_predictor() -> None:
    # Every row is positive from this threshold on, so that no column is important, whatever the learner has learnt.
    parts = {"calibration": Calibration("platt"), "threshold": GivenThreshold(1e-9)}
    built = make_experiment(CANCER, learners.SVC(), metrics=["accuracy"], **parts)
    table = importances.Importances(repeats=2).measure(finish(built))
    assert table["mean"].abs().max() == 0
