"""The rules of a tree in words hold for the rows as they are, whatever preprocessing has done to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conditions import find_rows
from doubles import preset
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from bakeoff import learners
from bakeoff.pipeline.commands.explain.tree_rules import Rule, list_rules, trace_features
from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.stages.preprocessing import (
    AsNominal,
    OrderCodes,
    make_preprocessing,
)

GENERATOR = np.random.default_rng(3)
N = 400


DECKS = ["low", "mid", "top"]


def make_table() -> pd.DataFrame:
    age = GENERATOR.gamma(6.0, 5.0, N).round(1)
    age[GENERATOR.random(N) < 0.15] = np.nan
    port = GENERATOR.choice(["Cherbourg", "Queenstown", "South Hampton", "none"], N, p=[0.3, 0.2, 0.45, 0.05])
    table = pd.DataFrame({
        "age": age,
        # Numbers that five digits do not tell apart.
        "fare": 7.25 + GENERATOR.integers(0, 9, N) * 1e-7 + GENERATOR.choice([0.0, 50.0], N),
        "sex": pd.Categorical(GENERATOR.choice(["female", "male"], N)),
        "port": pd.Categorical([None if each == "none" else each for each in port]),
        "deck": pd.Categorical(GENERATOR.choice(DECKS, N), categories=DECKS, ordered=True),
    })  # fmt: skip
    return table


X = make_table()
SCORE = (
    np.nan_to_num(X["age"], nan=45) / 20
    + (X["sex"] == "female") * 1.5
    + (X["fare"] * 1e7 % 10 > 4)
    + X["port"].map({"Cherbourg": 1.0, "Queenstown": -1.0}).astype(float).fillna(0)
    + X["deck"].cat.codes
    + GENERATOR.normal(0, 0.5, N)
).to_numpy()
Y = np.where(np.median(SCORE) < SCORE, "yes", "no")
MEDIAN = SimpleImputer(strategy="median")
FREQUENT = SimpleImputer(strategy="most_frequent")
ONE_HOT = OneHotEncoder(sparse_output=False)


def encode(*scalers: Any, fill: bool = True) -> Any:
    """Return steps that scale numbers, and encode values in columns of 0 and 1."""
    numeric = [MEDIAN, *scalers] if fill else list(scalers)
    return make_preprocessing(numeric=numeric, nominal=[ONE_HOT])


def explain_tree(pipeline: Any, rows: pd.DataFrame) -> list[Rule]:
    """Return the rules of the tree of a fitted pipeline."""
    return list_rules(pipeline[-1], trace_features(pipeline, rows))


def require_counts(rows: pd.DataFrame, rules: Sequence[Rule]) -> np.ndarray:
    """Require that each row satisfies one rule, which counts it; return which: (rules, m)."""
    masks = np.array([find_rows(rule.conditions, rows) for rule in rules])
    assert (masks.sum(axis=0) == 1).all()
    assert masks.sum(axis=1).tolist() == [rule.n_rows for rule in rules]
    return masks


def require_rules_of(pipeline: Any, rows: pd.DataFrame, rules: Sequence[Rule]) -> None:
    """Require that each row satisfies one rule, which counts it and predicts for it what the model does."""
    masks = require_counts(rows, rules)
    predicted = pipeline.predict(rows)
    for rule, mask in zip(rules, masks, strict=True):
        # Of classes that are equally frequent in a leaf, either may be named.
        assert set(predicted[mask]) == {rule.prediction} or rule.share == 0.5


AS_THEY_ARE = make_preprocessing(ordered=[OrderCodes()])


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_rules_of_a_tree_on_the_columns_themselves_say_where_missing_cells_go(criterion: Any) -> None:
    tree = learners.DecisionTreeClassifier(criterion=criterion, max_depth=6)
    pipeline = Pipeline([("preprocessing", AS_THEY_ARE), ("learner", tree)]).fit(X, Y)
    rules = explain_tree(pipeline, X)
    assert any("(or missing)" in rule.words for rule in rules)
    assert any("port = " in rule.words for rule in rules)
    require_rules_of(pipeline, X, rules)


@pytest.mark.parametrize(
    "preprocessing",
    [
        encode(),
        encode(StandardScaler()),
        encode(MinMaxScaler(), RobustScaler()),
        encode(QuantileTransformer(n_quantiles=50)),
        encode(PowerTransformer()),
        make_preprocessing(numeric=[MEDIAN], nominal=[ONE_HOT], ordered=[OrderCodes(), StandardScaler()]),
        make_preprocessing(numeric=[MEDIAN], nominal=[ONE_HOT], then=[VarianceThreshold(0.001)]),
    ],
    ids=["one_hot", "standard", "two scalers", "quantiles", "power", "ordered", "selection"],
)
def test_rules_undo_what_preprocessing_has_done(preprocessing: Any) -> None:
    pipeline = Pipeline([("preprocessing", preprocessing), ("learner", learners.DecisionTreeClassifier(max_depth=6))])
    rows = X.drop(columns="fare")
    pipeline.fit(rows, Y)
    rules = explain_tree(pipeline, rows)
    require_rules_of(pipeline, rows, rules)


def test_a_column_whose_missing_cells_are_filled_from_others_is_described_after_preprocessing() -> None:
    steps = make_preprocessing(numeric=[KNNImputer()], nominal=[ONE_HOT])
    rows = X[["age", "sex"]].assign(fare=X["fare"] * 1e6)
    pipeline = Pipeline([("preprocessing", steps), ("learner", learners.DecisionTreeClassifier(max_depth=5))])
    pipeline.fit(rows, Y)
    rules = explain_tree(pipeline, rows)
    assert any("age after preprocessing" in rule.words for rule in rules)
    filled = pipeline[:-1].transform(rows)["age"].to_numpy()
    named = [replace(rule, conditions=tuple(c.replace(" after preprocessing", "") for c in rule.conditions))
             for rule in rules]  # fmt: skip
    require_counts(rows.assign(age=filled), named)


def test_codes_are_turned_back_into_values() -> None:
    codes = make_preprocessing(nominal=[FREQUENT, AsNominal(), OrdinalEncoder()], ordered=[OrderCodes()])
    pipeline = Pipeline([("preprocessing", codes), ("learner", learners.DecisionTreeClassifier(max_depth=5))])
    rows = X[["sex", "port", "deck"]]
    pipeline.fit(rows, Y)
    rules = explain_tree(pipeline, rows)
    assert any("deck = low and" in rule.words for rule in rules)
    require_rules_of(pipeline, rows, rules)


ALL_KINDS = X.assign(
    day=pd.date_range("2024-02-01", periods=N),
    words=pd.Series(["a cat", "a dog", "no cat"] * N, dtype="string")[:N],
)
PRESETS = sorted(file.stem for file in (CONF / "preprocessing").glob("*.yaml") if file.stem not in ("auto", "none"))
COLUMNS_OF = {"impute_knn": ["age", "sex", "port", "deck", "day"], "pca": ["age", "fare"], "select": ["age", "fare"]}


@pytest.mark.parametrize("name", PRESETS)
def test_each_feature_of_each_preprocessing_is_traced(name: str) -> None:
    rows = ALL_KINDS[COLUMNS_OF.get(name, list(ALL_KINDS))]
    steps = preset(name)
    labels = [str(label) for label in steps.fit_transform(rows, Y)]
    traced = trace_features(Pipeline([("preprocessing", steps), ("learner", "passthrough")]), rows)
    assert [feature.label for feature in traced] == labels
    # A feature that stands for one column bears its name.
    assert all(feature.label.startswith(feature.name.removesuffix(" after preprocessing")) for feature in traced)


def test_the_rules_of_a_regression_name_the_mean() -> None:
    steps = make_preprocessing(nominal=[ONE_HOT])
    pipeline = Pipeline([("preprocessing", steps), ("learner", learners.DecisionTreeRegressor(max_depth=1))])
    rules = explain_tree(pipeline.fit(X[["sex"]], SCORE), X[["sex"]])
    means = {rule.conditions[0]: float(rule.prediction) for rule in rules}
    expected = pd.Series(SCORE).groupby(X["sex"], observed=True).mean()
    assert means == pytest.approx({f"sex = {sex}": expected[sex] for sex in ("female", "male")}, rel=1e-3)
    assert all(rule.share is None for rule in rules)


def test_a_tree_without_a_question_has_one_rule() -> None:
    pipeline = Pipeline([("learner", learners.DecisionTreeClassifier())]).fit(X[["sex"]], np.full(N, "yes"))
    rules = explain_tree(pipeline, X[["sex"]])
    assert [rule.words for rule in rules] == [f"yes (all of {N} rows)"]
