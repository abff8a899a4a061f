"""Preflight: an experiment that cannot work is rejected before the first fit, and the remedy that is named works."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import check_and_split, experiment, numbered, preset
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bakeoff.learners import DecisionTreeClassifier as PrunableTree
from bakeoff.learners import DecisionTreeRegressor, MajorityClassifier, MeanRegressor
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, evaluate_splits
from bakeoff.pipeline.stages.dataset import Dataset, load_bundled, load_lecture_table
from bakeoff.pipeline.stages.preprocessing import AutoPreprocessing, make_preprocessing
from bakeoff.pipeline.stages.pruning import Pruning
from bakeoff.pipeline.stages.splitting import KFold, TimeSeries
from bakeoff.pipeline.stages.tuning import GridTuning, NoTuning

IRIS, DIABETES, MORTGAGE = load_bundled("iris"), load_bundled("diabetes"), load_lecture_table("mortgage", "decision")
HOLEY = replace(IRIS, X=IRIS.X.mask(IRIS.X < 1.0))
ONE_HOT = make_preprocessing(nominal=[OneHotEncoder(sparse_output=False, handle_unknown="ignore")])


def holey_mortgage() -> Dataset:
    X = MORTGAGE.X.copy()
    X.loc[0, "job"] = np.nan
    return replace(MORTGAGE, X=X)


def infinite(data: Dataset) -> Dataset:
    X = data.X.copy()
    X.iloc[3, 1] = np.inf
    return replace(data, X=X)


def with_column(name: str, cells: Any) -> Dataset:
    """Return the irises with one column more."""
    return replace(IRIS, X=IRIS.X.assign(**{name: cells}))


def knn(k: object = 5) -> KNeighborsClassifier:
    return KNeighborsClassifier(n_neighbors=k)


REFUSED: dict[str, tuple[Experiment, str]] = {
    "one class": (
        experiment(numbered(10, "a")),
        "dataset.target='y' has only one class, 'a'; a classifier needs at least two",
    ),
    "infinite target": (
        experiment(replace(DIABETES, y=np.where(DIABETES.y > 300, np.inf, DIABETES.y)), Ridge()),
        "dataset.target='target' contains infinite values; remove those rows",
    ),
    "regressor for classes": (
        experiment(IRIS, MeanRegressor()),
        "dataset=iris is for classification, but learner MeanRegressor is not a classifier; "
        "choose one of learner=.*majority",
    ),
    "transformer": (experiment(IRIS, StandardScaler()), "learner StandardScaler is not a classifier"),
    "no estimator": (experiment(IRIS, NoTuning()), "learner: NoTuning is not a scikit-learn estimator"),
    "unknown pruning": (
        experiment(pruning=Pruning("best_frist")),
        r"pruning.method='best_frist' is not a method. Did you mean 'best_first'\?",
    ),
    "pessimistic pruning for regression": (
        experiment(DIABETES, DecisionTreeRegressor(), pruning=Pruning("pessimistic")),
        "pruning=pessimistic counts misclassified rows; for regression use pruning=best_first",
    ),
    "confidence of a method without it": (
        experiment(IRIS, PrunableTree(), pruning=Pruning("best_first", confidence=0.1)),
        "pruning.confidence=0.1 applies to pruning=pessimistic only, but pruning.method=best_first; remove it",
    ),
    "confidence out of range": (
        experiment(IRIS, PrunableTree(), pruning=Pruning("pessimistic", confidence=0.6)),
        "pruning.confidence=0.6 must be above 0 and at most 0.5",
    ),
    "pruning without rows": (
        experiment(pruning=Pruning("bottom_up"), splitter=KFold()),
        "pruning=bottom_up needs a validation part, but evaluation.validation=0; set evaluation.validation=0.2",
    ),
    "tuning without rows": (
        experiment(tuning=GridTuning({"mark": [1]}), splitter=KFold()),
        "tuning.folds=0 needs a validation part",
    ),
    "two choices on the same rows": (
        experiment(tuning=GridTuning({"mark": [1]}), pruning=Pruning("best_first")),
        "would choose on the same validation rows; set tuning.folds to 2 or more",
    ),
    "wrong value in the space": (
        experiment(IRIS, knn(), tuning=GridTuning({"n_neighbors": [1, -1]})),
        "space.n_neighbors: The 'n_neighbors' parameter .* Got -1 instead",
    ),
    "k of the space above the inner training part": (
        experiment(IRIS, knn(), tuning=GridTuning({"n_neighbors": [1, 80]}, folds=5)),
        "space.n_neighbors=80, but the smallest training part has 72 rows",
    ),
    "more inner folds than times": (
        experiment(
            replace(numbered(), times=np.arange(40) // 4),
            splitter=TimeSeries(folds=4),
            tuning=GridTuning({"mark": [1]}, folds=5),
        ),
        "greater than the number of samples=2; use fewer than 5 folds",
    ),
    "nominal columns with missing cells": (
        experiment(holey_mortgage(), LogisticRegression()),
        "is nominal, .* or preprocessing=auto",
    ),
    "nominal columns that ours is told to take for numbers": (
        experiment(MORTGAGE, MajorityClassifier(categorical_features=None)),
        "column 'job' is nominal, which MajorityClassifier does not accept",
    ),
    "free text": (
        experiment(with_column("note", pd.Series(["a b", "c"] * 75, dtype="string")), MajorityClassifier()),
        r"column 'note' holds free text, .* preprocessing=text_tfidf or preprocessing=auto, .* dataset.drop=\[note\]",
    ),
    "dates that reach steps for numbers": (
        experiment(
            with_column("day", pd.to_datetime(["2026-01-01"] * 150)), preprocessing=make_preprocessing(then=[PCA()])
        ),
        "preprocessing: ",
    ),
    "infinite cells": (
        experiment(infinite(IRIS), LogisticRegression()),
        r"dataset: column 'sepal width \(cm\)' contains infinite values; mark them as missing, or drop the column",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_in_one_or_two_sentences(case: str) -> None:
    wrong, message = REFUSED[case]
    with pytest.raises(UserError, match=message) as refused:
        check_and_split(wrong)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "right",
    [
        experiment(HOLEY, DecisionTreeClassifier()),
        experiment(MORTGAGE, DecisionTreeClassifier(), preprocessing=ONE_HOT, splitter=KFold(folds=2)),
        experiment(MORTGAGE, MajorityClassifier(), splitter=KFold(folds=2)),
        experiment(holey_mortgage(), MajorityClassifier(), splitter=KFold(folds=2)),
        experiment(IRIS, knn(90)),
        experiment(IRIS, knn(500), tuning=GridTuning({"n_neighbors": [1, 90]})),
        experiment(tuning=GridTuning({"mark": [1]}, folds=2), pruning=Pruning("best_first")),
        experiment(pruning=Pruning("pessimistic"), splitter=KFold(folds=2)),
        experiment(DIABETES, MeanRegressor()),
    ],
)
def test_what_can_work_passes_and_does(right: Experiment) -> None:
    splits = check_and_split(right)
    assert len(list(evaluate_splits(right, splits.folds))) == len(splits.folds)


@pytest.mark.parametrize("data", [HOLEY, MORTGAGE, holey_mortgage()])
def test_the_cures_named_work(data: Dataset) -> None:
    learner = LogisticRegression(max_iter=5000)
    for named in ("one_hot", "full") if data.nominal else ("impute",):
        check_and_split(experiment(data, learner, preprocessing=preset(named), splitter=KFold(folds=2)))
    chosen = AutoPreprocessing().choose([learner], data.X)
    check_and_split(experiment(data, learner, preprocessing=chosen.transformer, splitter=KFold(folds=2)))
