"""Metrics of the user: a scorer that ``make_scorer`` has made, or a function (y_true, y_pred)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

from sklearn.metrics import get_scorer, make_scorer

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring.entries import KEY, OWN_KEYS, OwnMetric, parse_entry
from bakeoff.pipeline.stages.scoring.metrics import Metric
from bakeoff.pipeline.stages.scoring.scorer_formula import ScorerFormula
from bakeoff.pipeline.stages.scoring.trial import Target, make_scorer_metric

WEIGHTS = "sample_weight"
POSITIVE = "pos_label"
"""Names of arguments of scikit-learn's functions."""
N_VALUES = 2
"""A metric takes the true and the predicted values."""

FindFunction = Callable[[str], Any]
"""Returns the object that a dotted name stands for, if it is trusted."""


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
    # All scorers that make_scorer returns are of one class, which has no public name.
    if isinstance(found, type(get_scorer("accuracy"))):
        _require_bare(own, entry)
        return _make_metric(own, ScorerFormula(found, labels=target.classes), target)
    parameters = _read_parameters(found, own)
    if own.greater_is_better is None:
        raise UserError(
            f"{KEY}: {own.target} is a function, which does not say whether greater values are better; write "
            f"{{_target_: {own.target}, greater_is_better: true}} or false."
        )
    _require_arguments(own, parameters)
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
    """Reject keys that a scorer has settled itself."""
    settled = ("greater_is_better", "needs", *own.arguments)
    for key in settled:
        if key in entry:
            raise UserError(
                f"{KEY}: {own.target} is a scorer, which was made with its own {key}; remove {key}, or name the "
                "function instead of the scorer."
            )


def _read_parameters(found: Any, own: OwnMetric) -> Mapping[str, Parameter]:
    """Return the parameters of a function of two values."""
    refusal = UserError(
        f"{KEY}: {own.target} is neither a scorer made by sklearn.metrics.make_scorer nor a function (y_true, y_pred)."
    )
    if not callable(found) or isinstance(found, type):
        raise refusal
    try:
        parameters = signature(found).parameters
    except (TypeError, ValueError):
        raise refusal from None
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    values = [each for each in parameters.values() if each.kind in positional]
    required = [each for each in values if each.default is Parameter.empty and each.name not in own.arguments]
    if len(values) < N_VALUES or len(required) > N_VALUES:
        raise refusal
    return parameters


def _require_arguments(own: OwnMetric, parameters: Mapping[str, Parameter]) -> None:
    for name in own.arguments:
        if not _takes(parameters, name):
            suggestion = did_you_mean(name, [*list(parameters)[N_VALUES:], *OWN_KEYS])
            raise UserError(f"{KEY}: {name} is not a key of {own.target}. {suggestion}")


def _takes(parameters: Mapping[str, Parameter], name: str) -> bool:
    has_any = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
    return has_any or name in parameters
