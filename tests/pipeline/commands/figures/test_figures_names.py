"""Figures by name: what ``figures=`` stands for, which of ``all`` apply, and that every learner has its figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import experiment as make_experiment
from finished_runs import finish
from matplotlib import rc_context

from bakeoff.learners import REGISTRY
from bakeoff.pipeline.checks import FigureChoice, choose_figures
from bakeoff.pipeline.commands.drawing.panels import in_style
from bakeoff.pipeline.commands.figures import planes
from bakeoff.pipeline.config.build import find_target
from bakeoff.pipeline.config.options import FIGURE_PACKAGE, FIGURES, read_option, settle_figures
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.dataset import load_bundled, load_lecture_table, make_points
from bakeoff.pipeline.stages.pruning import Pruning
from bakeoff.pipeline.stages.splitting import KFold
from bakeoff.pipeline.stages.tuning import GridTuning

IRIS = load_bundled("iris")
MOONS = make_points("moons", 60, 0.3, 0)
CARS = load_lecture_table("cars", "distance", task="regression")


def choose(experiment: Experiment, given: Any, space: Any = None) -> FigureChoice:
    return choose_figures(settle_figures(given, space), experiment, experiment.make_splits(), [])


def list_names(choice: FigureChoice) -> set[str]:
    return {Path(figure.file).stem for figure in choice.figures}


# The table


def test_every_figure_has_a_name_which_is_that_of_its_file() -> None:
    for name, (class_name, _) in FIGURES.items():
        assert find_target(f"{FIGURE_PACKAGE}.{class_name}", "figures", ()).file == f"{name}.png"


def test_names_and_nodes_and_arguments_may_be_mixed() -> None:
    own = {"_target_": "mine.Figure", "size": 3}
    nodes = settle_figures(["roc", own, {"importances": {"repeats": 2}}, {"trees": None}])
    assert nodes[1] == own
    assert nodes[2] == {"_target_": "bakeoff.pipeline.commands.figures.importances.Importances", "repeats": 2}
    assert [node["_target_"].split(".")[-1] for node in nodes] == ["RocCurves", "Figure", "Importances", "Trees"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["rok"], "Did you mean 'roc'?"),
        (3, "neither a name"),
        ([{"roc": [1]}], "neither a name"),
    ],
)
def test_what_is_no_figure_is_refused(given: Any, sentence: str) -> None:
    with pytest.raises(UserError, match=r"^figures") as refused:
        settle_figures(given)
    assert sentence in str(refused.value)


# The choice among all


def test_a_figure_with_arguments_of_its_own_replaces_the_one_of_all() -> None:
    experiment = make_experiment(MOONS, REGISTRY["knn"]())
    choice = choose(experiment, ["all", {"validation_curve": {"parameter": "p", "values": [1, 2]}}])
    curves = [figure for figure in choice.figures if figure.file == "validation_curve.png"]
    assert len(curves) == 1
    assert curves[0].parameter == "p"  # type: ignore[attr-defined]


def test_two_figures_that_write_one_file_are_refused() -> None:
    experiment = make_experiment(MOONS, REGISTRY["knn"]())
    with pytest.raises(UserError, match=r"both write roc\.png"):
        choose(experiment, ["roc", "roc"])


@pytest.mark.parametrize("file", ["../roc.png", "/tmp/roc.png", "figures/roc.png"])
def test_a_figure_that_is_written_outside_its_folder_is_refused(file: str) -> None:
    experiment = make_experiment(MOONS, REGISTRY["knn"]())
    with pytest.raises(UserError, match=f"file={file!r} of RocCurves must be a plain name"):
        choose(experiment, [{"roc": {"file": file}}])


def test_what_is_asked_for_by_name_is_refused_where_it_does_not_apply() -> None:
    experiment = make_experiment(IRIS, REGISTRY["svm"]())
    with pytest.raises(UserError, match="SVC has none"):
        choose(experiment, ["calibration"])
    choice = choose(experiment, "all")
    assert choice.left_out["calibration"] == "Reliability shows probabilities, but SVC has none"
    assert "residuals" not in choice.left_out  # of another task


OF_ALL_CLASSIFIERS = {"confusion_matrix", "decision_regions", "importances", "learning_curve"}
OF_SCORES = {"roc", "precision_recall"}
OF_PROBABILITIES = OF_SCORES | {"calibration"}
OF_TREES = {"trees", "validation_curve"}
OF_LINES = {"margins", "validation_curve"}
OF_ALL_REGRESSORS = {"residuals", "importances", "learning_curve", "regression_curves"}
EXPECTED = {
    "decision_tree": OF_ALL_CLASSIFIERS | OF_PROBABILITIES | OF_TREES,
    "knn": OF_ALL_CLASSIFIERS | OF_PROBABILITIES | {"validation_curve"},
    "logistic_regression": OF_ALL_CLASSIFIERS | OF_PROBABILITIES | OF_LINES,
    "majority": OF_ALL_CLASSIFIERS | OF_PROBABILITIES,
    "mlp": OF_ALL_CLASSIFIERS | OF_PROBABILITIES | {"validation_curve"},
    "naive_bayes": OF_ALL_CLASSIFIERS | OF_PROBABILITIES | {"validation_curve"},
    "perceptron": OF_ALL_CLASSIFIERS | OF_SCORES | OF_LINES,
    "random_forest": OF_ALL_CLASSIFIERS | OF_PROBABILITIES | {"validation_curve"},
    "svm": OF_ALL_CLASSIFIERS | OF_SCORES | {"margins", "validation_curve"},
    "decision_tree_regressor": OF_ALL_REGRESSORS | {"trees", "validation_curve"},
    "knn_regressor": OF_ALL_REGRESSORS | {"validation_curve"},
    "linear_regression": OF_ALL_REGRESSORS | {"validation_curve"},
    "mean": OF_ALL_REGRESSORS,
    "mlp_regressor": OF_ALL_REGRESSORS | {"validation_curve"},
    "random_forest_regressor": OF_ALL_REGRESSORS | {"validation_curve"},
    "ridge": OF_ALL_REGRESSORS | {"validation_curve"},
}
QUICK: dict[str, dict[str, Any]] = {
    "random_forest": {"n_estimators": 5},
    "random_forest_regressor": {"n_estimators": 5},
    "mlp": {"hidden_layer_sizes": (5,), "max_iter": 20},
    "mlp_regressor": {"hidden_layer_sizes": (5,), "max_iter": 20},
}


@pytest.mark.parametrize("name", REGISTRY)
def test_all_figures_that_apply_to_a_learner_are_drawn(name: str) -> None:
    learner = REGISTRY[name](**QUICK.get(name, {}))
    dataset = MOONS if "confusion_matrix" in EXPECTED[name] else CARS
    parts: dict[str, Any] = {"splitter": KFold(folds=2)}
    if "trees" in EXPECTED[name]:
        parts = {"splitter": KFold(folds=2, validation=0.3), "pruning": Pruning("best_first")}
    experiment = make_experiment(dataset, learner, **parts)
    listed = {key: values for key, values in read_option("space", name).items() if key != "simpler"}
    space = {key: values[:2] for key, values in listed.items()}
    choice = choose(experiment, "all", space)
    assert list_names(choice) == EXPECTED[name]
    run = finish(experiment)
    for figure in choice.figures:
        drawn = figure.draw(run)  # type: ignore[attr-defined]
        assert all(axes.has_data() or not axes.axison for axes in drawn.axes)


def test_a_tuned_run_has_the_figure_of_tuning() -> None:
    tuning = GridTuning({"n_neighbors": [1, 5], "weights": ["uniform", "distance"]}, folds=2)
    experiment = make_experiment(MOONS, REGISTRY["knn"](), tuning=tuning)
    assert "candidates" in list_names(choose(experiment, "all"))


# Names that Matplotlib would interpret


def test_names_with_signs_of_formulas_are_drawn_as_they_are(tmp_path: Path) -> None:
    classes = np.array(["$5 to $9", r"$\frac{$", "_low"])
    X = MOONS.X.set_axis([r"$\frac{$", "_x$"], axis=1)
    dataset = replace(MOONS, X=X, y=classes[np.arange(len(X)) % 3], positive=None)
    experiment = make_experiment(dataset, REGISTRY["decision_tree"](), pruning=Pruning("best_first"))
    run = finish(experiment)
    for figure in choose(experiment, "all").figures:
        figure.save(tmp_path, experiment, run.folds, run.model)
        assert (tmp_path / figure.file).stat().st_size > 0
    with in_style():
        drawn = planes.DecisionRegions().draw(run)
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == sorted(classes)


def test_no_settings_in_the_current_folder_make_latex_run(tmp_path: Path) -> None:
    experiment = make_experiment(MOONS, REGISTRY["majority"]())
    run = finish(experiment)
    (figure,) = choose(experiment, ["confusion_matrix"]).figures
    with rc_context({"text.usetex": True, "text.latex.preamble": r"\input{theirs}"}):
        figure.save(tmp_path, experiment, run.folds, run.model)
    assert (tmp_path / figure.file).is_file()
