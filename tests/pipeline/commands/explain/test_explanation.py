"""The numbers of an explanation, against scikit-learn and against what is known of a model by its making."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import experiment as make_experiment
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from wayward import WaywardClassifier, WaywardRegressor

from bakeoff import learners
from bakeoff.pipeline.commands.explain.explain_model import (
    PREDICTION,
    Importances,
    choose_points,
    compute_dependence,
    describe_learner,
    find_outputs,
    measure_importances,
)
from bakeoff.pipeline.errors import InvalidPredictions
from bakeoff.pipeline.experiment import Experiment, evaluate_splits, fit_model, score_headline
from bakeoff.pipeline.model.permutation import MAX_SCORED_ROWS, ScoredPart, list_scored_parts
from bakeoff.pipeline.stages.calibration import DECISION, PROBABILITY, Calibration
from bakeoff.pipeline.stages.dataset import load_bundled, load_lecture_table
from bakeoff.pipeline.stages.preprocessing import make_preprocessing
from bakeoff.pipeline.stages.splitting import KFold, LeaveOneOut
from bakeoff.pipeline.stages.target import TransformedTarget, make_function
from bakeoff.pipeline.stages.threshold import GivenThreshold

IRIS = load_bundled("iris")
CANCER = load_bundled("breast_cancer")
DIABETES = load_bundled("diabetes")
READING = load_lecture_table("reading", "action")
GENERATOR = np.random.default_rng(5)


def score_accuracy(model: Any, X: pd.DataFrame, y: np.ndarray, weights: np.ndarray | None) -> float:
    return float(accuracy_score(y, model.predict(X), sample_weight=weights))


def measure_experiment(experiment: Experiment, parts: Sequence[ScoredPart]) -> Importances:
    """Return the importances for the headline score of an experiment."""
    metric = experiment.headline_metric
    return measure_importances(
        parts, partial(score_headline, experiment), experiment.headline, metric.greater_is_better, seed=0
    )


def test_importances_of_one_part_are_those_of_scikit_learn() -> None:
    columns = CANCER.X.iloc[:, :6]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(columns.iloc[:300], CANCER.y[:300])
    X, y = columns.iloc[300:], CANCER.y[300:]
    found = measure_importances([ScoredPart(model, X, y)], score_accuracy, "accuracy", True, seed=4)
    expected = permutation_importance(model, X, y, scoring="accuracy", n_repeats=20, random_state=4)
    assert list(found.columns["mean"]) == sorted(expected.importances_mean, reverse=True)
    of_columns = found.columns.loc[list(X.columns)]
    assert list(of_columns["mean"]) == pytest.approx(expected.importances_mean)
    assert list(of_columns["deviation"]) == pytest.approx(expected.importances.std(axis=1, ddof=1))
    assert found.score == accuracy_score(y, model.predict(X))


@pytest.mark.parametrize(
    ("dataset", "learner", "metrics", "scoring", "change"),
    [
        (IRIS, learners.KNeighborsClassifier(), None, "accuracy", "fall in accuracy"),
        (DIABETES, learners.Ridge(), ["rmse"], "neg_root_mean_squared_error", "rise in rmse"),
    ],
    ids=["scores fall", "errors rise"],
)
def test_importances_of_folds_are_means_over_folds_on_rows_that_each_model_has_not_seen(
    dataset: Any, learner: Any, metrics: list[str] | None, scoring: str, change: str
) -> None:
    experiment = make_experiment(dataset, learner, splitter=KFold(folds=3), metrics=metrics)
    folds = list(evaluate_splits(experiment, experiment.make_splits().folds))
    parts, words = list_scored_parts(experiment, folds)
    assert words == f"the {len(dataset.y)} test rows of 3 folds, each predicted by a model fitted without it"
    for part, fold in zip(parts, folds, strict=True):
        assert part.X.index.tolist() == fold.split.test.tolist()
        assert part.model is fold.model.predictor
    found = measure_experiment(experiment, parts)
    assert (found.spread, found.change) == ("3 folds", change)
    assert found.score == pytest.approx(np.mean([fold.scores[f"test_{experiment.headline}"] for fold in folds]))
    values = [
        permutation_importance(part.model, part.X, part.y, scoring=scoring, n_repeats=5, random_state=number)
        .importances_mean[0]
        for number, part in enumerate(parts)
    ]  # fmt: skip
    first = dataset.X.columns[0]
    assert found.columns["mean"][first] == pytest.approx(np.mean(values))
    assert found.columns["deviation"][first] == pytest.approx(np.std(values, ddof=1))


def test_folds_of_one_row_have_no_importances() -> None:
    experiment = make_experiment(READING, learners.NaiveBayesClassifier(), splitter=LeaveOneOut())
    folds = list(evaluate_splits(experiment, experiment.make_splits().folds))
    parts, words = list_scored_parts(experiment, folds)
    assert parts == []
    assert "tests a single row" in words


def test_of_many_rows_some_are_drawn() -> None:
    X = pd.DataFrame({"x": np.arange(5000.0)})
    y = (X["x"] > 2500).to_numpy()
    model = DecisionTreeClassifier().fit(X, y)
    sizes = set()

    def score(model: Any, rows: pd.DataFrame, y: np.ndarray, weights: np.ndarray | None) -> float:
        sizes.add(len(rows))
        return score_accuracy(model, rows, y, weights)

    found = measure_importances([ScoredPart(model, X, y)], score, "accuracy", True, seed=0)
    assert sizes == {MAX_SCORED_ROWS}
    assert found.columns["mean"]["x"] == pytest.approx(0.5, abs=0.05)


def test_partial_dependence_is_that_of_scikit_learn() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(IRIS.X, IRIS.y)
    outputs = find_outputs(model, IRIS.target, "")
    name = str(IRIS.X.columns[0])
    found: Any = compute_dependence(outputs, IRIS.X, name, seed=0)
    exact = partial_dependence(
        model, IRIS.X, [name], custom_values={name: [point.position for point in found.points]}, method="brute"
    )
    np.testing.assert_allclose(found.means.T, exact["average"])
    assert sum(point.n_rows for point in found.points) + int(found.note.split()[0]) == len(IRIS.y)


def test_partial_dependence_on_values_and_missing_cells_is_the_mean_over_rows_with_that_cell() -> None:
    first = GENERATOR.normal(size=600)
    band = pd.Series(pd.Categorical(np.where(first > 0, "high", "low")))
    table = pd.DataFrame({
        "first": pd.Series(first).where(GENERATOR.random(600) < 0.7),
        "band": band.where(GENERATOR.random(600) < 0.8),
        "noise": GENERATOR.normal(size=600),
    })  # fmt: skip
    y = np.where(table["noise"] > 0, "yes", "no")
    model = learners.DecisionTreeClassifier(max_depth=4).fit(table, y)
    outputs = find_outputs(model, "y", "yes")
    assert outputs.names == ("yes",)
    for name in ("band", "first"):
        found: Any = compute_dependence(outputs, table, name, seed=0)
        assert found.points[-1].label == "missing"
        assert found.points[-1].n_rows == table[name].isna().sum()
        changed = table.copy()
        changed[name] = pd.Series([None] * 600).astype(table[name].dtype)
        assert found.means[-1] == pytest.approx([model.predict_proba(changed)[:, 1].mean()])


def test_a_grid_has_all_of_few_numbers_and_the_ends_of_many() -> None:
    few, _ = choose_points(pd.Series([1.0, 2.0, 2.0]))
    assert [point.n_rows for point in few] == [1, 2]
    points, _ = choose_points(pd.Series(np.arange(1000.0)))
    assert points[0].value == pytest.approx(np.percentile(np.arange(1000), 5))
    assert len(points) == 20
    counts = [point.n_rows for point in points]
    assert max(counts) - min(counts) <= 2
    assert choose_points(pd.Series(["some words", "other words"], dtype="string")) == ([], "")
    values, note = choose_points(pd.Series(pd.Categorical([f"v{i % 40}" for i in range(300)])))
    assert (len(values), note) == (20, "20 rarer values are not shown")


def test_what_is_explained_follows_from_the_methods_of_the_model() -> None:
    X, y = CANCER.X.iloc[:, :4], CANCER.y
    with_probability = LogisticRegression(max_iter=2000).fit(X, y)
    with_decision = SVC().fit(X, y)
    with_neither = learners.KNeighborsClassifier().fit(X, y)
    assert find_outputs(with_probability, "y", "").method == PROBABILITY
    malignant = find_outputs(with_decision, "y", "malignant")
    benign = find_outputs(with_decision, "y", "benign")
    assert (malignant.method, malignant.names) == (DECISION, ("malignant",))
    np.testing.assert_allclose(benign.compute(X), -malignant.compute(X))
    np.testing.assert_allclose(malignant.compute(X)[:, 0], with_decision.decision_function(X))
    several = SVC().fit(IRIS.X, IRIS.y)
    assert find_outputs(several, "y", "").method == PREDICTION
    labels = replace(find_outputs(with_neither, "y", "malignant"), method=PREDICTION)
    np.testing.assert_array_equal(labels.compute(X)[:, 0], with_neither.predict(X) == "malignant")


def test_coefficients_are_named_by_values() -> None:
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0, 9.0], "sex": pd.Categorical(["m", "f", "m", "f", "f"])})
    y = 3.0 * X["age"] + 5.0 * (X["sex"] == "m")
    steps = make_preprocessing(numeric=[StandardScaler()], nominal=[OneHotEncoder(drop="first", sparse_output=False)])
    pipeline = Pipeline([("preprocessing", steps), ("learner", LinearRegression())]).fit(X, y)
    coefficients: Any = describe_learner(pipeline, X, "y").coefficients
    expected = {"sex = m": 5.0, "age": 3.0 * X["age"].std(ddof=0), "(intercept)": 3.0 * X["age"].mean()}
    assert coefficients["y"].to_dict() == pytest.approx({name: expected[name] for name in coefficients.index})


@pytest.mark.parametrize(
    "learner", [learners.SVC(kernel="linear"), SVC(kernel="linear"), learners.LogisticRegression()]
)
def test_coefficients_of_several_classes_have_a_name_each(learner: Any) -> None:
    pipeline = Pipeline([("learner", learner)]).fit(IRIS.X, IRIS.y)
    coefficients: Any = describe_learner(pipeline, IRIS.X, "species").coefficients
    is_of_pairs = hasattr(learner, "support_")
    pairs = ["setosa or versicolor", "setosa or virginica", "versicolor or virginica"]
    assert list(coefficients.columns) == (pairs if is_of_pairs else list(IRIS.classes))


def test_what_is_done_to_the_output_of_a_learner_is_said_beside_its_rules() -> None:
    stages: list[dict[str, Any]] = [{"threshold": GivenThreshold(0.3)}, {"calibration": Calibration("platt", 3)}]
    notes: list[str] = []
    for stage in stages:
        built = make_experiment(CANCER, learners.DecisionTreeClassifier(max_depth=3), **stage)
        model = fit_model(built, built.make_splits().folds[0])
        notes += describe_learner(model.predictor, CANCER.X, "y").notes
    assert "before the run's threshold" in notes[0]
    assert "before its probabilities are calibrated" in notes[1]


def test_a_note_tells_that_the_learner_predicts_the_transformed_target() -> None:
    target = TransformedTarget(make_function("log")).fit(DIABETES.y)
    pipeline = Pipeline([("learner", learners.DecisionTreeRegressor(max_depth=1))])
    pipeline.fit(DIABETES.X, target.transform(DIABETES.y))
    found = describe_learner(target.invert(pipeline), DIABETES.X, "progression")
    assert "transformed target" in found.notes[0]
    assert all(float(rule.prediction) < 6 for rule in found.rules)


def test_outputs_that_are_no_predictions_are_refused() -> None:
    X = pd.DataFrame({"x": np.arange(6.0)})
    percent = WaywardClassifier(probabilities="percent").fit(X, list("ababab"))
    outputs = find_outputs(percent, "y", "b")
    assert outputs.method == PROBABILITY
    with pytest.raises(InvalidPredictions, match="sum is 100"):
        outputs.compute(X)
    numbers_of = find_outputs(WaywardRegressor("NaN").fit(X, np.arange(6.0)), "y", "")
    with pytest.raises(InvalidPredictions, match="nan"):
        numbers_of.compute(X)
