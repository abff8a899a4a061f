"""With their defaults, our learners score no worse than scikit-learn's with theirs."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np
import pytest
import yaml
from sklearn import datasets
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from bakeoff.learners import REGISTRY, Perceptron
from bakeoff.pipeline.config.options import CONF

MAX_LOSS = 0.02
"""By which the mean score (accuracy or R²) over the tables may be below scikit-learn's."""
N_ROWS = 150

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make_sorted_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return two classes that overlap, in units of ten, with all rows of one class before the other's."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.random(N_ROWS) < 0.35)
    return 10 * rng.normal(size=(N_ROWS, 4)) + 8 * y[:, None], y


@cache
def list_tables(*, of_classes: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return bundled and made tables."""
    if of_classes:
        bundled = [load(return_X_y=True) for load in (datasets.load_iris, datasets.load_wine)]
        made = [datasets.make_moons(N_ROWS, noise=0.3, random_state=0), make_sorted_rows()]
        return [*bundled, *made]
    X, y = datasets.load_diabetes(return_X_y=True)
    given: dict[str, Any] = {"noise": 1.0, "random_state": 0}
    return [(X[:N_ROWS], y[:N_ROWS]), datasets.make_friedman1(N_ROWS, **given)]


def make_counterpart(name: str) -> BaseEstimator:
    """Return scikit-learn's learner with its own defaults."""
    target = yaml.safe_load((CONF / "learner" / f"sklearn_{name}.yaml").read_text())["_target_"]
    module, _, cls = target.rpartition(".")
    made: BaseEstimator = getattr(importlib.import_module(module), cls)()
    return made


def compute_mean_score(learner: BaseEstimator) -> float:
    """Return the mean over tables and folds."""
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    of_classes = is_classifier(learner)
    folds = StratifiedKFold(3) if of_classes else KFold(3)
    tables = list_tables(of_classes=of_classes)
    return float(np.mean([cross_val_score(learner, X, y, cv=folds).mean() for X, y in tables]))


@pytest.mark.parametrize("name", REGISTRY)
def test_defaults_score_no_worse_than_scikit_learns(name: str) -> None:
    assert compute_mean_score(REGISTRY[name]()) >= compute_mean_score(make_counterpart(name)) - MAX_LOSS


def test_the_perceptron_of_the_lecture_would_score_worse() -> None:
    lecture = Perceptron(shuffle=False, pocket=False)
    assert compute_mean_score(lecture) < compute_mean_score(make_counterpart("perceptron")) - MAX_LOSS
