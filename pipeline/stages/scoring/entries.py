"""The items of ``evaluation.metrics``: names, and mappings that describe a user-defined metric.

A name is one of bakeoff's metrics or a scorer of scikit-learn. A mapping has a ``_target_``, which names a scorer or a
function (y_true, y_pred), and besides it the sign and the needs of the function, and its further arguments. A dotted
name alone stands for ``{_target_: NAME}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

from sklearn.metrics import get_scorer, make_scorer

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring.costs import COST
from bakeoff.pipeline.stages.scoring.metrics import CLASSIFICATION, REGRESSION, RESPONSES, Metric
from bakeoff.pipeline.stages.scoring.scorers import (
    ScorerFormula,
    Target,
    is_bounded_scorer,
    is_scorer_name,
    make_scorer_metric,
    split_sign,
)

KEY = "evaluation.metrics"
OWN_KEYS = ("_target_", "name", "greater_is_better", "needs")
SCORER_KEYS = ("response_method", "score_func")
"""Arguments of scikit-learn's ``make_scorer`` that are set here."""
PREDICT = "predict"
NAME_PATTERN = r"[A-Za-z][A-Za-z0-9_]*"
RESERVED_ENDS = ("_std", "_before", "_after")
"""Ends of the names of other numbers that a run stores."""


@dataclass(frozen=True)
class OwnMetric:
    """A metric of the user, as the configuration describes it.

    Attributes
    ----------
    target : str
        The dotted name of a scorer or of a function (y_true, y_pred).
    name : str
    greater_is_better : bool or None
        None for a scorer, whose greater values are the better ones.
    needs : tuple of str
        The methods of a model, one of which gives ``y_pred``.
    arguments : mapping
        Further arguments of the function.
    """

    target: str
    name: str
    greater_is_better: bool | None = None
    needs: tuple[str, ...] = (PREDICT,)
    arguments: Mapping[str, Any] = field(default_factory=dict)


def name_entry(entry: Any) -> str:
    """Return the name of the score of an item of ``evaluation.metrics``.

    Examples
    --------
    >>> name_entry("f1"), name_entry({"_target_": "mine.metrics.profit"})
    ('f1', 'profit')
    """
    if not isinstance(entry, Mapping):
        return str(entry)
    default = str(entry.get("_target_", "")).rpartition(".")[2]
    return str(entry.get("name") or default)


def parse_entry(entry: Mapping[str, Any]) -> OwnMetric:
    """Return the metric of the user that a mapping describes.

    Raises
    ------
    UserError
        A key is missing or has a value that is not allowed.
    """
    target = str(entry.get("_target_") or "")
    if not target:
        raise UserError(
            f"{KEY} holds {dict(entry)!r}, which has no _target_: it must name a scorer or a function (y_true, y_pred)."
        )
    name = name_entry(entry)
    _require_name(name, target)
    greater_is_better = entry.get("greater_is_better")
    if greater_is_better is not None and not isinstance(greater_is_better, bool):
        raise UserError(f"{KEY}: greater_is_better={greater_is_better!r} of {name} must be true or false.")
    arguments = {key: value for key, value in entry.items() if key not in OWN_KEYS}
    for key in SCORER_KEYS:
        if key in arguments:
            raise UserError(
                f"{KEY}: {key}={arguments[key]!r} of {name} is not an argument of a metric; name the methods of the "
                f"learner by needs, which is {PREDICT}, {' or '.join(RESPONSES)}."
            )
    return OwnMetric(target, name, greater_is_better, _parse_needs(entry, name), arguments)


def is_greater_better(score: str, entries: Sequence[Any] = ()) -> bool:
    """Whether greater values of a score are better.

    This is the one place that knows it of a name: comparisons, leaderboards, studies and the choice of the best run ask
    here.

    Parameters
    ----------
    score : str
        The name of a metric.
    entries : sequence
        ``evaluation.metrics`` of the run, for the metrics of the user.

    Raises
    ------
    KeyError
        The name is not that of a metric.

    Examples
    --------
    >>> is_greater_better("accuracy"), is_greater_better("neg_max_error"), is_greater_better("cost")
    (True, True, False)
    """
    own = _find_own(score, entries)
    if own is not None:
        return own.get("greater_is_better") is not False
    known = _find_known(score)
    if known is not None:
        return known.greater_is_better
    if score == COST:
        return False
    _, sign = split_sign(score)
    return sign > 0


def is_bounded(score: str, entries: Sequence[Any] = ()) -> bool:
    """Whether the values of a score are on a fixed scale, so that a difference means the same on each dataset.

    The parameters are those of `is_greater_better`; the values of a metric of the user may have any scale.
    """
    if _find_own(score, entries) is not None:
        return False
    known = _find_known(score)
    if known is not None:
        return known.is_bounded
    return is_scorer_name(score) and is_bounded_scorer(score)


def describe_definition(score: str, entries: Sequence[Any], costs: Any) -> str:
    """Return the definition of a score, beyond its name: two runs whose texts differ must not be compared by it."""
    if score == COST:
        return f"costs {costs}"
    own = _find_own(score, entries)
    return "" if own is None else str(dict(own))


