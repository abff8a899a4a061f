"""The scorers of scikit-learn by their names, and those of errors also with their natural sign.

A scorer such as ``neg_max_error`` is minus an error, so that greater is better. The same error is available under its
own name, ``max_error``: positive, and lower is better.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names

from bakeoff.pipeline.stages.scoring.metrics import CLASSIFICATION, REGRESSION, Metric
from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.stages.scoring.scorer_formula import ScorerFormula
from bakeoff.pipeline.stages.scoring.trial import Target, make_scorer_metric, make_trial

NEGATIVE = "neg_"
MULTILABEL_END = "_samples"
"""The end of the names of scorers for several labels in each row, which a dataset does not have."""
UNBOUNDED = ("mutual_info_score", "positive_likelihood_ratio")
"""Scorers without ``neg_`` whose values are not at most 1."""
BOUNDED_ERRORS = ("brier_score",)
"""Scorers with ``neg_`` whose values are on a fixed scale."""
TWO_CLASSES = Target(np.arange(2), np.arange(2))
BETTER_DEFINED = {
    "matthews_corrcoef": "mcc",
    "neg_log_loss": "log_loss",
    "neg_brier_score": "brier",
    "neg_max_error": "max_error",
    "neg_mean_absolute_percentage_error": "mape",
}
"""Scorers for which bakeoff's formula is taken: it is the same number, and defined where rows of a class are absent or
rows have weights, or not defined where scikit-learn divides by a tiny number instead of 0."""
NUMBERS = Target(np.array([0.5, 1.25, 2.75]))
"""Targets for which every scorer of a task can be computed."""


@dataclass(frozen=True)
class Negative:
    """Minus the value of a formula."""

    formula: Callable[[Predictions], float]

    def __call__(self, predictions: Predictions) -> float:
        """Return the value for predictions."""
        return -self.formula(predictions)


@cache
def list_scorer_names(task: str) -> tuple[str, ...]:
    """Return the names of scikit-learn's scorers of a task, and the natural names of those of errors."""
    names = [name for name in get_scorer_names() if not name.endswith(MULTILABEL_END) and _get_task(name) == task]
    natural = [name.removeprefix(NEGATIVE) for name in names if name.startswith(NEGATIVE)]
    return tuple(sorted({*names, *natural}))


def is_scorer_name(name: str) -> bool:
    """Return whether a name is that of a scorer of scikit-learn, with or without ``neg_``."""
    known = _list_all()
    return name in known or f"{NEGATIVE}{name}" in known


def split_sign(name: str) -> tuple[str, int]:
    """Return the name of the scorer of a score, and the sign by which its values are multiplied.

    Raises
    ------
    KeyError
        There is no such scorer.

    Examples
    --------
    >>> split_sign("neg_max_error"), split_sign("max_error"), split_sign("explained_variance")
    (('neg_max_error', 1), ('neg_max_error', -1), ('explained_variance', 1))
    """
    known = _list_all()
    if name in known:
        return name, 1
    if f"{NEGATIVE}{name}" in known:
        return f"{NEGATIVE}{name}", -1
    raise KeyError(name)


def is_bounded_scorer(name: str) -> bool:
    """Return whether the values of a scorer, or of the error of that name, are on a fixed scale."""
    scorer_name, _ = split_sign(name)
    if scorer_name.startswith(NEGATIVE):
        return scorer_name.removeprefix(NEGATIVE) in BOUNDED_ERRORS
    return scorer_name not in UNBOUNDED


@cache
def make_named_metric(name: str) -> Metric:
    """Return the metric of a scorer of scikit-learn.

    Raises
    ------
    KeyError
        There is no such scorer.
    """
    scorer_name, sign = split_sign(name)
    if scorer_name in BETTER_DEFINED:
        known = {**CLASSIFICATION, **REGRESSION}[BETTER_DEFINED[scorer_name]]
        is_negative = scorer_name.startswith(NEGATIVE) and sign > 0
        return replace(known, formula=Negative(known.formula), greater_is_better=True) if is_negative else known
    formula = ScorerFormula(get_scorer(scorer_name), sign, name=name)
    target = TWO_CLASSES if _get_task(scorer_name) == "classification" else NUMBERS
    return make_scorer_metric(formula, sign > 0, is_bounded_scorer(name), target)


@cache
def _list_all() -> frozenset[str]:
    return frozenset(get_scorer_names())


@cache
def _get_task(scorer_name: str) -> str:
    """Return the task of a scorer: scikit-learn's scores of labels reject targets that are not integers."""
    formula = ScorerFormula(get_scorer(scorer_name))
    with warnings.catch_warnings():
        # The scores of clusterings accept such targets with a warning.
        warnings.simplefilter("error")
        try:
            formula.compute(make_trial(NUMBERS))
        except (ValueError, AttributeError, UserWarning):
            return "classification"
    return "regression"
