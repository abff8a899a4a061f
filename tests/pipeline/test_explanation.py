"""The numbers of an explanation, against scikit-learn and against what is known of a model by its making."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
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

from bakeoff import learners
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, evaluate_splits, fit_final_model, score_headline
from bakeoff.pipeline.explanation.dependence import choose_points, compute_dependence
from bakeoff.pipeline.explanation.explain_model import Explanation, Subject, explain_model, require_columns
from bakeoff.pipeline.explanation.importances import (
    MAX_ROWS,
    Importance,
    Importances,
    ScoredPart,
    find_related_columns,
    measure_importances,
)
from bakeoff.pipeline.explanation.learner_parts import describe_learner
from bakeoff.pipeline.explanation.outputs import DECISION, PREDICTION, PROBABILITY, find_outputs
from bakeoff.pipeline.explanation.scored_rows import list_scored_parts
from bakeoff.pipeline.model.training_record import make_training_record
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.stages.dataset import load_bundled, load_lecture_table
from bakeoff.pipeline.stages.preprocessing import make_preprocessing
from bakeoff.pipeline.stages.splitting import KFold, LeaveOneOut
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


def get(importances: Sequence[Importance], *columns: str) -> Importance:
    (found,) = (each for each in importances if each.columns == columns)
    return found


@cache
def make_twins() -> pd.DataFrame:
    """Return a column, two that follow it, and one that has nothing to do with them."""
    first = GENERATOR.normal(size=600)
    return pd.DataFrame({
        "first": first,
        "copy": first + GENERATOR.normal(0, 0.05, 600),
        "band": pd.Categorical(np.where(first > 0, "high", "low")),
        "noise": GENERATOR.normal(size=600),
    })  # fmt: skip


def test_importances_of_one_part_are_those_of_scikit_learn() -> None:
    columns = CANCER.X.iloc[:, :6]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(columns.iloc[:300], CANCER.y[:300])
    X, y = columns.iloc[300:], CANCER.y[300:]
    found = measure_importances([ScoredPart(model, X, y)], score_accuracy, "accuracy", True, seed=4)
    expected = permutation_importance(model, X, y, scoring="accuracy", n_repeats=20, random_state=4)
    means = dict(zip(X.columns, expected.importances_mean, strict=True))
    deviations = dict(zip(X.columns, expected.importances.std(axis=1, ddof=1), strict=True))
    assert {each.columns[0]: each.mean for each in found.columns} == pytest.approx(means)
    assert {each.columns[0]: each.deviation for each in found.columns} == pytest.approx(deviations)
    assert found.score == accuracy_score(y, model.predict(X))
    assert [each.mean for each in found.columns] == sorted(means.values(), reverse=True)


def test_importances_of_folds_are_means_over_folds_on_rows_that_each_model_has_not_seen() -> None:
    experiment = make_experiment(IRIS, learners.KNeighborsClassifier(), splitter=KFold(folds=3))
    splits = experiment.make_splits()
    folds = list(evaluate_splits(experiment, splits.folds))
    parts, words = list_scored_parts(experiment, folds)
    assert words == "the 150 test rows of 3 folds, each with the model that was fitted without them"
    for part, fold in zip(parts, folds, strict=True):
        assert part.X.index.tolist() == fold.split.test.tolist()
        assert part.model is fold.model.predictor
    found = measure_experiment(experiment, parts)
    assert found.spread == "3 folds"
    assert found.score == pytest.approx(np.mean([fold.scores["test_accuracy"] for fold in folds]))
    by_fold = [
        permutation_importance(
            part.model, part.X, part.y, scoring="accuracy", n_repeats=5, random_state=number
        ).importances_mean
        for number, part in enumerate(parts)
    ]
    position = list(IRIS.X.columns).index(found.columns[0].columns[0])
    values = [means[position] for means in by_fold]
    assert found.columns[0].mean == pytest.approx(np.mean(values))
    assert found.columns[0].deviation == pytest.approx(np.std(values, ddof=1))


def test_errors_rise_where_scores_fall() -> None:
    experiment = make_experiment(DIABETES, learners.Ridge(), splitter=KFold(folds=3), metrics=["rmse"])
    folds = list(evaluate_splits(experiment, experiment.make_splits().folds))
    parts, _ = list_scored_parts(experiment, folds)
    found = measure_experiment(experiment, parts)
    assert found.change == "rise of rmse"
    assert found.score == pytest.approx(np.mean([fold.scores["test_rmse"] for fold in folds]))
    assert found.columns[0].mean > 1.0


def test_columns_that_stand_in_for_one_another_are_permuted_together() -> None:
    X = make_twins()
    y = np.where(X["first"] > 0.3, "yes", "no")
    encode = make_preprocessing(nominal=[OneHotEncoder(sparse_output=False)])
    model = Pipeline([("preprocessing", encode), ("learner", learners.KNeighborsClassifier())]).fit(X, y)
    found = measure_importances([ScoredPart(model, X, y)], score_accuracy, "accuracy", True, seed=0)
    (group,) = found.groups
    assert set(group.columns) == {"first", "copy", "band"}
    # All that is known of the class is in these columns: what is left is chance.
    assert found.score - group.mean == pytest.approx(0.5, abs=0.08)
    assert group.mean > 2 * max(get(found.columns, name).mean for name in ("first", "copy"))


def test_related_columns_are_numbers_or_values_of_which_one_explains_the_other() -> None:
    X = make_twins()
    assert find_related_columns(X, list(X.columns)) == [("first", "copy", "band")]
    assert find_related_columns(X, ["noise", "band"]) == []
    # A curve is a relation although its correlation is 0.
    curve = pd.DataFrame({"x": np.linspace(-1, 1, 300), "y": np.linspace(-1, 1, 300) ** 2})
    assert find_related_columns(curve, ["x", "y"]) == [("x", "y")]


def test_of_folds_of_one_row_the_rows_are_permuted_over_all_folds() -> None:
    experiment = make_experiment(READING, learners.NaiveBayesClassifier(), splitter=LeaveOneOut())
    folds = list(evaluate_splits(experiment, experiment.make_splits().folds))
    (part,), words = list_scored_parts(experiment, folds)
    assert words.startswith(f"the test rows of all {len(READING.y)} folds together")
    truth = [str(fold.predictions.predicted[0]) for fold in folds]
    assert part.model.predict(part.X).tolist() == truth
    assert part.model.predict_proba(part.X).sum(axis=1) == pytest.approx(1)
    found = measure_experiment(experiment, [part])
    assert found.score == pytest.approx(np.mean([fold.scores["test_accuracy"] for fold in folds]))
    assert found.columns[0].mean > 0


def test_of_many_rows_some_are_drawn() -> None:
    X = pd.DataFrame({"x": np.arange(5000.0)})
    y = (X["x"] > 2500).to_numpy()
    model = DecisionTreeClassifier().fit(X, y)
    sizes = set()

    def score(model: Any, rows: pd.DataFrame, y: np.ndarray, weights: np.ndarray | None) -> float:
        sizes.add(len(rows))
        return score_accuracy(model, rows, y, weights)

    found = measure_importances([ScoredPart(model, X, y)], score, "accuracy", True, seed=0)
    assert sizes == {MAX_ROWS}
    assert found.columns[0].mean == pytest.approx(0.5, abs=0.05)


def test_partial_dependence_is_that_of_scikit_learn() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(IRIS.X, IRIS.y)
    outputs = find_outputs(model, IRIS.target, "", IRIS.X.iloc[:2])
    name = str(IRIS.X.columns[0])
    found = compute_dependence(outputs, IRIS.X, name, seed=0)
    assert found is not None
    means = np.array([point.means for point in found.points])
    exact = partial_dependence(
        model, IRIS.X, [name], custom_values={name: [point.position for point in found.points]}, method="brute"
    )
    np.testing.assert_allclose(means.T, exact["average"])
    assert sum(point.n_rows for point in found.points) + int(found.note.split()[0]) == len(IRIS.y)


def test_partial_dependence_on_values_and_missing_cells_is_the_mean_over_rows_with_that_cell() -> None:
    whole = make_twins()
    table = whole.assign(
        band=whole["band"].where(GENERATOR.random(600) < 0.8), first=whole["first"].where(GENERATOR.random(600) < 0.7)
    )
    y = np.where(table["noise"] > 0, "yes", "no")
    model = learners.DecisionTreeClassifier(max_depth=4).fit(table, y)
    outputs = find_outputs(model, "y", "yes", table.iloc[:2])
    assert outputs.names == ("yes",)
    for name in ("band", "first"):
        found = compute_dependence(outputs, table, name, seed=0)
        assert found is not None
        assert found.points[-1].label == "missing"
        assert found.points[-1].n_rows == table[name].isna().sum()
        changed = table.copy()
        changed[name] = pd.Series([None] * 600).astype(table[name].dtype)
        assert found.points[-1].means == pytest.approx([model.predict_proba(changed)[:, 1].mean()])


def test_a_grid_has_all_of_few_numbers_and_the_ends_of_many() -> None:
    few, _ = choose_points(pd.Series([1.0, 2.0, 2.0]))
    assert [point.n_rows for point in few] == [1, 2]
    points, _ = choose_points(pd.Series(np.arange(1000.0)))
    assert points[0].value == pytest.approx(np.percentile(np.arange(1000), 5))
    assert len(points) == 20
    counts = [point.n_rows for point in points]
    assert max(counts) - min(counts) <= 2
    dates, _ = choose_points(pd.Series(pd.date_range("2026-01-01", periods=400)))
    assert (dates[0].label, dates[-1].label) == ("2026-01-20", "2027-01-15")
    assert choose_points(pd.Series(["some words", "other words"], dtype="string")) == ([], "")
    values, note = choose_points(pd.Series(pd.Categorical([f"v{i % 40}" for i in range(300)])))
    assert (len(values), note) == (20, "20 rarer values are not shown")


def test_what_is_explained_follows_from_the_methods_of_the_model() -> None:
    X, y = CANCER.X.iloc[:, :4], CANCER.y
    with_probability = LogisticRegression(max_iter=2000).fit(X, y)
    with_decision = SVC().fit(X, y)
    with_neither = learners.KNeighborsClassifier().fit(X, y)
    assert find_outputs(with_probability, "y", "", X).method == PROBABILITY
    malignant = find_outputs(with_decision, "y", "malignant", X.iloc[:3])
    benign = find_outputs(with_decision, "y", "benign", X.iloc[:3])
    assert (malignant.method, malignant.names) == (DECISION, ("malignant",))
    np.testing.assert_allclose(benign.compute(X), -malignant.compute(X))
    np.testing.assert_allclose(malignant.compute(X)[:, 0], with_decision.decision_function(X))
    pairs = SVC(decision_function_shape="ovo").fit(load_bundled("digits").X, load_bundled("digits").y)
    assert find_outputs(pairs, "y", "", load_bundled("digits").X.iloc[:2]).method == PREDICTION
    labels = replace(find_outputs(with_neither, "y", "malignant", X), method=PREDICTION)
    np.testing.assert_array_equal(labels.compute(X)[:, 0], with_neither.predict(X) == "malignant")


def test_coefficients_are_named_by_values_and_divided_by_the_units_of_columns() -> None:
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0, 9.0], "sex": pd.Categorical(["m", "f", "m", "f", "f"])})
    y = 3.0 * X["age"] + 5.0 * (X["sex"] == "m")
    steps = make_preprocessing(numeric=[StandardScaler()], nominal=[OneHotEncoder(drop="first", sparse_output=False)])
    pipeline = Pipeline([("preprocessing", steps), ("learner", LinearRegression())]).fit(X, y)
    parts = describe_learner(pipeline, X, "y")
    assert parts.coefficients is not None
    fitted, per_unit = parts.coefficients.fitted["y"], parts.coefficients.per_unit["y"]
    assert fitted.to_dict() == pytest.approx({"age": 3.0 * X["age"].std(ddof=0), "sex = m": 5.0})
    assert per_unit.to_dict() == pytest.approx({"age": 3.0, "sex = m": np.nan}, nan_ok=True)
    assert parts.coefficients.are_scaled


@pytest.mark.parametrize(
    "learner", [learners.SVC(kernel="linear"), SVC(kernel="linear"), learners.LogisticRegression()]
)
def test_coefficients_of_several_classes_have_a_name_each(learner: Any) -> None:
    pipeline = Pipeline([("learner", learner)]).fit(IRIS.X, IRIS.y)
    coefficients = describe_learner(pipeline, IRIS.X, "species").coefficients
    assert coefficients is not None
    is_of_pairs = hasattr(learner, "support_")
    pairs = ["setosa or versicolor", "setosa or virginica", "versicolor or virginica"]
    assert coefficients.outputs == (pairs if is_of_pairs else list(IRIS.classes))


@pytest.mark.parametrize("learner", [learners.RandomForestClassifier(n_estimators=7)])
def test_a_forest_says_how_large_it_is_and_adds_up_the_shares_of_a_column(learner: Any) -> None:
    X = make_twins()
    y = np.where(X["first"] > 0.3, "yes", "no")
    encode = make_preprocessing(nominal=[OneHotEncoder(sparse_output=False)])
    pipeline = Pipeline([("preprocessing", encode), ("learner", learner)]).fit(X, y)
    found = describe_learner(pipeline, X, "y").shares
    assert found is not None
    assert found.trees.startswith("7 trees with ")
    assert found.measure == "share of the impurity that the splits on a column remove"
    shares = found.of_columns
    assert set(shares.index) == set(X.columns)
    assert shares.sum() == pytest.approx(1)
    assert encode is not None
    names = [name.split("_")[0] for name in encode.fit(X).get_feature_names_out()]
    assert shares["band"] == pytest.approx(sum(
        share for name, share in zip(names, pipeline[-1].feature_importances_, strict=True) if name == "band"
    ))  # fmt: skip


def explain(**changes: Any) -> Explanation:
    """Return the explanation of a small tree, with one row."""
    experiment = replace(
        make_experiment(CANCER, learners.DecisionTreeClassifier(max_depth=3), splitter=KFold(folds=2)), **changes
    )
    splits = experiment.make_splits()
    folds = list(evaluate_splits(experiment, splits.folds))
    model = fit_final_model(experiment, splits, folds[-1])
    X = CANCER.X
    return explain_model(
        Subject(
            name="a tree",
            model=model.predictor,
            record=make_training_record(experiment, model),
            experiment=None,
            background=X,
            rows=X,
            rows_words="the 569 rows",
            parts=[],
            parts_words="this test needs none",
        ),
        columns=[str(X.columns[0])],
    )


def test_what_is_done_to_the_output_of_a_learner_is_said_beside_its_rules() -> None:
    assert "before the run's threshold" in explain(threshold=GivenThreshold(0.3)).parts.notes[0]
    assert "before its probabilities are calibrated" in explain(calibration=Calibration("platt", 3)).parts.notes[0]


def test_a_misspelled_column_is_refused() -> None:
    with pytest.raises(UserError, match=r"columns='mean radios' is not a column of the model. Did you mean"):
        require_columns(["mean radios"], list(CANCER.X.columns))
