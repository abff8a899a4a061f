"""The items of ``evaluation.metrics``: names, and mappings that describe a user-defined metric.

A name is one of bakeoff's metrics or a scorer of scikit-learn. A mapping has a ``_target_``, which names a scorer or a
function (y_true, y_pred), and may give the sign and needs of the function and its additional arguments. A dotted name
alone means ``{_target_: NAME}``.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from sklearn.metrics import get_scorer, make_scorer

from bakeoff.pipeline.errors import UserError, name_error
from bakeoff.pipeline.stages.scoring.metrics import ANY_NUMBER, Bounds, Metric
from bakeoff.pipeline.stages.scoring.names import COST
from bakeoff.pipeline.stages.scoring.scorers import (
    ScorerFormula,
    Target,
    find_metric,
    is_metric_name,
    make_scorer_metric,
)

KEY = "evaluation.metrics"
PREDICT = "predict"
NAME_PATTERN = r"[A-Za-z][A-Za-z0-9_]*"
RESERVED_ENDS = ("_std", "_before", "_after")
"""Suffixes of the names of other numbers that a run stores."""
POSITIVE = "pos_label"
"""The name of an argument of scikit-learn's functions."""

FindFunction = Callable[[str], Any]
"""A function that returns the object with a dotted name, if it is trusted."""


def name_entry(entry: Any) -> str:
    """Return the score name of an item of ``evaluation.metrics``.

    Examples
    --------
    >>> name_entry("f1"), name_entry({"_target_": "mine.metrics.profit"})
    ('f1', 'profit')
    """
    if not isinstance(entry, Mapping):
        return str(entry)
    default = str(entry.get("_target_", "")).rpartition(".")[2]
    return str(entry.get("name") or default)


def is_greater_better(score: str, entries: Sequence[Any] = ()) -> bool:
    """Whether greater values of a score are better.

    Comparisons, leaderboards, studies and the choice of the best run all use this function.

    Parameters
    ----------
    score : str
        The name of a metric.
    entries : sequence
        The ``evaluation.metrics`` of the run, for user-defined metrics.

    Raises
    ------
    KeyError
        There is no metric with this name.

    Examples
    --------
    >>> is_greater_better("accuracy"), is_greater_better("neg_max_error"), is_greater_better("cost")
    (True, True, False)
    """
    own = _find_own(score, entries)
    if own is not None:
        return own.get("greater_is_better") is not False
    return score != COST and find_metric(score).greater_is_better


def find_bounds(score: str, entries: Sequence[Any] = ()) -> Bounds:
    """Return the least and the greatest value of a score; a user-defined metric and a cost may have any value.

    The parameters are those of `is_greater_better`.
    """
    is_known = _find_own(score, entries) is None and is_metric_name(score)
    return find_metric(score).bounds if is_known else ANY_NUMBER


def has_fixed_scale(bounds: Bounds) -> bool:
    """Whether differences of a score are comparable across datasets: a bound other than 0 fixes its scale.

    Examples
    --------
    >>> has_fixed_scale(find_bounds("r2")), has_fixed_scale(find_bounds("rmse"))
    (True, False)
    """
    return any(bound != 0 and math.isfinite(bound) for bound in bounds)


def describe_definition(score: str, entries: Sequence[Any], costs: Any) -> str:
    """Return the definition of a score beyond its name; runs with different definitions must not be compared."""
    if score == COST:
        return f"costs {costs}"
    own = _find_own(score, entries)
    return "" if own is None else str(dict(own))


def _find_own(score: str, entries: Sequence[Any]) -> Mapping[str, Any] | None:
    mappings = (entry for entry in entries if isinstance(entry, Mapping))
    return next((entry for entry in mappings if name_entry(entry) == score), None)


def make_own_metric(entry: Mapping[str, Any], target: Target, find_function: FindFunction) -> Metric:
    """Return the metric that a mapping in ``evaluation.metrics`` describes.

    A function receives the labels of the dataset. If it accepts ``pos_label`` and none is given, it receives the
    positive class of the dataset. For two classes it receives the probabilities of one class, as with scikit-learn's
    scorers.

    Parameters
    ----------
    entry : mapping
    target : Target
    find_function : callable
        (dotted name) -> the scorer or function.

    Raises
    ------
    UserError
        A key is invalid, the target is neither a scorer nor a function of two arguments, or calling it on sample data
        fails.
    """
    _require_name(entry)
    dotted_name = str(entry["_target_"])
    found = find_function(dotted_name)
    given = {key: value for key, value in entry.items() if key not in ("_target_", "name")}
    # All scorers returned by make_scorer have the same class, which is not public.
    is_scorer = isinstance(found, type(get_scorer("accuracy")))
    if is_scorer and given:
        raise UserError(
            f"{KEY}: {dotted_name} is a scorer, which already sets {next(iter(given))}; remove it, or name "
            "the function instead of the scorer."
        )
    greater_is_better = given.pop("greater_is_better", True if is_scorer else None)
    if not isinstance(greater_is_better, bool):
        raise UserError(
            f"{KEY}: {dotted_name} is a function, which does not specify whether greater values are better; write "
            f"{{_target_: {dotted_name}, greater_is_better: true}} or false."
        )
    try:
        scorer = found if is_scorer else _make_scorer(found, given, target)
        formula = ScorerFormula(scorer, labels=target.classes)
        return make_scorer_metric(formula, greater_is_better, ANY_NUMBER, target)
    except Exception as error:  # user-defined code may raise any error
        raise UserError(
            f"{KEY}: {dotted_name} fails on made-up predictions for this dataset: {name_error(error)}"
        ) from error


def _make_scorer(function: Callable[..., Any], given: Mapping[str, Any], target: Target) -> Any:
    """Return the scorer of a function with the given arguments, and the positive class if it accepts one."""
    arguments = dict(given)
    needs = arguments.pop("needs", PREDICT)
    if target.positive is not None and POSITIVE in signature(function).parameters:
        arguments.setdefault(POSITIVE, target.positive)
    return make_scorer(function, response_method=needs, **arguments)


def _require_name(entry: Mapping[str, Any]) -> None:
    """Reject a mapping without a target, and a name that is invalid or used by another metric."""
    target = entry.get("_target_")
    if not target:
        raise UserError(
            f"{KEY} holds {dict(entry)!r}, which has no _target_: it must name a scorer or a function (y_true, y_pred)."
        )
    name = name_entry(entry)
    if not re.fullmatch(NAME_PATTERN, name) or name.endswith(RESERVED_ENDS):
        raise UserError(
            f"{KEY}: name={name!r} of {target} must consist of letters, digits and underscores, and must not end with "
            f"{', '.join(RESERVED_ENDS)}."
        )
    if name == COST or is_metric_name(name):
        raise UserError(
            f"{KEY}: {target} would be called {name!r}, which is the name of another metric; add name: to its mapping, "
            f"such as {{_target_: {target}, name: my_{name}}}."
        )
