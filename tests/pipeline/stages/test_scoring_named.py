"""Metrics by the names of scikit-learn, of the user, and of cost matrices: numbers, sign, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import make_classification, make_regression
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.metrics import (
    brier_score_loss,
    fbeta_score,
    get_scorer,
    get_scorer_names,
    hinge_loss,
    make_scorer,
    mean_pinball_loss,
    roc_auc_score,
)
from sklearn.neighbors import KNeighborsClassifier

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring.choice import choose_metrics
from bakeoff.pipeline.stages.scoring.metrics import CLASSIFICATION, REGRESSION, Metric, compute_score
from bakeoff.pipeline.stages.scoring.names import DEFAULTS
from bakeoff.pipeline.stages.scoring.predictions import Predictions, predict_rows
from bakeoff.pipeline.stages.scoring.scorers import (
    Target,
    find_bounds,
    find_metric,
    has_fixed_scale,
    is_greater_better,
    list_scorer_names,
    name_entry,
)

OF_NUMBERS = {
    "d2_absolute_error_score", "explained_variance", "neg_max_error", "neg_mean_absolute_error",
    "neg_mean_absolute_percentage_error", "neg_mean_gamma_deviance", "neg_mean_poisson_deviance",
    "neg_mean_squared_error", "neg_mean_squared_log_error", "neg_median_absolute_error", "neg_root_mean_squared_error",
    "neg_root_mean_squared_log_error", "r2",
}  # fmt: skip
"""The scorers under "Regression" in scikit-learn's user guide."""
OF_TWO_CLASSES = {
    "average_precision", "f1", "jaccard", "neg_negative_likelihood_ratio", "negative_likelihood_ratio",
    "positive_likelihood_ratio", "precision", "recall", "roc_auc", "top_k_accuracy",
}  # fmt: skip
"""Scorers that scikit-learn does not compute for three classes, or, the last, not for two."""
WITHOUT_WEIGHTS = {
    "adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score", "fowlkes_mallows_score",
    "homogeneity_score", "mutual_info_score", "neg_negative_likelihood_ratio",
    "negative_likelihood_ratio", "normalized_mutual_info_score", "positive_likelihood_ratio", "rand_score",
    "v_measure_score",
}  # fmt: skip
"""Scorers whose functions have no ``sample_weight``."""
OTHERS_OF_CLASSES = [name for name in list_scorer_names("classification") if name not in CLASSIFICATION]
OTHERS_OF_NUMBERS = [name for name in list_scorer_names("regression") if name not in REGRESSION]


def of_classes(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of classes 0, 1, … that no model separates."""
    X, y = make_classification(200, 6, n_informative=4, n_classes=n_classes, flip_y=0.3, random_state=0)
    return X, y


def of_numbers() -> tuple[np.ndarray, np.ndarray]:
    """Return rows with positive targets, whose predictions are positive as well."""
    X, y = make_regression(200, 6, noise=50, random_state=0)
    return X, y - y.min() + 1000


def score(name: str, model: Any, X: np.ndarray, y: np.ndarray, **parts: Any) -> float:
    """Return a score of the second half of some rows by its name."""
    is_classifier = hasattr(model, "classes_")
    classes = parts.pop("classes", np.unique(y) if is_classifier else None)
    task = "classification" if is_classifier else "regression"
    metric = choose_metrics([name], task, model)[name]
    positive = parts.pop("positive", None)
    return compute_score(metric, predict_rows(model, X[100:], y[100:], classes, positive, **parts))


def score_by_scikit_learn(name: str, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the value of the scorer of a name, or minus that of the negative scorer of a natural name."""
    if name in get_scorer_names():
        return float(get_scorer(name)(model, X[100:], y[100:]))
    return -float(get_scorer(f"neg_{name}")(model, X[100:], y[100:]))


OF_TWO = sorted(set(OTHERS_OF_CLASSES) - {"top_k_accuracy"})
OF_THREE = sorted(set(OTHERS_OF_CLASSES) - OF_TWO_CLASSES | {"top_k_accuracy"})


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [*((name, 2) for name in OF_TWO), *((name, 3) for name in OF_THREE), *((name, 0) for name in OTHERS_OF_NUMBERS)],
)
def test_a_scorer_gives_the_number_of_the_scorer_on_the_model(name: str, n_classes: int) -> None:
    X, y = of_classes(n_classes) if n_classes else of_numbers()
    model = (LogisticRegression() if n_classes else Ridge()).fit(X[:100], y[:100])
    assert score(name, model, X, y) == pytest.approx(score_by_scikit_learn(name, model, X, y), rel=1e-14)


