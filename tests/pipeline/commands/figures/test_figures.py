"""Figures: experiments that they reject before a run, and agreement of each picture with the learners."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from doubles import experiment as make_experiment
from finished_runs import finish, read_texts
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import validation_curve
from sklearn.pipeline import Pipeline as SklearnPipeline
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bakeoff import learners
from bakeoff.learners.decision_tree.export import draw
from bakeoff.pipeline.commands.figures import classification, curves, planes, trees
from bakeoff.pipeline.commands.figures.run_figure import RunFigure
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.stages.dataset import Dataset, load_bundled, load_lecture_table, make_points
from bakeoff.pipeline.stages.scoring.choice import choose_metrics
from bakeoff.pipeline.stages.scoring.metrics import CLASSIFICATION
from bakeoff.pipeline.stages.splitting import Holdout, KFold, LeaveOneOut
from bakeoff.pipeline.stages.target import TransformedTarget, make_function
from bakeoff.pipeline.text.wording import format_score

COLOURS = load_lecture_table("colours", "colour")
MORTGAGE = load_lecture_table("mortgage", "decision", positive="Approve")
READING = load_lecture_table("reading", "action")
OUTLIER = load_lecture_table("outlier", "side")
CARS = load_lecture_table("cars", "distance", task="regression")
IRIS = load_bundled("iris")
MOONS = make_points("moons", 300, 0.4, 0)
KNN = learners.KNeighborsClassifier()
TREE = learners.DecisionTreeClassifier()
BAYES = learners.NaiveBayesClassifier()

LOG = TransformedTarget(make_function("log"))
SVM_OF_CANCER = make_experiment(load_bundled("breast_cancer"), learners.SVC())
CALIBRATED = replace(SVM_OF_CANCER, calibration=Calibration("platt"))
BY_LOG_LOSS = replace(CALIBRATED, metrics={"log_loss": CLASSIFICATION["log_loss"]})


def on(dataset: Dataset, learner: Any = KNN, **parts: Any) -> Experiment:
    """Return an experiment; the smallest tables do not hold every class in every part."""
    return make_experiment(dataset, learner, **({"splitter": Holdout(stratify=False)} | parts))


NO_FRACTIONS: list[Any] = [[], [0], [1.5], "0.5", [True]]
REJECTED: list[tuple[RunFigure, Experiment, str]] = [
    (planes.DecisionRegions(), on(IRIS), "two numeric columns"),
    (planes.DecisionRegions(columns=["x1", "y2"]), on(COLOURS), "Allowed: x1, x2."),
    (planes.Margins(), on(make_points("blobs", 60, 1.0, 0)), "separate two classes"),
    (curves.RegressionCurves(), on(load_bundled("diabetes"), learners.MeanRegressor()), "10 columns"),
    (curves.ValidationCurve(parameter="n_neighbors", values=[1, 91]), on(IRIS), "has 90 rows"),
    (curves.ValidationCurve(parameter="C", values=[1]), BY_LOG_LOSS, "fitted for a figure are not calibrated"),
    (planes.DecisionRegions(variants={"k": {"learner__k": 3}}), on(MOONS), "learner__k is not a param"),
    (planes.DecisionRegions(variants={"k": {"learner__n_neighbors": 0}}), on(MOONS), "'n_neighbors'"),
    (trees.Trees(draw_tree=draw), on(load_bundled("digits"), TREE), "but digits has 10"),
    (
        trees.Trees(variants={"b": {}}, draw_tree=draw, pruning={"b": "bottom_up"}),
        on(IRIS, TREE, splitter=LeaveOneOut()),
        "set evaluation.validation=0.2",
    ),
    (trees.Trees(draw_tree=draw), on(CARS, learners.DecisionTreeRegressor(), target=LOG), "set target=none"),
    (classification.RocCurves(), on(MORTGAGE, BAYES, splitter=LeaveOneOut()), "a single one; use evaluation=kfold"),
    (classification.Reliability(), SVM_OF_CANCER, "SVC has none; add calibration=platt"),
    *((curves.LearningCurve(sizes=sizes), on(IRIS), f"sizes={sizes!r}") for sizes in NO_FRACTIONS),
]


@pytest.mark.parametrize(("figure", "experiment", "reason"), REJECTED, ids=[row[-1] for row in REJECTED])
def test_an_experiment_that_a_figure_cannot_show_is_rejected(
    figure: RunFigure, experiment: Experiment, reason: str
) -> None:
    with pytest.raises(UserError, match=rf"^figures: .*{re.escape(reason)}"):
        figure.check(experiment, experiment.make_splits())


@pytest.mark.parametrize("figure", [classification.Reliability(), classification.RocCurves()])
def test_calibrated_learners_have_the_figures_of_probabilities(figure: RunFigure) -> None:
    figure.check(CALIBRATED, CALIBRATED.make_splits())


def test_regions_are_coloured_by_what_the_learner_predicts() -> None:
    run = finish(make_experiment(COLOURS, learners.KNeighborsClassifier(n_neighbors=1), splitter=LeaveOneOut()))
    variants = {"k = 1": {"learner__n_neighbors": 1}, "k = 3": {"learner__n_neighbors": 3}}
    figure = planes.DecisionRegions(variants=variants, query=[1, 2]).draw(run)
    assert "(1, 2) is Red" in read_texts(figure)
    assert "(1, 2) is Blue" in read_texts(figure)
    for axes, k in zip(figure.axes, (1, 3), strict=True):
        mesh: Any = axes.collections[0]
        shades = mesh.get_array().reshape(300, 300)
        assert set(np.unique(shades)) == {0, 1}
        corner = COLOURS.X.iloc[:1] * 0 + [-2.2, 0]
        predicted = run.fit_variant({"learner__n_neighbors": k}).predict(corner)
        assert run.experiment.dataset.classes[int(shades[0, 0])] == predicted[0]


def test_three_classes_have_the_colours_of_their_marks() -> None:
    run = finish(make_experiment(make_points("blobs", 90, 1.0, 0), KNN))
    figure = planes.DecisionRegions().draw(run)
    mesh: Any = figure.axes[0].collections[0]
    marks: list[Any] = list(figure.legends[0].legend_handles)
    for code, mark in enumerate(marks):
        assert mesh.cmap(mesh.norm(code))[:3] == pytest.approx(mark.get_facecolor()[0][:3])
    assert len(marks) == 3


def test_the_hard_margin_goes_through_its_support_vectors_and_the_soft_one_is_wider() -> None:
    run = finish(make_experiment(OUTLIER, learners.SVC(kernel="linear"), splitter=LeaveOneOut()))
    variants: dict[str, Any] = {"hard": {"learner__C": np.inf}, "soft": {"learner__C": 0.1}}
    hard, soft = (run.fit_variant(parameters) for parameters in variants.values())
    X, _ = run.select_rows(run.split.train)
    on = X.iloc[hard[-1].support_]
    assert np.abs(hard.decision_function(on)) == pytest.approx(1, abs=1e-5)
    assert soft[-1].margin_[0] > 2 * hard[-1].margin_[0]
    without = {"perceptron": {"learner": learners.Perceptron()}, "logistic": {"learner": LogisticRegression()}}
    texts = read_texts(planes.Margins(variants=variants | without).draw(run))
    assert f"margin {format_score(hard[-1].margin_[0])}, 3 support vectors" in texts
    assert f"margin {format_score(soft[-1].margin_[0])}" in texts
    assert (texts.count("training accuracy"), len(re.findall(r"\d support vectors", texts))) == (4, 2)


CURVES: dict[str, tuple[Dataset, Any, str, list[Any]]] = {
    "neighbours": (MOONS, make_pipeline(StandardScaler(), KNN), "n_neighbors", [5, 1, 30, 5]),
    "depths": (MOONS, TREE, "max_depth", [1, 3, 12]),
    "penalties of leaves": (IRIS, TREE, "ccp_alpha", [0.0, 0.01, 0.1]),
    "ridge": (load_bundled("diabetes"), learners.Ridge(), "alpha", [0.01, 1.0, 100.0]),
    "pseudo-counts": (MORTGAGE, BAYES, "alpha", [0.5, 4.0]),
    "no path": (MOONS, LogisticRegression(), "C", [0.1, 10.0]),
}


@pytest.mark.parametrize("name", CURVES)
def test_a_validation_curve_equals_scikit_learns_with_a_fit_for_every_value(name: str) -> None:
    dataset, model, parameter, values = CURVES[name]
    steps = model if isinstance(model, SklearnPipeline) else make_pipeline("passthrough", model)
    experiment = replace(make_experiment(dataset, steps[-1], splitter=KFold(folds=4)), preprocessing=steps[0])
    run = finish(experiment)
    table = run.compute_validation_curve(parameter, values)
    found = table[["train", "test"]].to_numpy().T.reshape(2, len(values), 4)  # (part, value, fold)
    expected = validation_curve(
        SklearnPipeline([("before", steps[0]), ("learner", steps[-1])]),
        dataset.X,
        dataset.y,
        param_name=f"learner__{parameter}",
        param_range=values,
        scoring=experiment.headline,
        cv=[(split.train, split.test) for split in experiment.make_splits().folds],
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


class CountedTree(learners.DecisionTreeClassifier):
    """Records the number of rows of each fit."""

    fits: ClassVar[list[int]] = []

    def _grow_unpruned(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self.fits.append(len(X))
        return super()._grow_unpruned(X, y, sample_weight)


def test_a_validation_curve_is_fitted_once_in_each_fold() -> None:
    run = finish(make_experiment(MOONS, CountedTree(), splitter=KFold(folds=3)))
    CountedTree.fits.clear()
    curves.ValidationCurve(parameter="max_depth", values=[1, 2, 4, 8]).draw(run)
    assert CountedTree.fits == [len(fold.split.train) for fold in run.folds]


def test_the_subtree_of_cost_complexity_is_the_same_by_accuracy_and_by_error() -> None:
    by_accuracy = make_experiment(MOONS, learners.DecisionTreeClassifier())
    by_error = replace(by_accuracy, metrics=choose_metrics(["error"], "classification", TREE))
    sizes = []
    for experiment in (by_accuracy, by_error):
        run = finish(experiment)
        figure = trees.Trees(variants={"cut": {}}, draw_tree=draw, pruning={"cut": "cost_complexity"}).draw(run)
        sizes.append(re.findall(r"\d+ leaves, depth \d+", read_texts(figure)))
    assert sizes[0] == sizes[1] != []


def test_the_steps_of_a_regression_tree_are_the_means_of_its_leaves() -> None:
    run = finish(make_experiment(CARS, learners.DecisionTreeRegressor(), splitter=LeaveOneOut()))
    axes = curves.RegressionCurves(variants={"depth 1": {"learner__max_depth": 1}}).draw(run).axes[0]
    slow = CARS.X["speed"].to_numpy() < 17.5
    steps = np.unique(axes.lines[0].get_ydata())
    assert steps == pytest.approx([CARS.y[slow].mean(), CARS.y[~slow].mean()])


def test_pruned_trees_show_their_sizes_and_cost_complexity_is_best_on_validation_rows() -> None:
    run = finish(make_experiment(MOONS, learners.DecisionTreeClassifier()))
    own = run.model.pipeline[-1]
    parameters, n_leaves = own.get_params(), own.fitted_tree_.n_leaves
    names = ("bottom_up", "best_first", "cost_complexity", "pessimistic")
    variants: dict[str, dict[str, Any]] = {name: {} for name in ("before", *names)} | {"a": {"learner__max_depth": 2}}
    drawn = trees.Trees(variants=variants, draw_tree=draw, pruning={name: name for name in names})
    figure = drawn.draw(run)
    assert (own.get_params(), own.fitted_tree_.n_leaves) == (parameters, n_leaves)  # drawing changes no model
    assert sum(axes.axison for axes in figure.axes) == 0
    X, y = run.select_rows(run.split.train)
    full = learners.DecisionTreeClassifier().fit(X, y)
    assert f"{full.get_n_leaves()} leaves, depth {full.get_depth()}" in read_texts(figure)
    held_out = run.select_rows(run.split.validation)
    alphas = full.cost_complexity_pruning_path(X, y).ccp_alphas
    subtrees = [learners.DecisionTreeClassifier(ccp_alpha=alpha).fit(X, y) for alpha in alphas]
    best = max(subtrees, key=lambda tree: (tree.score(*held_out), -tree.get_n_leaves()))
    size = f"{best.get_n_leaves()} leaves, depth {best.get_depth()}"
    score = f"accuracy: validation {best.score(*held_out):.3f}"
    assert f"{size}\n{score}" in read_texts(figure)


def test_small_trees_are_drawn_with_their_questions_and_answers() -> None:
    run = finish(make_experiment(MORTGAGE, learners.DecisionTreeClassifier(), splitter=LeaveOneOut()))
    variants = {"CART": {"learner__nominal_splits": "binary"}}
    texts = read_texts(trees.Trees(variants=variants, draw_tree=draw).draw(run)).splitlines()
    assert {"family?", "single", "children", "Reject"} <= set(texts)


def test_the_confusion_matrix_counts_the_test_rows_of_all_folds_shaded_by_their_share_of_the_true_class() -> None:
    run = finish(make_experiment(COLOURS, learners.MajorityClassifier(), splitter=KFold(folds=3, repeats=2)))
    figure = classification.ConfusionMatrix().draw(run)
    axes: Any = figure.axes[0]
    counts = np.array([int(text.get_text()) for text in axes.texts if text.get_text().isdigit()]).reshape(2, 2)
    assert counts.sum() == 12
    np.testing.assert_allclose(axes.images[0].get_array(), counts / counts.sum(axis=1, keepdims=True))
    assert "6 test rows, 2 times each" in read_texts(figure)


@pytest.mark.parametrize("name", ["moons", "circles", "blobs"])
def test_generated_rows_are_as_many_as_asked_and_depend_on_the_seed(name: str) -> None:
    dataset = make_points(name, 90, 0.1, 3)
    assert dataset.X.shape == (90, 2)
    assert dataset.digest() == make_points(name, 90, 0.1, 3).digest() != make_points(name, 90, 0.1, 4).digest()
    assert dataset.classes.tolist() == (["A", "B", "C"] if name == "blobs" else ["A", "B"])
