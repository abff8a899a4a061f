"""Parameters of learners and transformers that say how much is held in memory, compared with that of this machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.machine_memory import read_machine_bytes, to_gigabytes
from bakeoff.pipeline.processes import MAX_PROCESSES_PER_CORE, count_most_processes
from bakeoff.pipeline.stages.dataset import Dataset

BYTES_OF_NUMBER = 8
BYTES_OF_SMALLEST_MODEL = 500
"""Of a tree with a single leaf in an ensemble, its Python object included."""
COPIES_OF_WEIGHTS = 4
"""Of a network in training: the weights, their gradients, and two moments."""
ENSEMBLE_PARAMETERS = ("n_estimators",)
LAYER_PARAMETERS = ("hidden_layer_sizes",)
PROCESS_PARAMETER = "n_jobs"
POLYNOMIAL = "PolynomialFeatures"
"""The class whose ``degree`` makes columns; that of a kernel makes none."""
NESTING = "__"


@dataclass(frozen=True)
class Demand:
    """The memory that a parameter needs at least.

    Attributes
    ----------
    parameter : str
        Its name, with two underscores between the name of a part and its parameter.
    value : object
    n_bytes : int
    """

    parameter: str
    value: Any
    n_bytes: int


def check_parameter_sizes(estimator: Any, dataset: Dataset, key: str) -> None:
    """Reject an estimator with a parameter for which this machine has too little memory, or too few cores.

    Parameters
    ----------
    estimator : estimator
        A learner, or the preprocessing.
    dataset : Dataset
        Of n rows and d columns.
    key : str
        Of the configuration, for messages.

    Raises
    ------
    UserError
    """
    if not hasattr(estimator, "get_params"):
        return
    _check_processes(estimator, key)
    n_classes = len(dataset.classes) if dataset.is_classification else 1
    available = read_machine_bytes()
    for demand in list_demands(estimator, *dataset.X.shape, n_classes):
        if demand.n_bytes > available:
            raise UserError(
                f"{key}.{demand.parameter.replace(NESTING, '.')}={demand.value} needs at least "
                f"{to_gigabytes(demand.n_bytes)}, and this machine has {to_gigabytes(available)}; give a smaller value."
            )


def list_demands(estimator: Any, n: int, d: int, n_classes: int) -> Iterator[Demand]:
    """Yield the parameters, those of parts included, that need memory which is known before the fit.

    Parameters
    ----------
    estimator : estimator
    n : int
        Rows of the table.
    d : int
        Columns of the table; one-hot coding can only make more of them.
    n_classes : int

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> [demand] = list_demands(RandomForestClassifier(n_estimators=10**12), n=150, d=4, n_classes=3)
    >>> demand.parameter, demand.n_bytes
    ('n_estimators', 500000000000000)
    """
    params = estimator.get_params(deep=True)
    if type(estimator).__name__ == POLYNOMIAL:
        yield Demand("degree", params["degree"], _count_polynomial_bytes(params, n, d))
    for name, value in params.items():
        last = name.rpartition(NESTING)[2]
        if last in ENSEMBLE_PARAMETERS and _is_count(value):
            yield Demand(name, value, BYTES_OF_SMALLEST_MODEL * value)
        elif last in LAYER_PARAMETERS:
            yield Demand(name, value, _count_network_bytes(value, d, n_classes))
        elif type(value).__name__ == POLYNOMIAL:
            inner = value.get_params(deep=False)
            yield Demand(f"{name}{NESTING}degree", inner["degree"], _count_polynomial_bytes(inner, n, d))


def _check_processes(estimator: Any, key: str) -> None:
    """Reject a learner that would start very many processes or threads of its own."""
    n_most = count_most_processes()
    for name, value in estimator.get_params(deep=True).items():
        if name.rpartition(NESTING)[2] == PROCESS_PARAMETER and _is_count(value) and value > n_most:
            raise UserError(
                f"{key}.{name.replace(NESTING, '.')}={value} would start more than {MAX_PROCESSES_PER_CORE} processes "
                f"or threads for each core; give at most {n_most}, or -1 for one for each core."
            )


def _count_network_bytes(sizes: Any, d: int, n_classes: int) -> int:
    """Return the memory of the weights between the layers of a network."""
    hidden = list(sizes) if isinstance(sizes, Sequence) and not isinstance(sizes, str) else [sizes]
    if not all(map(_is_count, hidden)):
        return 0
    layers = [d, *hidden, n_classes]
    n_weights = sum(before * after for before, after in pairwise(layers))
    return COPIES_OF_WEIGHTS * BYTES_OF_NUMBER * n_weights


def _count_polynomial_bytes(params: Any, n: int, d: int) -> int:
    """Return the memory of the columns that a polynomial makes: all products of at most ``degree`` columns."""
    degree = params["degree"]
    highest = degree[-1] if isinstance(degree, tuple | list) and degree else degree
    if not _is_count(highest):
        return 0
    if params["interaction_only"]:
        n_columns = sum(math.comb(d, size) for size in range(min(highest, d) + 1))
    else:
        # The smaller of both numbers decides how long the product takes.
        n_columns = math.comb(d + highest, min(d, highest))
    return BYTES_OF_NUMBER * n * n_columns


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
