"""Tables after preprocessing, and splits, are the same for all learners, and are made once."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import composed
from sklearn.preprocessing import StandardScaler

from bakeoff.pipeline.config.compose_job import resolve_config
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.experiment import Experiment, evaluate_split, evaluate_splits, experiment
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment
from bakeoff.pipeline.experiment.experiment import PreparedTables
from bakeoff.pipeline.stages.preprocessing import make_preprocessing


def build(learner: str, resources: PartCache, *words: str) -> Experiment:
    given = ["dataset=iris", f"learner={learner}", "evaluation=kfold", "evaluation.folds=3", *words]
    return build_experiment(settle_config(resolve_config(composed(*given))), resources)


def count_fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each fit of a scaler adds the number of its rows."""
    fitted: list[int] = []
    fit = StandardScaler.fit

    def counted(self: StandardScaler, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        fitted.append(len(X))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(StandardScaler, "fit", counted)
    return fitted


@pytest.mark.parametrize("preprocessing", ["standardize", "auto"])
def test_learners_on_the_same_folds_share_what_is_prepared_with_the_same_scores(
    preprocessing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = PartCache()
    fitted = count_fits(monkeypatch)
    for learner in ("logistic_regression", "svm"):
        words = [f"preprocessing={preprocessing}"]
        shared = build(learner, resources, *words)
        alone = build(learner, PartCache(), *words)
        splits = shared.make_splits().folds
        fitted.clear()
        scores = [str(fold.scores) for fold in evaluate_splits(shared, splits)]
        assert fitted == ([100] * 3 if learner == "logistic_regression" else [])
        assert scores == [str(fold.scores) for fold in evaluate_splits(alone, splits)]


def test_another_dataset_or_other_steps_are_prepared_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    resources = PartCache()
    first = build("knn", resources, "preprocessing=standardize")
    (split, *_) = first.make_splits().folds
    evaluate_split(first, 0, split)
    fitted = count_fits(monkeypatch)
    evaluate_split(replace(first, dataset=replace(first.dataset, X=-first.dataset.X)), 0, split)
    evaluate_split(replace(first, preprocessing=make_preprocessing(numeric=[StandardScaler()])), 0, split)
    assert fitted == [100, 100]


def test_jobs_with_the_same_data_evaluation_and_seed_share_their_splits_and_others_have_their_own() -> None:
    resources = PartCache()
    first = resources.make_splits(build("knn", resources))
    assert resources.make_splits(build("svm", resources, "seed=0")) is first
    for words in (["seed=1"], ["evaluation.folds=4"], ["dataset=wine"]):
        other = build("knn", resources, *words)
        assert resources.make_splits(other).digest() == other.make_splits().digest() != first.digest()


class Steps:
    """Steps that return their rows, warn, and remember on how many rows they were called."""

    def __init__(self) -> None:
        self.called: list[int] = []

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        self.called.append(len(X))
        warnings.warn("some cells are odd", stacklevel=2)
        return X.copy()


def rows(n: int) -> pd.DataFrame:
    return pd.DataFrame({"a": np.arange(float(n))})


def prepare(tables: PreparedTables, steps: Any, n_rows: int) -> pd.DataFrame:
    with pytest.warns(UserWarning, match="some cells are odd"):
        _, table = tables.prepare((steps,), steps, rows(n_rows))
    assert isinstance(table, pd.DataFrame)
    return table


def test_the_clock_counts_the_time_that_was_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1000, 7))
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    tables, steps = PreparedTables(), Steps()
    for saved in (0, 7, 14):
        prepare(tables, steps, 2)
        assert tables.read_clock() - next(now) == saved - 7


def test_a_learner_that_writes_into_its_table_changes_no_other() -> None:
    tables, steps = PreparedTables(), Steps()
    for _ in range(3):
        given = prepare(tables, steps, 2)
        assert given["a"].tolist() == [0.0, 1.0]
        values = given.to_numpy()
        if values.flags.writeable:
            values[1] = 7.0
        given.iloc[0, 0] = 5.0
    assert steps.called == [2]


def test_tables_are_dropped_where_there_are_too_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "MAX_CELLS", 6)
    tables, steps = PreparedTables(), Steps()
    for n_rows in (2, 3, 2, 4, 2, 3, 4, 7, 7):
        prepare(tables, steps, n_rows)
    assert steps.called == [2, 3, 4, 2, 3, 4, 7, 7]