@pytest.mark.parametrize("name", ["jaccard", "f1_macro", "positive_likelihood_ratio", "neg_brier_score"])
def test_the_positive_class_is_the_one_of_the_dataset_and_not_the_last(name: str) -> None:
    X, y = of_classes(2)
    swapped = 1 - y
    reference = LogisticRegression().fit(X[:100], swapped[:100])  # 1 stands for "a"
    labels = np.array(["a", "b"])[y]
    model = LogisticRegression().fit(X[:100], labels[:100])
    theirs = get_scorer(name)(reference, X[100:], swapped[100:])
    assert score(name, model, X, labels, positive="a") == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("name", [*OF_TWO, *OTHERS_OF_NUMBERS])
def test_a_row_of_weight_two_scores_as_two_rows_where_scikit_learn_takes_weights(name: str) -> None:
    is_of_classes = name in OTHERS_OF_CLASSES
    X, y = of_classes(2) if is_of_classes else of_numbers()
    learner = KNeighborsClassifier(7) if is_of_classes else Ridge()
    model = learner.fit(X[:100], y[:100])
    weights = np.random.default_rng(1).integers(0, 3, size=100)
    task = "classification" if is_of_classes else "regression"
    target = Target(y, np.unique(y) if is_of_classes else None, has_weights=True)
    if name in WITHOUT_WEIGHTS:
        with pytest.raises(UserError, match=r"unexpected keyword argument 'sample_weight'"):
            choose_metrics([name], task, model, target)
        return
    metric = choose_metrics([name], task, model, target)[name]
    rows = 100 + np.repeat(np.arange(100), weights)
    classes = target.classes
    weighted = predict_rows(model, X[100:], y[100:], classes, None, weights=weights.astype(float))
    repeated = predict_rows(model, X[rows], y[rows], classes, None)
    # The median of weighted rows lies at a row, and that of repeated rows may lie between two.
    tolerance = 1e-2 if "median" in name or name == "d2_absolute_error_score" else 1e-9
    assert compute_score(metric, weighted) == pytest.approx(compute_score(metric, repeated), rel=tolerance)


def test_scorers_are_listed_under_the_task_that_scikit_learns_guide_gives_them() -> None:
    natural = {name.removeprefix("neg_") for name in OF_NUMBERS if name.startswith("neg_")}
    assert set(list_scorer_names("regression")) == OF_NUMBERS | natural
    others = {name for name in get_scorer_names() if name not in OF_NUMBERS and not name.endswith("_samples")}
    assert others <= set(list_scorer_names("classification"))
    assert not set(list_scorer_names("classification")) & set(list_scorer_names("regression"))


def test_the_negative_of_an_error_is_better_if_greater_and_the_error_if_lower() -> None:
    for name in get_scorer_names():
        if name.startswith("neg_"):
            assert is_greater_better(name)
            assert not is_greater_better(name.removeprefix("neg_"))
    with pytest.raises(KeyError):
        is_greater_better("neg_accuracy")


def test_differences_of_scores_on_a_fixed_scale_are_absolute() -> None:
    for name in ("accuracy", "f1_macro", "r2", "brier_score", "neg_brier_score", "mcc"):
        assert has_fixed_scale(find_bounds(name))
    for name in ("rmse", "log_loss", "neg_log_loss", "max_error", "mutual_info_score", "cost"):
        assert not has_fixed_scale(find_bounds(name))


