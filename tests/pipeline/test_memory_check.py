"""What a fit needs of the machine is known before it: refused if there is less, reported if it is much."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from doubles import check_and_split, experiment
from sklearn.compose import ColumnTransformer
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

from bakeoff.learners import REGISTRY
from bakeoff.pipeline.checks import cells
from bakeoff.pipeline.checks.cells import (
    check_table_memory,
    count_one_hot_columns,
    estimate_pairwise_bytes,
    note_memory,
)
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, loop
from bakeoff.pipeline.experiment.loop import describe_limit, limit_processes
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.dataset.size_limits import read_machine_bytes

GIGABYTE = 10**9


def large(learner: object, n_rows: int) -> Experiment:
    """Return an experiment with a learner on some number of rows of two classes."""
    X = pd.DataFrame({"x": np.arange(float(n_rows))})
    return experiment(Dataset("large", X, np.arange(n_rows) % 2, "classification", "y"), learner)


def test_a_fit_that_needs_more_memory_than_the_machine_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "read_machine_bytes", lambda: 2 * GIGABYTE)
    message = r"GaussianProcessClassifier needs about 3\.2 GB for the pairs of 6,000 rows.*this machine has 2\.0 GB"
    with pytest.raises(UserError, match=message):
        check_and_split(large(GaussianProcessClassifier(), 10_000))
    assert check_and_split(large(LogisticRegression(), 10_000)).folds


def test_a_fit_that_needs_much_memory_is_said_before_it() -> None:
    assert note_memory(large(GaussianProcessClassifier(), 1_000)) == ""
    assert note_memory(large(LogisticRegression(), 10_000)) == ""
    assert "about 1.4 GB for the pairs of 4,000 rows" in note_memory(large(GaussianProcessClassifier(), 4_000))


def test_a_kernel_that_is_not_fitted_needs_less() -> None:
    fitted = estimate_pairwise_bytes(GaussianProcessRegressor(), 100)
    assert estimate_pairwise_bytes(GaussianProcessRegressor(optimizer=None), 100) < fitted
    assert not any(estimate_pairwise_bytes(learner(), 100) for learner in REGISTRY.values())


def test_the_machine_has_memory() -> None:
    assert read_machine_bytes() > GIGABYTE // 10


@pytest.mark.parametrize(("limit", "n_columns"), [({}, 3000), ({"min_frequency": 2}, 0), ({"sparse_output": True}, 0)])
def test_one_hot_columns_that_do_not_fit_are_refused(
    limit: dict[str, object], n_columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = pd.DataFrame({"x": np.arange(6000.0), "v": pd.Categorical(np.arange(6000) % 3000)})
    dataset = Dataset("values", X, np.arange(6000) % 2, "classification", "y")
    encoder = OneHotEncoder(**{"sparse_output": False, **limit})
    steps = ColumnTransformer([("nominal", make_pipeline(encoder), ["v"])])
    assert count_one_hot_columns(steps, dataset) == n_columns
    monkeypatch.setattr(cells, "read_machine_bytes", lambda: GIGABYTE // 10)
    built = experiment(dataset, LogisticRegression(), preprocessing=steps)
    if not n_columns:
        check_table_memory(built)
        return
    message = r"one-hot makes 3,000 columns of 6,000 rows, which need 144.0 MB.*dataset\.drop=\[v\]"
    with pytest.raises(UserError, match=message):
        check_table_memory(built)


def test_probabilities_of_very_many_classes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "read_machine_bytes", lambda: GIGABYTE // 10)
    X = pd.DataFrame({"x": np.arange(6000.0)})
    many = Dataset("many", X, np.arange(6000) // 2, "classification", "y")
    with pytest.raises(UserError, match=r"dataset\.target='y' has 3,000 classes, whose probabilities for 6,000 rows"):
        check_table_memory(experiment(many, LogisticRegression()))
    # Without probabilities, one label is kept for each row.
    check_table_memory(experiment(many, LinearSVC()))


@pytest.mark.parametrize(("asked", "tasks", "taken"), [(1, 9, 1), (10**9, 3, 3), (10**9, 10**9, 16), (-1, 9, -1)])
def test_no_more_processes_are_started_than_there_is_work_for(
    asked: int, tasks: int, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "count_most_processes", lambda: 16)
    assert limit_processes(asked, tasks) == taken
    said = describe_limit("workers", asked)
    assert [sentence.partition(":")[0] for sentence in said] == (["workers=1000000000"] if asked > 16 else [])
