"""Bad input to every learner in the registry: a right answer or one clear sentence, never NaN, never an endless loop.

Warnings are errors here but for an iteration's saying that it has not ended, so that no overflow passes in silence.
"""

from __future__ import annotations

import inspect
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import check_and_split, experiment
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from bakeoff.learners import REGISTRY
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import evaluate_splits
from bakeoff.pipeline.stages.dataset import Dataset, load_lecture_table
from bakeoff.pipeline.stages.splitting import KFold, LeaveOneOut

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAMES = sorted(REGISTRY)
CLASSIFIERS = [name for name in NAMES if is_classifier(REGISTRY[name]())]
REGRESSORS = [name for name in NAMES if name not in CLASSIFIERS]
WEIGHTED = [name for name in NAMES if has_fit_parameter(REGISTRY[name](), "sample_weight")]
WITH_NOMINAL = [name for name in NAMES if get_tags(REGISTRY[name]()).input_tags.categorical]
SEPARATING = {"logistic_regression", "perceptron", "svm"}  # one class alone gives them nothing to tell apart
DRAWN = {"random_forest", "random_forest_regressor"}  # each tree sees other rows
STEPPING = {"mlp", "mlp_regressor"}  # ends near its optimum, somewhere
FLOOR = {"majority", "mean"}

LONGEST = 20
"""Seconds after which a loop counts as endless; the slowest learner takes a fraction of one."""


