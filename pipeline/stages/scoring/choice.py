"""The choice of the metrics of a run and of its training rows, and the checks of each before anything is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring.costs import COST, explain_costs, make_cost_metric
from bakeoff.pipeline.stages.scoring.entries import KEY, FindFunction, make_own_metric, name_entry
from bakeoff.pipeline.stages.scoring.metrics import DEFAULTS, Metric, get_task_metrics, is_available
from bakeoff.pipeline.stages.scoring.scorers import Target, list_scorer_names, make_named_metric, try_metric

TrainMetrics = Literal["headline", "all"]
TRAIN_METRICS_KEY = "train_metrics"
SCORING_KEYS = ("metrics", "costs", TRAIN_METRICS_KEY)
"""Keys of the evaluation for scoring predictions; the others determine how rows are divided."""


def choose_train_metrics(given: Any) -> TrainMetrics:
    """Return ``evaluation.train_metrics``; without it, training rows are only scored by the headline.

    The headline suffices to see how far a model fits its training rows better than others, and the other metrics of
    training rows would double the numbers that a run stores.

    Raises
    ------
    UserError
        It is neither headline nor all.
    """
    if given is None:
        return "headline"
    for allowed in get_args(TrainMetrics):
        if given == allowed:
            known: TrainMetrics = allowed
            return known
    raise UserError(
        f"evaluation.{TRAIN_METRICS_KEY}={given!r} must be headline, which scores training rows by the first metric, "
        "or all, which scores them by all metrics."
    )


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
        selects the defaults of the task for which the learner has the methods.
    task : {"classification", "regression"}
    learner : estimator
        Must have the methods that the metrics need: probabilities, or decision values.
    target : Target, optional
        On which each metric that is named is tried. Metrics of the user, and costs, need it.
    costs : mapping, optional
        ``evaluation.costs``, which adds the metric ``cost``.
    find_function : callable, optional
        Resolves the dotted names of the user's metrics.
    further_names : sequence of str
        Of the metrics in the user's files, which a misspelled name may mean.

    Raises
    ------
    UserError
        An unknown name, a metric of the other task, one for which the learner lacks the method, or one that cannot be
        computed for the target.
    """
    if target is not None and not target.can_be_tried:
        # Preflight rejects such a dataset, whatever the metrics are.
        return _choose_defaults(task, learner)
    chosen: dict[str, Metric] = {}
    if entries is None:
        chosen = _choose_defaults(task, learner)
    else:
        _require_list(entries, task)
        for entry in entries:
            name = name_entry(entry)
            if isinstance(entry, Mapping):
                _require_new(name, chosen)
                assert target is not None
                assert find_function is not None
                chosen[name] = make_own_metric(entry, target, find_function)
            else:
                chosen[name] = _make_cost(costs, target) if name == COST else _find_named(name, task, further_names)
            _require_methods(name, chosen[name], learner)
            if target is not None and not isinstance(entry, Mapping):
                try_metric(name, chosen[name], target, learner)
    if costs is not None and COST not in chosen:
        chosen[COST] = _make_cost(costs, target)
    return chosen


def _choose_defaults(task: str, learner: object) -> dict[str, Metric]:
    """Return the default metrics of a task that the methods of the learner support."""
    known = get_task_metrics(task)
    return {name: known[name] for name in DEFAULTS[task] if is_available(known[name], learner)}


def _make_cost(costs: Any, target: Target | None) -> Metric:
    classes = None if target is None else target.classes
    if costs is None:
        raise UserError(f"{KEY} names {COST!r}, which needs evaluation.costs. {explain_costs(classes)}")
    return make_cost_metric(costs, classes)


def _find_named(name: str, task: str, further_names: Sequence[str]) -> Metric:
    """Return bakeoff's metric of a name, or else scikit-learn's; the further names are suggested only."""
    known = get_task_metrics(task)
    if name in known:
        return known[name]
    scorers = list_scorer_names(task)
    if name in scorers:
        return make_named_metric(name)
    suggestion = did_you_mean(name, (*known, *scorers, *further_names))
    if suggestion.startswith("Allowed"):
        suggestion = f"{did_you_mean(name, (*known, *further_names))[:-1]}, and scikit-learn's scorers; {LISTING}"
    (other,) = {*DEFAULTS} - {task}
    is_of_other = name in get_task_metrics(other) or name in list_scorer_names(other)
    where = f" but of {other}" if is_of_other else ""
    raise UserError(f"{KEY} names {name!r}, which is not a metric of {task}{where}. {suggestion}")


def _require_list(entries: Any, task: str) -> None:
    if isinstance(entries, str) or not isinstance(entries, Sequence) or not entries:
        raise UserError(f"{KEY}={entries!r} must be a list of names, such as [{DEFAULTS[task][0]}]. {LISTING}")


def _require_new(name: str, chosen: Mapping[str, Metric]) -> None:
    if name in chosen:
        raise UserError(f"{KEY} has two metrics called {name!r}; give one of them another name by its key name.")


def _require_methods(name: str, metric: Metric, learner: object) -> None:
    if not is_available(metric, learner):
        cure = ", or add calibration=platt" if "predict_proba" in metric.needs else ""
        raise UserError(
            f"{KEY} names {name!r}, which needs {' or '.join(metric.needs)}, and {type(learner).__name__} has none; "
            f"remove it from the list{cure}."
        )
