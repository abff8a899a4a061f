"""The fit on all rows: what scikit-learn fits when the procedure of the run is written out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import Log, Recorder, RecordingStep, experiment
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from bakeoff.learners import DecisionTreeClassifier
from bakeoff.pipeline.commands.serve.ship import describe_choice, describe_procedure, fit_on_all_rows
from bakeoff.pipeline.experiment import Experiment, evaluate_splits, fit_final_model
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.preprocessing import make_preprocessing
from bakeoff.pipeline.stages.pruning import Pruning
from bakeoff.pipeline.stages.splitting import Holdout, KFold
from bakeoff.pipeline.stages.threshold import TunedThreshold
from bakeoff.pipeline.stages.tuning import GridTuning
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, read_stored_runs

WINE = load_bundled("wine")
SPACE: dict[str, list[Any]] = {"n_neighbors": [1, 3, 5, 9, 15], "weights": ["uniform", "distance"]}
IN_PIPELINE = {f"learner__{name}": values for name, values in SPACE.items()}


def standardized(learner: Any, **parts: Any) -> Experiment:
    """Return an experiment on wine with standardized columns, held out."""
    parts = {"dataset": WINE, "preprocessing": make_preprocessing([StandardScaler()])} | parts
    return experiment(learner=learner, **parts)


def by_hand(learner: Any) -> Pipeline:
    scaler = StandardScaler().set_output(transform="pandas")
    return Pipeline([("preprocessing", scaler), ("learner", learner)])


def inner_seed(axis: str) -> int:
    return derive_seed(0, axis)


def test_without_a_choice_every_row_is_fitted_on() -> None:
    log = Log()
    built = experiment(learner=Recorder(log), preprocessing=RecordingStep(log), splitter=Holdout())
    model = fit_on_all_rows(built)
    everything = list(range(40))
    # The check before the fit tries the preprocessing as well.
    assert log[-2:] == [("prepare", everything), ("fit", everything)]
    assert log.of("fit") == [everything]
    assert len(model.split.train) == 40
    assert len(model.split.validation) == len(model.split.test) == 0


def test_tuning_on_inner_folds_is_a_grid_search_of_all_rows() -> None:
    built = standardized(KNeighborsClassifier(), tuning=GridTuning(SPACE, folds=4))
    model = fit_on_all_rows(built)
    folds = StratifiedKFold(4, shuffle=True, random_state=inner_seed("tuning"))
    expected = GridSearchCV(by_hand(KNeighborsClassifier()), IN_PIPELINE, cv=folds, scoring="accuracy")
    expected.fit(WINE.X, WINE.y)
    assert model.candidates is not None
    np.testing.assert_allclose(model.candidates["validation_score"], expected.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(model.predictor.predict_proba(WINE.X), expected.predict_proba(WINE.X))
    assert describe_procedure(built, model)[0].startswith("tuned on 4 inner folds: ")


def test_tuning_on_validation_rows_fits_the_chosen_candidate_on_these_too() -> None:
    built = standardized(KNeighborsClassifier(), tuning=GridTuning(SPACE))
    model = fit_on_all_rows(built)
    full = built.splitter.make_full_split(built.split_input, derive_seed(0, "split"), with_validation=True)
    part = np.full(len(WINE.y), -1)
    part[full.validation] = 0
    expected = GridSearchCV(by_hand(KNeighborsClassifier()), IN_PIPELINE, cv=PredefinedSplit(part), scoring="accuracy")
    expected.fit(WINE.X, WINE.y)
    np.testing.assert_array_equal(model.predictor.predict_proba(WINE.X), expected.predict_proba(WINE.X))
    assert len(model.split.train) == len(WINE.y)
    assert len(full.validation) == 36
    assert describe_procedure(built, model)[0].startswith("tuned on 36 of the rows before the fit on all of them: ")
    assert model.n_fits == len(expected.cv_results_["params"]) + 1


def test_calibration_on_validation_rows_keeps_a_part_of_all_rows_for_it() -> None:
    built = standardized(GaussianNB(), calibration=Calibration("platt", folds=0))
    model = fit_on_all_rows(built)
    train, validation = model.split.train, model.split.validation
    own = by_hand(GaussianNB()).fit(WINE.X.iloc[train], WINE.y[train])
    expected = CalibratedClassifierCV(FrozenEstimator(own), method="sigmoid")
    expected.fit(WINE.X.iloc[validation], WINE.y[validation])
    np.testing.assert_allclose(model.predictor.predict_proba(WINE.X), expected.predict_proba(WINE.X), atol=1e-6)
    assert len(train) + len(validation) == len(WINE.y)


def test_tuning_on_validation_rows_leaves_them_to_inner_folds_of_calibration() -> None:
    tuning = GridTuning({"var_smoothing": [1e-9, 0.1]})
    model = fit_on_all_rows(standardized(GaussianNB(), tuning=tuning, calibration=Calibration("platt", folds=4)))
    chosen = model.pipeline[-1].get_params()["var_smoothing"]
    settled = standardized(GaussianNB(var_smoothing=chosen), calibration=Calibration("platt", folds=4))
    expected = fit_on_all_rows(settled).predictor.predict_proba(WINE.X)
    np.testing.assert_array_equal(model.predictor.predict_proba(WINE.X), expected)


@pytest.mark.parametrize(
    "parts",
    [
        {"learner": DecisionTreeClassifier(random_state=0), "pruning": Pruning("bottom_up")},
        {"learner": LogisticRegression(), "threshold": TunedThreshold("f1", folds=3)},
        {"learner": KNeighborsClassifier(), "tuning": GridTuning(SPACE, folds=3)},
    ],
    ids=["pruned", "with a threshold", "tuned on inner folds"],
)
def test_the_model_of_a_cross_validation_is_fitted_again_to_the_last_bit(parts: dict[str, Any]) -> None:
    dataset = load_bundled("breast_cancer")
    splitter = KFold(folds=2, validation=0.2 if "pruning" in parts else 0.0)
    built = standardized(dataset=dataset, splitter=splitter, **parts)
    splits = built.make_splits()
    (*_, last) = evaluate_splits(built, splits.folds)
    own = fit_final_model(built, splits, last)
    model = fit_on_all_rows(built)
    np.testing.assert_array_equal(model.predictor.predict_proba(dataset.X), own.predictor.predict_proba(dataset.X))
    np.testing.assert_array_equal(model.predictor.predict(dataset.X), own.predictor.predict(dataset.X))


# What is said of the score of the run


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path}/mlflow.db", "bakeoff")


def add_run(store: Store, configuration: str, score: float = 0.75, splits: str = "folds") -> StoredRun:
    """Write a finished run on iris."""
    tags = {"dataset_digest": "iris", "splits_digest": splits, "config_hash": configuration}
    run_id = store.client.create_run(store.experiment_id, tags=tags).info.run_id
    store.client.log_metric(run_id, "test_accuracy", score)
    store.client.set_terminated(run_id)
    (run,) = read_stored_runs(store, [run_id])
    return run


def test_nothing_is_said_of_the_only_configuration_nor_of_a_run_without_a_score(store: Store) -> None:
    add_run(store, "knn")
    assert describe_choice(store, add_run(store, "knn")) == []
    run_id = store.client.create_run(store.experiment_id).info.run_id
    assert describe_choice(store, *read_stored_runs(store, [run_id])) == []


def test_the_best_of_several_is_optimistic_by_their_number_and_the_cure_is_named(store: Store) -> None:
    # Experiments of the same store share their test rows.
    add_run(open_store(store.uri, "another"), "svm")
    # Another seed has other test rows, but it is among those that the best one was chosen from.
    add_run(store, "knn of another seed", splits="other folds")
    best = add_run(store, "knn", 0.8125)
    (sentence,) = describe_choice(store, best)
    assert sentence.startswith(
        "3 configurations have been scored on these rows; if the run was chosen for its test_accuracy, that score is"
    )
    assert "dataset.test_path=FILE" in sentence
    assert "tuning=grid evaluation=kfold" in sentence
