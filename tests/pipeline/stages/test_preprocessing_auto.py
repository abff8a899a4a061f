"""preprocessing=auto gives each learner the columns that it takes, and says what it did.

Whether a learner depends on the units of the columns is what its predictions show.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import Recorder, check_and_split, experiment
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB, MultinomialNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from bakeoff import learners
from bakeoff.learners import REGISTRY
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import evaluate_splits
from bakeoff.pipeline.model.estimator_file import trusted_types
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.preprocessing import AutoPreprocessing, choose_preprocessing
from bakeoff.pipeline.stages.preprocessing.auto import is_scale_sensitive

AUTO = AutoPreprocessing()
ROWS = np.arange(60)
TABLE = pd.DataFrame({
    "mass": np.where(ROWS == 3, np.nan, 1000.0 * np.cos(ROWS)),
    "colour": pd.Series(np.array(["red", "blue", "green"])[ROWS % 3]).mask(ROWS == 5).astype("category"),
    "size": pd.Categorical(
        np.array(["L", "S", "M"])[ROWS % 7 % 3], categories=["S", "M", "L"], ordered=True
    ),
    "day": pd.to_datetime("2026-01-01") + pd.to_timedelta(ROWS * 11, unit="D"),
    "note": pd.Series(np.array(["a good one", "bad"])[ROWS % 2], dtype="string"),
})  # fmt: skip
KINDS = TABLE.assign(day=TABLE["day"].mask(ROWS == 7))
Y = np.where(np.cos(ROWS) > 0, "yes", "no")


def choose(learner: Any, X: pd.DataFrame, auto: AutoPreprocessing = AUTO) -> Any:
    """Return the transformer that is chosen for a learner; there must be one."""
    transformer = auto.choose([learner], X).transformer
    assert transformer is not None
    return transformer


AS_THEY_ARE = "all columns as they are"
ONE_HOT = "numeric: as they are; nominal: one-hot"
AS_NUMBERS = "numeric: median in missing cells, standardized; nominal: one-hot"
COMPLETE = "numeric: median in missing cells, standardized; nominal: most frequent value in missing cells, values"
SUMMARIES: list[tuple[Any, str]] = [
    *((REGISTRY[name](), AS_THEY_ARE) for name in ("naive_bayes", "majority")),
    *((REGISTRY[name](), ONE_HOT) for name in ("decision_tree", "random_forest")),
    (learners.DecisionTreeClassifier(nominal_splits="binary"), AS_THEY_ARE),
    *((REGISTRY[name](), AS_NUMBERS) for name in ("logistic_regression", "svm", "perceptron", "mlp")),
    (learners.KNeighborsClassifier(), "numeric: standardized; nominal: as they are"),
    (learners.KNeighborsClassifier(missing="error"), COMPLETE),
    (HistGradientBoostingClassifier(), AS_THEY_ARE),
    (HistGradientBoostingClassifier(categorical_features=None), ONE_HOT),
    (SVC(kernel="precomputed"), AS_THEY_ARE),
]


@pytest.mark.parametrize(("learner", "summary"), SUMMARIES)
def test_each_learner_receives_the_columns_that_it_takes(learner: Any, summary: str) -> None:
    chosen = AUTO.choose([learner], TABLE[["mass", "colour"]])
    assert chosen.summary == summary
    assert (chosen.transformer is None) == (summary == AS_THEY_ARE)


def test_one_setting_suits_the_learner_and_all_candidates_of_tuning() -> None:
    candidates = [learners.KNeighborsClassifier(), learners.KNeighborsClassifier(metric="mahalanobis")]
    assert "median in missing cells" in AUTO.choose(candidates, TABLE[["mass", "colour"]]).summary
    assert "median" not in AUTO.choose(candidates[:1], TABLE[["mass", "colour"]]).summary


def test_counts_are_not_negative_and_codes_are_codes() -> None:
    X = TABLE[["mass", "colour"]]
    # The rows that follow the first 40 are outside of their range.
    counts = choose(MultinomialNB(), X).fit(X.iloc[:40]).transform(X)
    assert counts.min().min() == 0.0
    assert counts.max().max() == 1.0
    codes = choose(CategoricalNB(), X).fit_transform(X)
    assert sorted(codes["mass"].unique()) == [0, 1, 2, 3, 4]
    for _, column in choose(CategoricalNB(), KINDS).fit_transform(KINDS).items():
        assert sorted(column.unique()) == list(range(column.nunique()))
    assert sorted(codes["colour"].unique()) == [0, 1, 2]


def test_a_row_without_any_cell_is_filled_for_every_learner() -> None:
    empty_row = TABLE[["mass", "colour"]].mask(pd.Series(ROWS == 9))
    assert not choose(learners.KNeighborsClassifier(), empty_row).fit_transform(empty_row).isna().to_numpy().any()


def test_ordered_dates_and_text_are_numbers_for_every_learner() -> None:
    for learner in (learners.DecisionTreeClassifier(), learners.LogisticRegression()):
        chosen = AUTO.choose([learner], KINDS)
        table = choose(learner, KINDS).fit_transform(KINDS)
        assert [str(dtype) for dtype in table.dtypes if str(dtype) not in ("float64", "category")] == []
        assert "ordered: positions in their order" in chosen.summary
        assert "date: parts of the date" in chosen.summary
        assert "text: tf-idf of 100 terms" in chosen.summary
    tree_table = choose(learners.DecisionTreeClassifier(), KINDS).fit_transform(KINDS)
    assert tree_table["size"].tolist()[:3] == [2.0, 0.0, 1.0]
    assert tree_table["day_year"].isna().tolist() == (ROWS == 7).tolist()


def test_rare_values_share_a_column_beyond_a_number_of_columns() -> None:
    many = pd.DataFrame({"zip": pd.Categorical([f"z{row // 2 if row < 40 else row}" for row in ROWS])})
    encoded = choose(learners.SVC(), many, AutoPreprocessing(max_values=8)).fit_transform(many)
    assert encoded.shape == (60, 8)
    assert (encoded.sum(axis=1) == 1).all()


def test_values_beyond_the_limit_of_a_learner_share_one_and_are_refused_without_auto() -> None:
    names = [f"z{row % 300 if row < 900 else 7}" for row in range(1200)]
    X = pd.DataFrame({"zip": pd.Categorical(names)})
    learner = HistGradientBoostingClassifier(max_iter=2)
    chosen = AUTO.choose([learner], X)
    assert chosen.summary == "nominal: the 254 most frequent values, the others merged"
    grouped = choose(learner, X).fit_transform(X)["zip"]
    assert grouped.nunique() == 255
    assert grouped[7] == "z7"
    y = np.where(np.arange(1200) % 2, "yes", "no")
    data = Dataset("zips", X, y, "classification", "y")
    assert check_and_split(experiment(data, learner, preprocessing=chosen.transformer)).folds
    with pytest.raises(
        UserError, match=r"column 'zip' has 300 values, but HistGradientBoostingClassifier accepts at most 255"
    ):
        check_and_split(experiment(data, learner))


def test_a_given_transformer_is_kept_and_returns_tables() -> None:
    X = TABLE[["mass"]].fillna(0)
    chosen = choose_preprocessing(StandardScaler(), [learners.SVC()], X)
    assert chosen.summary == ""
    assert chosen.transformer is not None
    assert chosen.transformer.fit_transform(X).columns.tolist() == ["mass"]


@pytest.mark.parametrize("name", [name for name, learner in REGISTRY.items() if is_classifier(learner())])
def test_every_classifier_runs_on_columns_of_every_kind(name: str) -> None:
    learner = REGISTRY[name]()
    data = Dataset("kinds", KINDS, Y, "classification", "y", positive="yes")
    prepared = experiment(data, learner, preprocessing=AUTO.choose([learner], KINDS).transformer)
    splits = check_and_split(prepared)
    (fold,) = evaluate_splits(prepared, splits.folds)
    assert fold.scores["test_accuracy"] > 0.3
    assert trusted_types(_dump(fold.model.pipeline)) is not None


def _dump(model: Any) -> bytes:
    import skops.io

    return skops.io.dumps(model)


UNITS = np.array([2.0**-30, 1000.0, 2.0**30])
FREE = [name for name, learner in REGISTRY.items() if not is_scale_sensitive(learner())]


def test_trees_naive_bayes_and_the_baselines_do_not_depend_on_units() -> None:
    assert set(FREE) == {
        "decision_tree", "decision_tree_regressor", "random_forest", "random_forest_regressor", "naive_bayes",
        "majority", "mean",
    }  # fmt: skip


@pytest.mark.parametrize("name", FREE)
def test_a_learner_that_says_so_predicts_the_same_in_other_units(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 8, size=(80, 3)).astype(float)  # exact in every unit
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    learner = REGISTRY[name]()
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    target = y if is_classifier(learner) else y.astype(float)
    expected = clone(learner).fit(X[:60], target[:60]).predict(X)
    scaled = clone(learner).fit(X[:60] * UNITS, target[:60]).predict(X * UNITS)
    assert scaled.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (DecisionTreeClassifier(), False),
        (GaussianNB(), False),
        (LogisticRegression(), True),
        (BaggingClassifier(LogisticRegression()), True),
        (VotingClassifier([("tree", DecisionTreeClassifier()), ("bayes", GaussianNB())]), False),
        (Recorder(), True),
    ],
)
def test_estimators_of_others_are_known_by_module_and_by_their_parts(learner: object, expected: bool) -> None:
    assert is_scale_sensitive(learner) is expected


def make_shops(n: int, n_shops: int) -> Dataset:
    """Return a numeric and a nominal column with values that occur equally often, and a numeric target."""
    rows = np.arange(n)
    X = pd.DataFrame({"x": rows * 7 % 11, "shop": pd.Categorical((rows % n_shops).astype(str))})
    return Dataset("shops", X, rows % 5 + 0.5, "regression", "y")


@pytest.mark.parametrize(
    ("name", "given", "n_shops", "preprocessing", "is_told"),
    [
        ("decision_tree_regressor", {}, 30, None, True),
        ("random_forest_regressor", {"n_estimators": 2}, 30, None, True),
        (
            "decision_tree_regressor",
            {},
            30,
            choose(REGISTRY["decision_tree_regressor"](), make_shops(300, 30).X),
            False,
        ),
        ("decision_tree_regressor", {"nominal_splits": "binary"}, 30, None, False),
        ("decision_tree_regressor", {}, 10, None, False),
        ("knn_regressor", {}, 30, None, False),
    ],
)
def test_many_branches_of_few_rows_are_told_in_one_line(
    name: str, given: dict[str, Any], n_shops: int, preprocessing: Any, is_told: bool
) -> None:
    dataset = make_shops(300, n_shops)
    trial = experiment(dataset, REGISTRY[name](**given), preprocessing=preprocessing)
    (fold,) = evaluate_splits(trial, check_and_split(trial).folds)
    expected = (
        "A multiway split of shop (30 values) has branches of fewer than 20 rows on average, which often lowers "
        "scores; try learner.nominal_splits=binary or preprocessing=auto."
    )
    assert fold.model.warnings == ((expected,) if is_told else ())