def _find_own(score: str, entries: Sequence[Any]) -> Mapping[str, Any] | None:
    mappings = (entry for entry in entries if isinstance(entry, Mapping))
    return next((entry for entry in mappings if name_entry(entry) == score), None)


def _find_known(score: str) -> Metric | None:
    return CLASSIFICATION.get(score) or REGRESSION.get(score)


def _require_name(name: str, target: str) -> None:
    if not re.fullmatch(NAME_PATTERN, name) or name.endswith(RESERVED_ENDS):
        raise UserError(
            f"{KEY}: name={name!r} of {target} must be letters, digits and underscores, and must not end with "
            f"{', '.join(RESERVED_ENDS)}."
        )
    if _find_known(name) is not None or name == COST or is_scorer_name(name):
        raise UserError(
            f"{KEY}: {target} is to be called {name!r}, which is the name of another metric; add name: to its mapping, "
            f"such as {{_target_: {target}, name: my_{name}}}."
        )


def _parse_needs(entry: Mapping[str, Any], name: str) -> tuple[str, ...]:
    given = entry.get("needs", PREDICT)
    if given == PREDICT:
        return (PREDICT,)
    methods = [given] if isinstance(given, str) else given
    is_list = isinstance(methods, Sequence) and bool(methods)
    if not is_list or any(method not in RESPONSES for method in methods):
        raise UserError(
            f"{KEY}: needs={given!r} of {name} must be {PREDICT}, {', '.join(RESPONSES)}, or a list of the last two."
        )
    return tuple(methods)


WEIGHTS = "sample_weight"
POSITIVE = "pos_label"
"""Names of arguments of scikit-learn's functions."""

FindFunction = Callable[[str], Any]
"""Returns the object with a dotted name, if it is trusted."""


def make_own_metric(entry: Mapping[str, Any], target: Target, find_function: FindFunction) -> Metric:
    """Return the metric that a mapping in ``evaluation.metrics`` describes.

    A function gets the labels of the dataset. If it takes ``pos_label`` and none is given, it gets the positive class
    of the dataset. Probabilities are those of one class if there are two, as scikit-learn's scorers pass them.

    Parameters
    ----------
    entry : mapping
    target : Target
    find_function : callable
        (dotted name) -> the scorer or function.

    Raises
    ------
    UserError
        A key is not valid, the target is neither a scorer nor a function of two values, or it fails on a trial.
    """
    own = parse_entry(entry)
    found = find_function(own.target)
    # All scorers returned by make_scorer have the same class, which is not public.
    if isinstance(found, type(get_scorer("accuracy"))):
        _require_bare(own, entry)
        return _make_metric(own, ScorerFormula(found, labels=target.classes), target)
    parameters = _read_parameters(found, own)
    if own.greater_is_better is None:
        raise UserError(
            f"{KEY}: {own.target} is a function, which does not say whether greater values are better; write "
            f"{{_target_: {own.target}, greater_is_better: true}} or false."
        )
    arguments = dict(own.arguments)
    if POSITIVE in parameters and POSITIVE not in arguments and target.positive is not None:
        arguments[POSITIVE] = target.positive
    if target.has_weights and not _takes(parameters, WEIGHTS):
        raise UserError(
            f"{KEY}: {own.target} takes no {WEIGHTS}, and dataset.weights is given; add that argument to the function, "
            "or remove one of the two keys."
        )
    scorer = make_scorer(found, response_method=own.needs, **arguments)
    return _make_metric(own, ScorerFormula(scorer, labels=target.classes), target)


def _make_metric(own: OwnMetric, formula: ScorerFormula, target: Target) -> Metric:
    """Return the metric of a formula that works on a trial."""
    greater_is_better = own.greater_is_better is not False
    try:
        return make_scorer_metric(formula, greater_is_better, False, target)
    except Exception as error:  # the code is the user's, and any error in it is one of the metric
        reason = (str(error).splitlines() or [""])[0]
        raise UserError(
            f"{KEY}: {own.target} fails on made-up predictions of this dataset: {type(error).__name__}: {reason}"
        ) from error


def _require_bare(own: OwnMetric, entry: Mapping[str, Any]) -> None:
    """Reject keys that a scorer sets itself."""
    settled = ("greater_is_better", "needs", *own.arguments)
    for key in settled:
        if key in entry:
            raise UserError(
                f"{KEY}: {own.target} is a scorer, which was made with its own {key}; remove {key}, or name the "
                "function instead of the scorer."
            )


def _read_parameters(found: Any, own: OwnMetric) -> Mapping[str, Parameter]:
    """Return the parameters of a function; whether it accepts two values is determined by a trial."""
    try:
        return signature(found).parameters
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{KEY}: {own.target} is neither a scorer made by sklearn.metrics.make_scorer nor a function "
            "(y_true, y_pred)."
        ) from error


def _takes(parameters: Mapping[str, Parameter], name: str) -> bool:
    has_any = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
    return has_any or name in parameters
