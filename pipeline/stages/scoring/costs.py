"""Cost matrices: the cost of each mistake, and the mean cost of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring.metrics import Metric
from bakeoff.pipeline.stages.scoring.predictions import Predictions

COST = "cost"
"""The name of the metric."""
COST_SENTENCE = "Mean cost of a row, by evaluation.costs."
KEY = "evaluation.costs"


@dataclass(frozen=True, eq=False)
class CostFormula:
    """The mean cost of a row.

    Parameters
    ----------
    costs : ndarray of shape (c, c)
        The cost of a row of a class (rows) that is predicted as another (columns).

    References
    ----------
    Elkan, C. (2001). The foundations of cost-sensitive learning. Proceedings of the 17th International Joint Conference
    on Artificial Intelligence, 973-978.
    """

    costs: np.ndarray

    def __call__(self, predictions: Predictions) -> float:
        """Return the mean cost of the predictions, whose labels are positions among the classes."""
        row_costs = self.costs[predictions.truth, predictions.predicted]  # (m,)
        return float(np.average(row_costs, weights=predictions.weights))


def make_cost_metric(given: Any, classes: np.ndarray | None) -> Metric:
    """Return the metric of a cost matrix.

    Parameters
    ----------
    given : mapping
        ``evaluation.costs``: true class -> predicted class -> cost.
    classes : ndarray of shape (c,) or None
        None for regression.

    Raises
    ------
    UserError
        The costs are not those of the classes, or one is missing.
    """
    return Metric(
        CostFormula(read_costs(given, classes)), greater_is_better=False, is_bounded=False, sentence=COST_SENTENCE
    )


def read_costs(given: Any, classes: np.ndarray | None) -> np.ndarray:
    """Return a cost matrix, shape (c, c), from its mapping; the parameters and errors are those of `make_cost_metric`.

    A right prediction costs 0 unless the mapping says otherwise; a negative cost is a gain.
    """
    if classes is None:
        raise UserError(f"{KEY} is given, and the task is regression; remove it, or set dataset.task=classification.")
    names = _spell(classes)
    if not isinstance(given, Mapping):
        raise UserError(f"{KEY}={given!r} must map each true class to the costs of its mistakes: {_write(names)}.")
    rows = {spell_label(label): row for label, row in given.items()}
    _require_classes(rows, names, KEY)
    costs = np.zeros((len(names), len(names)))  # (c, c)
    for true_code, true_name in enumerate(names):
        row = rows.get(true_name)
        if row is None:
            row = {}
        if not isinstance(row, Mapping):
            raise UserError(f"{KEY}.{true_name}={row!r} must map each predicted class to its cost: {_write(names)}.")
        cells = {spell_label(label): cost for label, cost in row.items()}
        _require_classes(cells, names, f"{KEY}.{true_name}")
        for code, name in enumerate(names):
            if name in cells:
                costs[true_code, code] = _read_cost(cells[name], f"{KEY}.{true_name}.{name}")
            elif name != true_name:
                raise UserError(
                    f"{KEY} does not say what a row of {true_name} that is predicted as {name} costs; write all "
                    f"mistakes: {_write(names)}."
                )
    return costs


def explain_costs(classes: np.ndarray | None) -> str:
    """Return how the costs of a dataset are written, as a sentence."""
    if classes is None:
        return "Costs are those of classes, and the task is regression."
    return f"Write the cost of each mistake by its true and its predicted class: {KEY}={_write(_spell(classes))}."


def spell_label(label: Any) -> str:
    """Return a class label as text that is the same however YAML or a file spells it.

    Examples
    --------
    >>> spell_label(True), spell_label("True"), spell_label(1.0), spell_label("ill")
    ('true', 'true', '1', 'ill')
    """
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    text = str(label)
    return text.lower() if text in ("True", "False") else text


def _spell(classes: np.ndarray) -> list[str]:
    return [spell_label(label) for label in classes]


def _require_classes(given: Mapping[str, Any], names: Sequence[str], key: str) -> None:
    for name in given:
        if name not in names:
            raise UserError(f"{key} names {name!r}, which is not a class of the dataset. {did_you_mean(name, names)}")


def _read_cost(given: Any, key: str) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not np.isfinite(given):
        raise UserError(f"{key}={given!r} must be a number.")
    return float(given)


def _write(names: Sequence[str]) -> str:
    """Write a mapping for the classes in which each mistake costs 1."""
    rows = {name: {other: 1 for other in names if other != name} for name in names}
    return str(rows).replace("'", "")