def draw_predictions(name: str, seed: int) -> Predictions:
    """Return random predictions of 12 rows, which are all right or all wrong for some seeds."""
    rng = np.random.default_rng(seed)
    n_classes = 2 if name in OF_TWO_CLASSES - {"top_k_accuracy"} else 3
    if name in REGRESSION or name in OTHERS_OF_NUMBERS:
        truth = rng.uniform(0.1, 2, 12)
        return Predictions(truth, truth if seed == 0 else rng.uniform(0.1, 9, 12))
    truth = rng.permutation(np.arange(12) % n_classes)
    predicted = {0: truth, 1: (truth + 1) % n_classes}.get(seed, rng.integers(0, n_classes, 12))
    probabilities = rng.dirichlet(np.full(n_classes, 0.1), 12) if seed > 1 else np.eye(n_classes)[predicted]
    decision = probabilities[:, 1] if n_classes == 2 else probabilities
    positive = 1 if n_classes == 2 else None
    return Predictions(truth, predicted, probabilities, decision, np.arange(n_classes), positive)


SHARP = {"accuracy", "brier", "neg_brier_score", "mcc", "r2", "f1", "rmse", "neg_max_error", "explained_variance"}
"""Metrics some of which the drawn predictions bring to each finite bound."""


@pytest.mark.parametrize("name", [*CLASSIFICATION, *REGRESSION, *OTHERS_OF_CLASSES, *OTHERS_OF_NUMBERS])
def test_no_score_is_beyond_its_bounds(name: str) -> None:
    low, high = find_bounds(name)
    scores = [compute_score(find_metric(name), draw_predictions(name, seed)) for seed in range(20)]
    found = [score for score in scores if not math.isnan(score)]
    assert found
    assert low - 1e-12 <= min(found)
    assert max(found) <= high + 1e-12
    if name in SHARP:
        assert math.isinf(high) or max(found) == pytest.approx(high)
        assert math.isinf(low) or low in {-1.0} or min(found) == pytest.approx(low)


# Undefined scores


CONSTANT_TRUTHS: dict[str, tuple[list[int], list[float] | None]] = {
    "one row": ([1], None),
    "two equal rows": ([1, 1], None),
    "one target": ([1, 1, 1, 1], None),
    "one target among the rows that count": ([1, 2, 1, 1], [1.0, 0.0, 0.5, 2.0]),
}
RELATIVE_TO_SPREAD = {
    "adjusted_mutual_info_score", "adjusted_rand_score", "average_precision", "completeness_score", "d2_brier_score",
    "d2_log_loss_score", "fowlkes_mallows_score", "homogeneity_score", "kappa", "matthews_corrcoef", "mcc",
    "mutual_info_score", "normalized_mutual_info_score", "rand_score", "roc_auc", "roc_auc_ovo",
    "roc_auc_ovo_weighted", "roc_auc_ovr", "roc_auc_ovr_weighted", "v_measure_score",
    "d2_absolute_error_score", "explained_variance", "r2",
}  # fmt: skip
"""Scores that compare a model with guessing, or the order or grouping of rows of different targets."""
OWN = {
    0: ["r2_score", "explained_variance_score", "d2_pinball_score", "d2_tweedie_score"],
    2: ["cohen_kappa_score", "matthews_corrcoef", "homogeneity_score"],
    3: ["cohen_kappa_score", "matthews_corrcoef", "homogeneity_score"],
}
"""Functions of scikit-learn that a user names, by the number of classes."""


def list_predictions(truth: np.ndarray, n_classes: int) -> list[Predictions]:
    """Return predictions of the same classes, or of numbers if there are none: all right, all wrong, and drawn."""
    rng = np.random.default_rng(0)
    if not n_classes:
        drawn = [
            truth + shift for shift in (np.zeros(len(truth)), np.ones(len(truth)), rng.uniform(0.1, 2, len(truth)))
        ]
        return [Predictions(truth.astype(float), numbers) for numbers in drawn]
    answers = [truth, (truth + 1) % n_classes, rng.integers(0, n_classes, len(truth))]
    made = []
    for certainty, predicted in zip((0.9, 0.8, 0.7), answers, strict=True):
        probabilities = np.full((len(truth), n_classes), (1 - certainty) / (n_classes - 1))
        probabilities[np.arange(len(truth)), predicted] = certainty
        decision = probabilities[:, 1] - 0.5 if n_classes == 2 else probabilities
        made.append(Predictions(truth, predicted, probabilities, decision, np.arange(n_classes)))
    return made


