"""Choose the metrics of a run and of its training rows, and check each before anything is fitted.

``evaluation.costs`` adds a metric: the mean cost per row, given the cost of each mistake.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring.metrics import ANY_NUMBER, Metric, get_task_metrics, is_available
from bakeoff.pipeline.stages.scoring.names import COST, DEFAULTS
from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.stages.scoring.scorers import (
    KEY,
    FindFunction,
    Target,
    find_metric,
    list_scorer_names,
    make_own_metric,
    name_entry,
    try_metric,
)

TrainMetrics = Literal["headline", "all"]
TRAIN_METRICS_KEY = "train_metrics"
SCORING_KEYS = ("metrics", "costs", TRAIN_METRICS_KEY)
"""Keys of the evaluation for scoring predictions; the others determine how rows are divided."""


def choose_train_metrics(given: Any) -> TrainMetrics:
    """Return ``evaluation.train_metrics``; by default, training rows are only scored by the headline.

    The headline suffices to show how much better a model fits its training rows than others, and the other metrics of
    training rows would double the number of values that a run stores.

    Raises
    ------
    UserError
        The value is neither headline nor all.
    """
    chosen: TrainMetrics = "headline" if given is None else given
    if chosen not in get_args(TrainMetrics):
        raise UserError(
            f"evaluation.{TRAIN_METRICS_KEY}={given!r} must be headline, which scores training rows by the first "
            "metric, or all, which scores them by all metrics."
        )
    return chosen


COSTS_KEY = "evaluation.costs"
LISTING = "`bakeoff list metrics` shows them."


def choose_metrics(
    entries: Sequence[Any] | None,
    task: str,
    learner: object,
    target: Target | None = None,
    costs: Any = None,
    find_function: FindFunction | None = None,
    further_names: Sequence[str] = (),
) -> dict[str, Metric]:
    """Return the metrics to compute, the headline first.

    Parameters
    ----------
    entries : sequence or None
        ``evaluation.metrics``: names of metrics and of scikit-learn's scorers, and mappings with a ``_target_``. None
        selects the default metrics of the task that the learner's methods support.
    task : {"classification", "regression"}
    learner : estimator
        The learner, which must have the methods that the metrics need, such as ``predict_proba``.
    target : Target, optional
        The target on which named metrics are tried. User-defined metrics and costs require it.
    costs : mapping, optional
        ``evaluation.costs``, which adds the metric ``cost``.
    find_function : callable, optional
        A function that resolves the dotted names of user-defined metrics.
    further_names : sequence of str
        The names of user-defined metrics, to suggest for a misspelled name.

    Raises
    ------
    UserError
        An unknown name, a metric of the other task, one for which the learner lacks the method, or one that cannot be
        computed for the target.
    """
    if target is not None and not target.can_be_tried:
        # The preflight checks reject such a dataset regardless of the metrics.
        return _choose_defaults(task, learner)
    if entries is None:
        chosen = _choose_defaults(task, learner)
    else:
        if isinstance(entries, str) or not isinstance(entries, Sequence) or not entries:
            raise UserError(f"{KEY}={entries!r} must be a list of names, such as [{DEFAULTS[task][0]}]. {LISTING}")
        chosen = {}
        for entry in entries:
            name = name_entry(entry)
            if isinstance(entry, Mapping):
                if name in chosen:
                    raise UserError(
                        f"{KEY} has two metrics called {name!r}; give one of them another name by its key name."
                    )
                assert target is not None
                assert find_function is not None
                metric = make_own_metric(entry, target, find_function)
            else:
                metric = _make_cost(costs, target) if name == COST else _find_named(name, task, further_names)
            _require_methods(name, metric, learner)
            if target is not None and not isinstance(entry, Mapping):
                try_metric(name, metric, target, learner)
            chosen[name] = metric
    if costs is not None and COST not in chosen:
        chosen[COST] = _make_cost(costs, target)
    return chosen


def _choose_defaults(task: str, learner: object) -> dict[str, Metric]:
    """Return the default metrics of a task that the methods of the learner support."""
    known = get_task_metrics(task)
    return {name: known[name] for name in DEFAULTS[task] if is_available(known[name], learner)}


def _make_cost(costs: Any, target: Target | None) -> Metric:
    """Return the metric of a cost matrix, whose classes must be those of the target."""
    names = None if target is None or target.classes is None else [spell_label(label) for label in target.classes]
    if names is None:
        raise UserError(
            f"{COSTS_KEY} is given, and the task is regression; remove it, or set dataset.task=classification."
        )
    if costs is None:
        raise UserError(
            f"{KEY} names {COST!r}, which needs {COSTS_KEY}. Write the cost of each mistake by its true and its "
            f"predicted class: {COSTS_KEY}={_write(names)}."
        )
    formula = partial(compute_cost, read_costs(costs, names))
    return Metric(formula, greater_is_better=False, bounds=ANY_NUMBER)


def compute_cost(costs: np.ndarray, predictions: Predictions) -> float:
    """Return the mean cost per row.

    Parameters
    ----------
    costs : ndarray of shape (c, c)
        The cost of predicting a row of one class (rows) as another (columns).
    predictions : Predictions
        Predictions whose labels are positions among the classes.

    References
    ----------
    Elkan, C. (2001). The foundations of cost-sensitive learning. Proceedings of the 17th International Joint Conference
    on Artificial Intelligence, 973-978.
    """
    row_costs = costs[predictions.truth, predictions.predicted]  # (m,)
    return float(np.average(row_costs, weights=predictions.weights))


def read_costs(given: Any, names: Sequence[str]) -> np.ndarray:
    """Return the cost matrix of classes with these names, shape (c, c).

    A correct prediction costs 0 unless the mapping specifies otherwise; a negative cost is a gain.

    Raises
    ------
    UserError
        The costs do not match the classes, or one is missing.
    """
    rows = _read_mapping(given, names, COSTS_KEY)
    costs = np.zeros((len(names), len(names)))  # (c, c)
    for true_code, true_name in enumerate(names):
        row_key = f"{COSTS_KEY}.{true_name}"
        cells = {true_name: 0, **_read_mapping(rows.get(true_name) or {}, names, row_key)}
        for code, name in enumerate(names):
            if name not in cells:
                raise UserError(
                    f"{COSTS_KEY} lacks the cost of predicting {name} for {true_name}; give the "
                    f"cost of every mistake: {_write(names)}."
                )
            cost = cells[name]
            if isinstance(cost, bool) or not isinstance(cost, int | float) or not np.isfinite(cost):
                raise UserError(f"{row_key}.{name}={cost!r} must be a number.")
            costs[true_code, code] = cost
    return costs


def _read_mapping(given: Any, names: Sequence[str], key: str) -> dict[str, Any]:
    """Return a mapping from classes with their names as keys."""
    if not isinstance(given, Mapping):
        raise UserError(f"{key}={given!r} must map each true class to the costs of its mistakes: {_write(names)}.")
    values = {spell_label(label): value for label, value in given.items()}
    for name in values:
        if name not in names:
            raise UserError(f"{key} names {name!r}, which is not a class of the dataset. {did_you_mean(name, names)}")
    return values


def spell_label(label: Any) -> str:
    """Return a class label as text, independent of its spelling in YAML or a file.

    Examples
    --------
    >>> spell_label(True), spell_label("True"), spell_label(1.0), spell_label("ill")
    ('true', 'true', '1', 'ill')
    """
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    text = str(label)
    return text.lower() if text in ("True", "False") else text


def _write(names: Sequence[str]) -> str:
    """Format an example mapping for the classes in which each mistake costs 1."""
    rows = {name: {other: 1 for other in names if other != name} for name in names}
    return str(rows).replace("'", "")


def _find_named(name: str, task: str, further_names: Sequence[str]) -> Metric:
    """Return bakeoff's metric with a name, or else scikit-learn's; further names are only used as suggestions."""
    known = get_task_metrics(task)
    scorers = list_scorer_names(task)
    if name in known or name in scorers:
        return find_metric(name)
    suggestion = did_you_mean(name, (*known, *scorers, *further_names))
    if suggestion.startswith("Allowed"):
        suggestion = f"{did_you_mean(name, (*known, *further_names))[:-1]}, and scikit-learn's scorers; {LISTING}"
    (other,) = {*DEFAULTS} - {task}
    is_of_other = name in get_task_metrics(other) or name in list_scorer_names(other)
    where = f" but of {other}" if is_of_other else ""
    raise UserError(f"{KEY} names {name!r}, which is not a metric of {task}{where}. {suggestion}")


def _require_methods(name: str, metric: Metric, learner: object) -> None:
    if not is_available(metric, learner):
        cure = ", or add calibration=platt" if "predict_proba" in metric.needs else ""
        raise UserError(
            f"{KEY} names {name!r}, which needs {' or '.join(metric.needs)}, and {type(learner).__name__} has none; "
            f"remove it from the list{cure}."
        )
