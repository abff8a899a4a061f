"""The record of the rows that each stage was given is what a learner and a preprocessing that spy have seen."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from broken_splitters import Overlapping
from doubles import Log, Recorder, RecordingStep, check_and_split, experiment, numbered

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, evaluate_split, fitting
from bakeoff.pipeline.experiment.stage_log import RowLog, RowSet, find_leaks
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.pruning import NoPruning, Pruning
from bakeoff.pipeline.stages.splitting import (
    Bootstrap,
    FixedFolds,
    FixedSplit,
    GroupKFold,
    Holdout,
    KFold,
    LeaveOneOut,
    TimeHoldout,
    TimeSeries,
)
from bakeoff.pipeline.stages.tuning import GridTuning, NoTuning

EVALUATIONS: dict[str, Any] = {
    "holdout": Holdout(),
    "kfold": KFold(folds=4, validation=0.2),
    "repeated": KFold(folds=4, repeats=2, validation=0.2),
    "groups": GroupKFold(folds=4, validation=0.2),
    "leave_one_out": LeaveOneOut(validation=0.2),
    "time_series": TimeSeries(folds=4, validation=0.2),
    "time_holdout": TimeHoldout(gap=2),
    "bootstrap": Bootstrap(repeats=3, validation=0.2),
    "fixed": FixedSplit(),
    "fixed_folds": FixedFolds(validation=0.2),
}
COLUMNS: dict[str, dict[str, Any]] = {
    "groups": {"groups": np.arange(40) // 2},
    "time_series": {"times": np.arange(40)[::-1] // 2},
    "fixed": {"parts": np.array(["train", "train", "validation", "test"]).repeat(10)},
    "fixed_folds": {"folds": np.arange(40) // 10},
}
"""What is said of the rows, by evaluation."""
TUNINGS: dict[str, Any] = {
    "untuned": NoTuning(),
    "validation": GridTuning({"mark": [1, 2]}),
    "inner_folds": GridTuning({"mark": [1, 2]}, folds=2),
}
PRUNINGS: dict[str, Any] = {
    "unpruned": NoPruning(),
    "best_first": Pruning("best_first"),
    "pessimistic": Pruning("pessimistic"),
}


def rows_of(seen: dict[str, RowSet], stage: str) -> list[int]:
    return seen[stage].to_rows().tolist() if stage in seen else []


def union(events: list[tuple[str, list[int]]], kind: str = "") -> list[int]:
    """Return the rows of all events that begin with a word."""
    return sorted({row for event, rows in events if event.startswith(kind) for row in rows})


@pytest.mark.parametrize(
    ("evaluation", "tuning", "pruning"),
    list(product(EVALUATIONS, TUNINGS, PRUNINGS)),
)
def test_the_record_is_what_the_stages_have_seen(evaluation: str, tuning: str, pruning: str) -> None:
    log = Log()
    built = experiment(
        replace(numbered(), **COLUMNS.get(evaluation, {})),
        Recorder(log),
        preprocessing=RecordingStep(log),
        tuning=TUNINGS[tuning],
        pruning=PRUNINGS[pruning],
        splitter=EVALUATIONS[evaluation],
    )
    if (tuning, pruning) == ("validation", "best_first"):
        with pytest.raises(UserError):  # validation rows serve one choice only
            check_and_split(built)
        return
    folds = built.make_splits().folds
    for number, split in list(enumerate(folds))[-3:]:
        log.clear()
        fold = evaluate_split(built, number, split)
        # Tuning comes first; the last two fits are those of preprocessing and learner.
        kinds = [event.split()[0] for event, _ in log]
        start = len(kinds) - 1 - kinds[::-1].index("prepare")
        tuned, fitted = log[:start], log[start:]
        seen = dict(fold.seen)
        assert rows_of(seen, "preprocessing.fit") == union(fitted, "prepare") == sorted(set(split.train))
        assert rows_of(seen, "learner.fit") == union(fitted, "fit")
        assert rows_of(seen, "tuning") == union(tuned)
        assert rows_of(seen, "pruning") == union(fitted, "prune")
        predicted = {tuple(sorted(set(rows))) for event, rows in fitted if event == "predict"}
        assert {tuple(rows_of(seen, name)) for name in seen if name.startswith("scoring.")} == predicted
        assert rows_of(seen, "scoring.test") == sorted(split.test)
        assert find_leaks(seen) == {}


# A leak that is sown into one stage is found there, by the record of the stages that are unchanged


def leaks_of(built: Experiment) -> dict[str, int]:
    (split,) = built.make_splits().folds
    return find_leaks(evaluate_split(built, 0, split).seen)


def test_test_rows_among_training_rows_are_found() -> None:
    assert leaks_of(experiment(splitter=Overlapping())) == {"preprocessing.fit": 3, "learner.fit": 3}


def test_a_learner_that_is_fitted_on_other_rows_than_preprocessing_is_found() -> None:
    class Appending(RecordingStep):
        def fit_transform(self, X: pd.DataFrame, y: Any = None, **params: Any) -> pd.DataFrame:
            self.fit(X, y)
            return data.X

    data = numbered()
    log = RowLog(40)
    built = experiment(data, Recorder(Log()), preprocessing=Appending(Log()))
    fitting.fit_pipeline(built, fitting.make_pipeline(built), np.arange(10), log)
    assert {stage: len(rows) for stage, rows in log.seen.items()} == {"preprocessing.fit": 10, "learner.fit": 40}


# The parts of the record


def test_rows_are_numbered_whatever_the_index_of_the_given_table_is() -> None:
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=[7, 7, 3])
    data = Dataset("d", X, np.array(["a", "b", "a"]), "classification", "y")
    assert data.X.index.tolist() == [0, 1, 2]
    assert X.index.tolist() == [7, 7, 3]