def list_metrics(n_classes: int) -> dict[str, Metric]:
    """Return every metric that a YAML file may name for a dataset of some classes, or of numbers."""
    named = [*OTHERS_OF_CLASSES, *CLASSIFICATION] if n_classes else [*OTHERS_OF_NUMBERS, *REGRESSION]
    labels = np.arange(n_classes) if n_classes else None
    target = Target(np.arange(1.0, 7.0), labels)
    learner = LogisticRegression() if n_classes else Ridge()
    entries = [{"_target_": name, "name": f"own_{name}", "greater_is_better": True} for name in OWN[n_classes]]
    task = "classification" if n_classes else "regression"
    own = choose_metrics(entries, task, learner, target, find_function=lambda name: getattr(metrics, name))
    return {**{name: find_metric(name) for name in named}, **own}


@pytest.mark.filterwarnings("ignore:.*is not defined on some rows")
@pytest.mark.parametrize("rows", CONSTANT_TRUTHS)
@pytest.mark.parametrize(("n_classes", "positive"), [(0, None), (2, None), (2, 1), (3, None), (3, 1)])
def test_no_score_of_rows_with_one_target_is_a_number_that_says_nothing(
    rows: str, n_classes: int, positive: int | None
) -> None:
    given, weights = CONSTANT_TRUTHS[rows]
    truth = np.array(given) % n_classes if n_classes else np.array(given)
    of_rows: dict[str, Any] = {"positive": positive, "weights": None if weights is None else np.array(weights)}
    tried = [replace(predictions, **of_rows) for predictions in list_predictions(truth, n_classes)]
    for name, metric in list_metrics(n_classes).items():
        if weights and not metric.needs_spread and name in WITHOUT_WEIGHTS:
            continue
        scores = [compute_score(metric, predictions) for predictions in tried]
        assert not np.isinf(scores).any(), name
        # A number that is the same for right and wrong predictions would be that of any model.
        assert len(set(scores)) > 1 or np.isnan(scores).all(), (name, scores)
        if name in RELATIVE_TO_SPREAD or name.startswith("own_"):
            assert np.isnan(scores).all(), (name, scores)


def test_an_error_of_a_scorer_on_some_rows_is_an_undefined_score_and_a_warning() -> None:
    metric = choose_metrics(["mean_squared_log_error"], "regression", Ridge())["mean_squared_log_error"]
    predictions = Predictions(np.array([1.0, 2.0]), np.array([-3.0, 2.0]))
    with pytest.warns(UserWarning, match="mean_squared_log_error is not defined on some rows: Root|Mean Squared"):
        assert math.isnan(compute_score(metric, predictions))


def test_a_scorer_does_not_depend_on_whether_another_metric_needs_decision_values() -> None:
    X, y = of_classes(2)
    model = LogisticRegression().fit(X[:100], y[:100])
    metric = choose_metrics(["roc_auc_ovr"], "classification", model)["roc_auc_ovr"]
    both = predict_rows(model, X, y, np.arange(2), 1, with_decision=True)
    assert both.decision is not None
    assert compute_score(metric, both) == compute_score(metric, replace(both, decision=None))


# Metrics that are rejected before a fit


@pytest.mark.parametrize(
    ("name", "learner", "y", "message"),
    [
        ("neg_brier_score", Perceptron(), list("ab"), "needs predict_proba, and Perceptron has none"),
        ("roc_auc", Perceptron(), list("abc"), "with more than two classes it needs predict_proba"),
        ("top_k_accuracy", KNeighborsClassifier(), list("ab"), "not defined for 2 classes"),
        ("mean_squared_log_error", Ridge(), [-2.0, 1.0, 2.0], "not defined for targets from -2 to 2"),
        ("r2", DummyRegressor(), [5.0, 5.0], "not defined for targets from 5 to 5 and DummyRegressor"),
        ("explained_variance", DummyRegressor(), [5.0, 5.0], "not defined for targets from 5 to 5"),
    ],
)
def test_a_metric_that_is_not_defined_for_the_dataset_is_refused(
    name: str, learner: Any, y: list[Any], message: str
) -> None:
    values = np.array(y)
    is_text = values.dtype.kind == "U"
    target = Target(values, np.unique(values) if is_text else None)
    with pytest.raises(UserError, match=message):
        choose_metrics([name], "classification" if is_text else "regression", learner, target)


