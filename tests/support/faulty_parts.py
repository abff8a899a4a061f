"""Parts as a user might write them, each with one fault, for tests of the checks of parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from bakeoff.pipeline.commands.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.dataset import load_frame
from bakeoff.pipeline.stages.splitting import SplitInput, Splitter

COUNTER = itertools.count()
"""Gives another number at each call."""


class Right(GaussianNB):
    """A learner without a fault."""


class NoTask(BaseEstimator):
    """Neither a classifier nor a regressor."""

    def fit(self, X: Any, y: Any) -> NoTask:
        """Return itself."""
        return self

    def predict(self, X: Any) -> Any:
        """Return zeros."""
        return np.zeros(len(X))


class ChangedByConstructor(GaussianNB):
    """Whose constructor does not store what it is given."""

    def __init__(self, widths: Any = (1, 2)) -> None:
        super().__init__()
        self.widths = list(widths)


class Shortened(GaussianNB):
    """Predicts fewer values than there are rows."""

    def predict(self, X: Any) -> np.ndarray:
        """Leave a row out."""
        return super().predict(X)[1:]


class Unseeded(GaussianNB):
    """Differs from fit to fit."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Unseeded:
        """Add noise that no seed controls."""
        noise = np.random.default_rng().normal(size=np.shape(X))
        return super().fit(np.asarray(X) + noise, y)


class OtherSeed(DummyClassifier):
    """Has a parameter random_state."""

    def __init__(self, random_state: int | None = None) -> None:
        super().__init__(strategy="prior", random_state=random_state)


class Forgetful(GaussianNB):
    """Forgets what it learnt when it is stored."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave the means out of what is stored, but for their shape."""
        state = dict(super().__getstate__())
        if "theta_" in state:
            state["theta_"] = np.zeros_like(state["theta_"])
        return state


class Boastful(GaussianNB):
    """Says that it takes missing cells."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class Unaware(ClassifierMixin, BaseEstimator):
    """Takes missing cells without saying so."""

    def fit(self, X: Any, y: Any) -> Unaware:
        """Keep the labels."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the first label."""
        return np.repeat(self.classes_[:1], len(X))


class Step(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer without a fault, but for missing checks of its input."""

    def fit(self, X: pd.DataFrame, y: Any = None) -> Step:
        """Keep the names of the columns."""
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: pd.DataFrame) -> Any:
        """Return the rows as they are."""
        return X.copy()


class CentredByQuery(Step):
    """Learns from the rows that it transforms."""

    def transform(self, X: pd.DataFrame) -> Any:
        """Subtract the mean of these rows."""
        numbers = X.select_dtypes("number")
        return numbers - numbers.mean()


def share_of_hits(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Return the fraction of rows that are right."""
    return float((y_true == y_pred).mean())


def share_of_signs(y_true: np.ndarray, decision: np.ndarray) -> float:
    """Return the fraction of rows whose decision value is positive for the second class alone."""
    return float(((decision > 0) == (y_true == np.unique(y_true)[1])).mean())


def constant(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Return the same number whatever is predicted."""
    return 1.0


@dataclass(frozen=True, kw_only=True)
class Unrepeatable(Splitter):
    """Draws from a generator without the seed."""

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield one split."""
        rows = np.random.default_rng().permutation(len(data.y))
        yield rows[:90], rows[90:]


@dataclass(frozen=True, kw_only=True)
class LateTraining(Splitter):
    """Says that it keeps order, and does not."""

    keeps_order: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield one split."""
        rows = np.argsort(data.time_codes)[::-1]
        yield rows[:90], rows[90:]


def _frame(n: int = 30) -> pd.DataFrame:
    return pd.DataFrame({"x": np.linspace(0.5, 9.5, n), "y": np.resize(["a", "b"], n)})


def load_infinite() -> Any:
    """Return rows with an infinite cell."""
    dataset = load_frame(_frame(), target="y")
    dataset.X.iloc[0, 0] = np.inf
    return dataset


def load_other_rows() -> Any:
    """Return other rows at each call."""
    frame = _frame()
    return load_frame(frame.assign(x=frame["x"] + next(COUNTER)), target="y")


def load_table() -> Any:
    """Return a table that is no dataset."""
    return _frame()


def load_fine(n: int = 30) -> Any:
    """Return rows without a fault."""
    return load_frame(_frame(n), target="y")


@dataclass(frozen=True, kw_only=True)
class Titled(RunFigure):
    """A figure without a fault."""

    def draw(self, run: Any) -> Any:
        """Draw an empty page with a title."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2, 1))
        figure.suptitle(run.experiment.headline)
        return figure


@dataclass(frozen=True, kw_only=True)
class Breaking(Titled):
    """A figure that fails for regressions."""

    def draw(self, run: Any) -> Any:
        """Ask for the classes."""
        run.experiment.dataset.y.astype(str)[0].index("n")
        return super().draw(run)
