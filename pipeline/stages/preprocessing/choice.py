"""The steps of a run: those that ``auto`` chooses for its learner and columns, or the transformer that was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator


@dataclass(frozen=True)
class ChosenPreprocessing:
    """The preprocessing of a run.

    Attributes
    ----------
    transformer : transformer or None
        Unfitted; None if every column stays as it is.
    summary : str
        What ``auto`` does to the columns of each kind; empty if the steps were given.
    """

    transformer: BaseEstimator | None
    summary: str


def is_open(preprocessing: Any) -> bool:
    """Whether the steps are still to be chosen, as of ``AutoPreprocessing``, whose steps take long to import."""
    return hasattr(preprocessing, "choose")


def choose_preprocessing(preprocessing: Any, learners: Sequence[Any], X: pd.DataFrame) -> ChosenPreprocessing:
    """Return the steps that ``auto`` chooses, or the transformer that was given.

    Parameters
    ----------
    preprocessing : AutoPreprocessing, transformer or None
    learners : sequence of estimators
        The learner, and the candidates of tuning.
    X : DataFrame of shape (n, d)
    """
    if is_open(preprocessing):
        # Preflight rejects an object that is not an estimator, and so has no tags.
        is_known = all(isinstance(learner, BaseEstimator) for learner in learners)
        chosen: ChosenPreprocessing = preprocessing.choose(learners, X) if is_known else ChosenPreprocessing(None, "")
        return chosen
    if hasattr(preprocessing, "set_output"):
        # The steps that follow, and the messages about columns, need their names.
        preprocessing.set_output(transform="pandas")
    return ChosenPreprocessing(preprocessing, "")