@pytest.fixture(autouse=True)
def _no_endless_loop() -> Iterator[None]:
    def end(*_: object) -> None:
        raise TimeoutError(f"no answer after {LONGEST} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def build(name: str, **given: Any) -> Any:
    """Return the learner, seeded; k-NN with all ties voting."""
    known = inspect.signature(REGISTRY[name]).parameters
    usual = {"random_state": 0, "ties": "all", "n_estimators": 20, **given}
    return REGISTRY[name](**{key: value for key, value in usual.items() if key in known})


def rows(name: str, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return two groups in four features, nothing tied; numbers as targets for a regressor."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4))
    codes = np.arange(n) % 2
    X[:, :2] += 2.0 * codes[:, None]
    return X, codes if name in CLASSIFIERS else X @ np.array([1.0, 2.0, 3.0, 4.0])


def answers(learner: Any, X: Any) -> dict[str, np.ndarray]:
    """Return all that the learner says of rows, having looked that it is finite and that probabilities sum to 1."""
    said = {}
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(learner, method):
            said[method] = np.asarray(getattr(learner, method)(X))
            assert said[method].dtype.kind != "f" or np.isfinite(said[method]).all(), method
    if "predict_proba" in said:
        np.testing.assert_allclose(said["predict_proba"].sum(axis=1), 1.0)
        assert not np.isnan(learner.predict_log_proba(X)).any()
    if hasattr(learner, "classes_"):
        assert np.isin(said["predict"], learner.classes_).all()
    return said


def sentence_of(what: Callable[[], Any]) -> str:
    """Return what is said against the input: short, and on one line; a warning is as good."""
    with pytest.raises((ValueError, UserWarning)) as refused:
        what()
    said = str(refused.value)
    assert 10 < len(said.split("\n")[0]) < 300  # scikit-learn's own of missing cells goes on with advice
    return said


def answer_or_sentence(learner: Any, X: Any, y: Any, **weights: Any) -> dict[str, np.ndarray] | str:
    """Return what the learner says of its own training rows, or the one sentence that refuses them."""
    try:
        return answers(learner.fit(X, y, **weights), X)
    except (ValueError, UserWarning):
        return sentence_of(lambda: answers(learner.fit(X, y, **weights), X))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("name", NAMES)
def test_infinite_cells_are_refused(name: str, value: float) -> None:
    X, y = rows(name)
    bad = X.copy()
    bad[3, 1] = value
    assert "infinity" in sentence_of(lambda: build(name).fit(bad, y))
    assert "infinity" in sentence_of(lambda: build(name).fit(X, y).predict(bad))


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_cell_is_taken_or_refused_as_the_learner_declares(name: str) -> None:
    X, y = rows(name)
    bad = X.copy()
    bad[3, 1] = np.nan
    bad[:, 2] = np.nan
    if get_tags(build(name)).input_tags.allow_nan:
        answers(build(name).fit(bad, y), bad)
        answers(build(name).fit(X, y), bad)
    else:
        assert "NaN" in sentence_of(lambda: build(name).fit(bad, y))
        assert "NaN" in sentence_of(lambda: build(name).fit(X, y).predict(bad))


@pytest.mark.parametrize("value", [0.0, 2.5, -1e150, 1e-150])
@pytest.mark.parametrize("name", NAMES)
def test_constant_columns_leave_the_floor(name: str, value: float) -> None:
    _, y = rows(name)
    y[::4] = y[0]  # a majority
    X = np.full((len(y), 3), value)
    if name == "mlp_regressor" and abs(value) > 1e100:
        assert "Standardize" in sentence_of(lambda: build(name).fit(X, y))
        return
    said = answers(build(name).fit(X, y), X)
    assert np.unique(said["predict"]).size == 1
    if name in DRAWN | STEPPING | {"perceptron"}:
        return
    if name in REGRESSORS:
        np.testing.assert_allclose(said["predict"], y.mean(), rtol=1e-9)
    else:
        assert said["predict"][0] == 0
    if "predict_proba" in said:
        np.testing.assert_allclose(said["predict_proba"][:, 1], y.mean(), atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_one_row_is_learnt_or_refused(name: str) -> None:
    X, y = rows(name)
    learner = build(name, n_neighbors=1)
    if name in SEPARATING:
        assert "class" in sentence_of(lambda: learner.fit(X[:1], y[:1]))
    else:
        said = answers(learner.fit(X[:1], y[:1]), X)
        assert said["predict"][0] == (y[0] if name in CLASSIFIERS else pytest.approx(y[0], rel=0.1))


@pytest.mark.parametrize("name", REGRESSORS)
def test_one_value_of_the_target_is_predicted(name: str) -> None:
    X, _ = rows(name)
    tolerance = 3.0 if name in STEPPING else 1e-9
    np.testing.assert_allclose(build(name).fit(X, np.full(len(X), 3.0)).predict(X), 3.0, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_contradict_each_other_share_the_answer(name: str) -> None:
    X, _ = rows(name)
    y = np.repeat([0, 1], len(X))
    said = answers(build(name, n_neighbors=2).fit(np.vstack([X, X]), y), X)
    if name in DRAWN | STEPPING:
        return
    if name in REGRESSORS:
        np.testing.assert_allclose(said["predict"], 0.5, atol=1e-9)
    elif "predict_proba" in said:
        np.testing.assert_allclose(said["predict_proba"], 0.5, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_collinear_columns_are_as_good_as_one(name: str) -> None:
    X, y = rows(name)
    alone = build(name, C=1e6).fit(X, y)
    copied = np.column_stack([X, X[:, 0], -2.0 * X[:, 1], X[:, 2] + X[:, 3]])
    said = answers(build(name, C=1e6).fit(copied, y), copied)["predict"]
    if name in CLASSIFIERS:
        assert np.mean(said == y) >= min(np.mean(alone.predict(X) == y), 0.9) - 0.1
    elif name in {"linear_regression", "mean"}:
        np.testing.assert_allclose(said, alone.predict(X), atol=1e-9)
    else:
        assert np.corrcoef(said, y)[0, 1] > 0.7


@pytest.mark.parametrize("name", NAMES)
def test_more_columns_than_rows_are_taken(name: str) -> None:
    X, y = rows(name, n=10)
    wide = np.tile(X, (1, 20))
    answers(build(name).fit(wide, y), wide)


@pytest.mark.parametrize("name", NAMES)
def test_an_unseen_category_is_answered_and_text_is_refused_by_those_that_want_numbers(name: str) -> None:
    X, y = rows(name)
    table = pd.DataFrame({"kind": pd.Categorical(["ash", "elm", "fir", "oak"] * 10), "size": X[:, 0]})
    query = pd.DataFrame({"kind": pd.Categorical(["yew", "ash"]), "size": [0.0, 1.0]})
    if name in WITH_NOMINAL:
        answers(build(name).fit(table, y), query)
    else:
        assert "accepts numbers only" in sentence_of(lambda: build(name).fit(table, y))


@pytest.mark.parametrize("name", NAMES)
def test_text_that_no_column_declares_is_refused_with_the_cure(name: str) -> None:
    _, y = rows(name)
    text = np.array([["a", "b"]] * len(y), dtype=object)
    said = sentence_of(lambda: build(name).fit(text, y))
    assert "X contains text" in said
    assert ("categorical_features" in said) == (name in WITH_NOMINAL)


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize(
    ("weight", "said"), [(-1.0, "[Nn]egative"), (np.nan, "NaN"), (np.inf, "infinity"), (None, "zero")]
)
def test_weights_that_mean_nothing_are_refused(name: str, weight: float | None, said: str) -> None:
    X, y = rows(name)
    weights = np.zeros(len(y)) if weight is None else np.append(np.ones(len(y) - 1), weight)
    with pytest.raises(ValueError, match=said):
        build(name).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@pytest.mark.parametrize("name", WEIGHTED)
def test_huge_and_tiny_weights_are_taken_or_refused(name: str, scale: float) -> None:
    X, y = rows(name)
    said = answer_or_sentence(build(name), X, y, sample_weight=np.full(len(y), scale))
    assert not isinstance(said, str) or (scale < 1 and "weigh" in said)  # where so many rows count, weight counts


UNITLESS = {
    "decision_tree",
    "decision_tree_regressor",
    "knn",
    "knn_regressor",
    "linear_regression",
    "naive_bayes",
    "svm",
}
"""Whose answers are the same in any unit of X."""


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@pytest.mark.parametrize("name", NAMES)
def test_huge_and_tiny_units_are_taken_or_refused(name: str, scale: float) -> None:
    X, y = rows(name)
    said = answer_or_sentence(build(name), X * scale, y)
    if name in UNITLESS | DRAWN | FLOOR:
        assert not isinstance(said, str), said
        usual = answers(build(name).fit(X, y), X)
        for method, values in said.items():
            np.testing.assert_allclose(values, usual[method], rtol=1e-6, atol=1e-9)
    else:
        assert not isinstance(said, str) or "tandardize" in said or "scale" in said


@pytest.mark.parametrize("far", [1e200, 1e307])
@pytest.mark.parametrize("name", NAMES)
def test_a_query_beyond_all_measure_is_answered_or_refused(name: str, far: float) -> None:
    X, y = rows(name)
    learner = build(name).fit(X, y)
    try:
        answers(learner, X * far)
    except ValueError:
        assert "X" in sentence_of(lambda: answers(learner, X * far))


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "int": lambda X: np.round(10 * X).astype(np.int64),
    "small int": lambda X: np.round(10 * X).astype(np.int8),
    "unsigned": lambda X: np.abs(np.round(10 * X)).astype(np.uint32),
    "bool": lambda X: X > 0,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "other byte order": lambda X: X.astype(">f8"),
    "Fortran": np.asfortranarray,
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1][::-1],
    "list": lambda X: X.tolist(),
    "DataFrame": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "objects": lambda X: X.astype(object),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_kinds_and_layouts_of_numbers_do_not_matter_and_are_left_alone(name: str, kind: str) -> None:
    numbers, y = rows(name)
    X = KINDS[kind](numbers)
    plain = np.array(X, dtype=np.float64)
    if isinstance(X, np.ndarray):
        X.flags.writeable = y.flags.writeable = False
    usual = answers(build(name).fit(plain, y), plain)
    for method, values in answers(build(name).fit(X, y), X).items():
        np.testing.assert_allclose(values, usual[method], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_class_missing_from_a_folds_training_is_only_never_predicted(name: str) -> None:
    X, codes = rows(name)
    codes[7] = 2
    labels = np.array(["a", "b", "rare"])[codes]
    dataset = Dataset("rare", pd.DataFrame(X, columns=list("wxyz")), labels, "classification", "kind")
    job = experiment(dataset, build(name), splitter=KFold(folds=4, stratify=False))
    folds = list(evaluate_splits(job, check_and_split(job).folds))
    without = [fold for fold in folds if "rare" in fold.predictions.truth]
    assert len(without) == 1
    assert "rare" not in without[0].predictions.predicted
    for fold in folds:
        assert np.isfinite(fold.scores["test_accuracy"])
        if fold.predictions.probabilities is not None:
            assert fold.predictions.probabilities.shape[1] == 3
            assert np.isfinite(fold.predictions.probabilities).all()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_nominal_columns_reach_the_learners_that_take_them_and_the_refusal_names_the_cure_for_others(name: str) -> None:
    job = experiment(load_lecture_table("mortgage", "decision"), build(name, n_neighbors=3), splitter=LeaveOneOut())
    if name in WITH_NOMINAL:
        assert len(list(evaluate_splits(job, check_and_split(job).folds))) == 10
    else:
        with pytest.raises(UserError, match="add preprocessing=one_hot"):
            check_and_split(job)


OUT_OF_RANGE: dict[str, dict[str, Any]] = {
    "decision_tree": {"criterion": "x", "max_depth": 0, "min_samples_leaf": 0, "ccp_alpha": -1.0},
    "knn": {"weights": "nearest", "bandwidth": 0, "p": 0, "metric": "cosines", "ties": "last", "algorithm": "ball"},
    "linear_regression": {"fit_intercept": "yes"},
    "logistic_regression": {
        "C": 0.0,
        "form": "logit",
        "solver": "liblinear",
        "penalty": "l1",
        "tol": 0,
        "max_iter": -1,
    },
    "mlp": {
        "activation": "step",
        "solver": "newton",
        "learning_rate": "falling",
        "learning_rate_init": 0.0,
        "alpha": -1.0,
        "batch_size": 0,
        "max_iter": 0,
        "max_fun": 0,
        "tol": -1.0,
        "validation_fraction": 1.0,
        "momentum": 1.0,
        "n_iter_no_change": 0,
    },
    "naive_bayes": {
        "alpha": np.inf,
        "var_smoothing": -1e-9,
        "smooth_prior": "yes",
        "handle_missing": "skip",
        "handle_unknown": "skip",
    },
    "perceptron": {"coef_init": "zero", "eta0": 0.0, "max_iter": 0, "tol": -1e-3, "n_iter_no_change": 0},
    "random_forest": {"n_estimators": 0, "max_samples": 0.0, "voting": "all", "n_jobs": 1.5},
    "ridge": {"alpha": -1.0},
    "svm": {"C": np.nan, "kernel": "cubic", "gamma": -1, "degree": -1, "tol": 0, "max_iter": -2},
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_a_parameter_out_of_range_is_named(name: str) -> None:
    X, y = rows(name)
    for parameter, value in OUT_OF_RANGE[name].items():
        with pytest.raises(ValueError, match=rf"'{parameter}' parameter of {REGISTRY[name].__name__} must be"):
            REGISTRY[name](**{parameter: value}).fit(X, y)


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_boolean_is_no_number_in_any_parameter(name: str, value: bool) -> None:
    constraints = REGISTRY[name]._parameter_constraints
    X, y = rows(name)
    for parameter in [parameter for parameter, allowed in constraints.items() if "boolean" not in allowed]:
        with pytest.raises(ValueError, match=rf"'{parameter}' parameter of \w+ must be .* Got '{value}' instead"):
            REGISTRY[name](**{parameter: value}).fit(X, y)