LABELS = np.array(["no", "yes"])
TWO = Target(np.array(["no", "yes", "yes", "no"]), LABELS, positive="yes")
TRUTH = np.array(["yes", "yes", "yes", "no", "no", "no", "no", "no"])
PREDICTED = np.array(["yes", "yes", "no", "yes", "no", "no", "no", "no"])
ROWS = np.linspace(-2, 2, 8).reshape(-1, 1)


# Metrics of the user, which dotted names stand for below


def profit(y_true: np.ndarray, y_pred: np.ndarray, gain: float = 5.0, loss: float = 1.0) -> float:
    """Return the profit of a campaign that calls all who are predicted to say yes."""
    is_called = y_pred == "yes"
    return float(gain * np.sum(is_called & (y_true == "yes")) - loss * np.sum(is_called & (y_true == "no")))


def weighted_error(y_true: np.ndarray, y_pred: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    return float(np.average(y_true != y_pred, weights=sample_weight))


def returns_array(y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
    return np.asarray(y_true == y_pred)


def divides(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    return 1 / int(np.sum(y_true == "perhaps"))


FOUND = {
    "mine.profit": profit,
    "mine.weighted_error": weighted_error,
    "mine.returns_array": returns_array,
    "mine.divides": divides,
    "mine.undefined": lambda y_true, y_pred: math.nan,
    "mine.f2": make_scorer(fbeta_score, beta=2, pos_label="yes"),
    "mine.loss": make_scorer(weighted_error, greater_is_better=False),
    "mine.sharpness": make_scorer(brier_score_loss, response_method="predict_proba", pos_label="yes"),
    "sklearn.metrics.fbeta_score": fbeta_score,
    "sklearn.metrics.hinge_loss": hinge_loss,
    "sklearn.metrics.brier_score_loss": brier_score_loss,
    "sklearn.metrics.roc_auc_score": roc_auc_score,
    "sklearn.metrics.mean_pinball_loss": mean_pinball_loss,
}


def choose(entry: Any, learner: Any = None, target: Target = TWO) -> Metric:
    task = "regression" if target.classes is None else "classification"
    learner = LogisticRegression() if learner is None else learner
    chosen = choose_metrics([entry], task, learner, target, find_function=FOUND.__getitem__)
    return chosen[name_entry(entry)]


def value(entry: Any, target: Target = TWO, **parts: Any) -> float:
    predictions = Predictions(TRUTH, PREDICTED, classes=LABELS, positive=target.positive, **parts)
    return compute_score(choose(entry, target=target), predictions)


def test_a_function_gets_the_labels_of_the_dataset_and_further_arguments() -> None:
    entry = {"_target_": "mine.profit", "greater_is_better": True, "loss": 2}
    assert value(entry) == 2 * 5 - 2
    assert value({**entry, "gain": 1}) == 2 - 2
    assert math.isnan(value({"_target_": "mine.undefined", "greater_is_better": True}))


def test_a_function_keeps_its_natural_sign() -> None:
    entry = {"_target_": "mine.weighted_error", "greater_is_better": False}
    assert value(entry) == 2 / 8
    assert not choose(entry).greater_is_better
    assert not is_greater_better("weighted_error", [entry])
    assert not has_fixed_scale(find_bounds("weighted_error", [entry]))


def test_a_scorer_gives_the_number_of_make_scorer_of_which_more_is_better() -> None:
    X, y = ROWS, TRUTH
    model = LogisticRegression().fit(X, y)
    predictions = predict_rows(model, X, y, LABELS, "yes")
    for name in ("f2", "loss", "sharpness"):
        metric = choose({"_target_": f"mine.{name}"})
        scorer: Any = FOUND[f"mine.{name}"]
        assert compute_score(metric, predictions) == pytest.approx(scorer(model, X, y), rel=1e-14)
        assert metric.greater_is_better
    assert choose({"_target_": "mine.sharpness"}).needs == ("predict_proba",)
    assert choose({"_target_": "mine.f2"}).needs == ()


@pytest.mark.parametrize("positive", ["no", "yes"])
def test_the_positive_class_of_the_dataset_is_that_of_a_function_that_takes_one(positive: str) -> None:
    target = Target(TWO.y, LABELS, positive=positive)
    entry = {"_target_": "sklearn.metrics.fbeta_score", "beta": 2, "greater_is_better": True}
    expected = fbeta_score(TRUTH, PREDICTED, beta=2, pos_label=positive)
    assert value(entry, target) == pytest.approx(expected)
    given = {**entry, "pos_label": "no"}
    assert value(given, target) == pytest.approx(fbeta_score(TRUTH, PREDICTED, beta=2, pos_label="no"))


@pytest.mark.parametrize("positive", ["no", "yes"])
def test_a_function_of_probabilities_gets_those_of_its_positive_class(positive: str) -> None:
    target = Target(TWO.y, LABELS, positive=positive)
    entry = {"_target_": "sklearn.metrics.brier_score_loss", "greater_is_better": False, "needs": "predict_proba"}
    model = LogisticRegression().fit(ROWS, TRUTH)
    column = model.predict_proba(ROWS)[:, list(LABELS).index(positive)]
    score = compute_score(choose(entry, target=target), predict_rows(model, ROWS, TRUTH, LABELS, positive))
    assert score == pytest.approx(brier_score_loss(TRUTH, column, pos_label=positive))


def test_a_function_of_either_response_gets_probabilities_where_there_are_any() -> None:
    entry = {
        "_target_": "sklearn.metrics.roc_auc_score",
        "name": "area",
        "greater_is_better": True,
        "needs": ["decision_function", "predict_proba"],
    }
    metric = choose(entry)
    assert metric.needs == ("predict_proba", "decision_function")
    opposite = np.column_stack([np.arange(8), 8 - np.arange(8)]) / 8
    predictions = Predictions(TRUTH, PREDICTED, probabilities=opposite, decision=np.arange(8.0), classes=LABELS)
    assert compute_score(metric, predictions) == roc_auc_score(TRUTH, opposite[:, 1]) != 0


def test_weights_reach_a_function_that_takes_them_and_others_are_refused() -> None:
    weighted = Target(TWO.y, LABELS, "yes", has_weights=True)
    entry = {"_target_": "mine.weighted_error", "greater_is_better": False}
    weights = np.array([0, 0, 3.0, 0, 1, 0, 0, 0])
    assert value(entry, weighted, weights=weights) == 3 / 4
    with pytest.raises(UserError, match=r"mine.profit fails on .* unexpected keyword argument 'sample_weight'"):
        choose({"_target_": "mine.profit", "greater_is_better": True}, target=weighted)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"name": "x"}, "has no _target_"),
        ({"_target_": "mine.profit", "greater_is_better": True, "gian": 3}, "mine.profit fails on .* argument 'gian'"),
        ({"_target_": "mine.profit", "greater_is_better": True, "name": "f1"}, "'f1', which is the name of another"),
        ({"_target_": "mine.profit", "greater_is_better": True, "name": "cost"}, "is the name of another"),
        ({"_target_": "mine.profit", "greater_is_better": True, "name": "a b"}, "must consist of letters, digits and"),
        ({"_target_": "mine.profit", "greater_is_better": True, "name": "x_std"}, "must not end with _std"),
        ({"_target_": "mine.f2", "greater_is_better": False}, "is a scorer, which already sets greater_is_b"),
        ({"_target_": "mine.f2", "beta": 3}, "is a scorer, which already sets beta; remove it"),
        ({"_target_": "mine.returns_array", "greater_is_better": True}, "fails on made-up predictions .*TypeError"),
        ({"_target_": "mine.divides", "greater_is_better": True}, "fails on made-up .* ZeroDivisionError: division by"),
    ],
)
def test_metrics_of_the_user_that_cannot_be_computed_are_refused(entry: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose(entry)


def test_two_metrics_of_one_name_are_refused() -> None:
    entries = [{"_target_": "mine.f2", "name": "f"}, {"_target_": "mine.loss", "name": "f"}]
    with pytest.raises(UserError, match="has two metrics called 'f'"):
        choose_metrics(entries, "classification", LogisticRegression(), TWO, find_function=FOUND.__getitem__)


# Costs


def cost(costs: Any, truth: str, predicted: str, labels: str = "abc", weights: Any = None) -> float:
    classes = np.array(list(labels))
    target = Target(np.array(list(truth)), classes)
    chosen = choose_metrics(["cost"], "classification", LogisticRegression(), target, costs)
    predictions = Predictions(np.array(list(truth)), np.array(list(predicted)), classes=classes, weights=weights)
    return compute_score(chosen["cost"], predictions)


THREE_COSTS = {"a": {"b": 1, "c": 2}, "b": {"a": 3, "c": 4}, "c": {"a": 5, "b": 6}}


def test_the_cost_is_the_mean_over_rows() -> None:
    assert cost(THREE_COSTS, "aabbcc", "abbcca") == pytest.approx((1 + 4 + 5) / 6)
    assert cost(THREE_COSTS, "aabbcc", "aabbcc") == 0
    # A right prediction may gain.
    gains = {"a": {"a": -2, "b": 1}, "b": {"a": 10}}
    assert cost(gains, "aab", "aba", "ab") == pytest.approx((-2 + 1 + 10) / 3)
    weights = np.array([1, 1, 0, 1, 0, 1.0])
    assert cost(THREE_COSTS, "aabbcc", "abbcca", weights=weights) == pytest.approx((1 + 4 + 5) / 4)


def test_costs_add_their_metric_at_the_end() -> None:
    target = Target(np.array(list("ab")), np.array(list("ab")))
    costs = {"a": {"b": 1}, "b": {"a": 2}}
    chosen = choose_metrics(None, "classification", LogisticRegression(), target, costs)
    assert list(chosen) == [*DEFAULTS["classification"], "cost"]
    assert not chosen["cost"].greater_is_better
    named = choose_metrics(["cost", "f1"], "classification", LogisticRegression(), target, costs)
    assert list(named) == ["cost", "f1"]


@pytest.mark.parametrize("classes", [[False, True], ["False", "True"], ["false", "true"]])
def test_labels_are_those_of_yaml_however_the_dataset_spells_them(classes: list[Any]) -> None:
    labels = np.array(classes)
    target = Target(labels, labels)
    costs = {True: {False: 10}, "false": {"True": 1}}
    metric = choose_metrics(["cost"], "classification", LogisticRegression(), target, costs)["cost"]
    predictions = Predictions(labels, labels[::-1], classes=labels)
    assert compute_score(metric, predictions) == pytest.approx(11 / 2)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"ill": {"wel": 1}, "well": {"ill": 5}}, r"evaluation.costs.ill names 'wel'"),
        ({"ill": {"well": "much"}, "well": {"ill": 5}}, "evaluation.costs.ill.well='much' must be a number"),
        ({"ill": {"well": math.inf}, "well": {"ill": 5}}, "evaluation.costs.ill.well=inf must be a number"),
    ],
)
def test_costs_that_are_not_those_of_the_classes_are_refused(costs: Any, message: str) -> None:
    labels = np.array(["ill", "well"])
    with pytest.raises(UserError, match=message):
        choose_metrics(None, "classification", LogisticRegression(), Target(labels, labels), costs)


def test_costs_of_numbers_are_refused() -> None:
    with pytest.raises(UserError, match="the task is regression; remove it"):
        choose_metrics(None, "regression", Ridge(), Target(np.array([1.0, 2.0])), {"a": {"b": 1}})
