"""What predicts is stored and loaded without pickle, and predicts the same afterwards; unseen values are counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from doubles import experiment
from sklearn.naive_bayes import GaussianNB

from bakeoff.learners import NaiveBayesClassifier
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.options import read_option
from bakeoff.pipeline.experiment import evaluate_split, fit_model
from bakeoff.pipeline.experiment.experiment import find_unseen_values
from bakeoff.pipeline.stages.dataset import Dataset, load_bundled
from bakeoff.pipeline.stages.splitting import KFold, Split
from bakeoff.pipeline.tracking.card import describe_run_lines


def part(group: str, name: str) -> Any:
    """Return the object that an option describes, with open choices and seeds filled in."""
    node = read_option(group, name)
    if node.get("folds", 0) is None:
        node["folds"] = 0
    if "random_state" in node.get("transformer", {}):
        node["transformer"]["random_state"] = 0
    return build_object(node, group, [])


def test_models_hold_no_training_rows_and_no_recorded_outputs() -> None:
    built = experiment(load_bundled("breast_cancer"), GaussianNB(), calibration=part("calibration", "isotonic"))
    (split,) = built.make_splits().folds
    dumped = skops.io.dumps(fit_model(built, split).predictor)
    assert not any("RecordedOutputs" in name for name in skops.io.get_untrusted_types(data=dumped))


# Values that no training row has


def coloured() -> Dataset:
    """Return six rows, of which the last one alone is green, and the cell of the fifth is missing."""
    X = pd.DataFrame({
        "colour": pd.Categorical(["red", "blue", "red", "blue", None, "green"] * 2),
        "x": np.arange(12.0),
    })  # fmt: skip
    X.loc[5, "colour"] = "red"
    return Dataset("coloured", X, np.array(["a", "b"] * 6), "classification", "y", positive="b")


def test_test_rows_with_values_that_no_training_row_has_are_counted_per_fold_and_column() -> None:
    built = experiment(coloured(), NaiveBayesClassifier(), splitter=KFold(folds=3, stratify=False))
    folds = [evaluate_split(built, number, split) for number, split in enumerate(built.make_splits().folds)]
    (affected,) = (fold for fold in folds if 11 in fold.split.test)
    assert [dict(fold.unseen) for fold in folds if fold is not affected] == [{}, {}]
    assert (dict(affected.unseen), affected.n_unseen_rows) == ({"colour": 1}, 1)
    (unseen,) = describe_run_lines(built, folds, folds[-1].model)
    assert unseen == (
        "unseen values: 1 of 12 test rows have nominal values that occur in no training row of their fold (colour 1)"
    )


def test_a_row_with_two_unseen_values_is_one_row() -> None:
    data = coloured()
    data = replace(data, X=data.X.assign(shade=data.X["colour"]))
    built = experiment(data, NaiveBayesClassifier(), splitter=KFold(folds=3, stratify=False))
    folds = [evaluate_split(built, number, split) for number, split in enumerate(built.make_splits().folds)]
    assert sum(fold.n_unseen_rows for fold in folds) == 1
    assert sum(sum(fold.unseen.values()) for fold in folds) == 2


def test_unseen_values_are_those_of_no_training_row_also_with_codes_of_eight_bits() -> None:
    draw = np.random.default_rng(0)
    codes = np.append(draw.integers(-1, 126, size=399), 125)  # (n,)
    column = pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype([f"value {code}" for code in range(126)]))
    data = replace(coloured(), X=pd.DataFrame({"colour": column}), y=np.zeros(400, dtype=int))
    rows = draw.permutation(400)
    split = Split(rows[:250], rows[250:250], rows[250:])
    tested, trained = codes[split.test], codes[split.train]
    is_unseen = (tested >= 0) & ~np.isin(tested, trained)
    assert data.X["colour"].cat.codes.dtype == np.int8
    assert is_unseen.any()
    assert find_unseen_values(data, split) == ({"colour": is_unseen.sum()}, is_unseen.sum())
