"""The memory that a fit needs for pairs of rows, compared with that of this machine before the first fit."""

from __future__ import annotations

from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.dataset.size_limits import read_machine_bytes
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_bytes

BYTES_OF_NUMBER = 8
PAIRWISE_MODULE = "sklearn.gaussian_process"
MATRICES_OF_FITTED_KERNEL = 11
"""Matrices of n × n numbers at the peak of a fit that optimizes its kernel: 10 to 15 were measured."""
MATRICES_OF_GIVEN_KERNEL = 7
"""Matrices at the peak with the kernel as it is given: 5 to 7 were measured."""
ONE_HOT = "OneHotEncoder"
REDUCING_STEPS = ("GroupRareValues",)
"""Steps after which a column has fewer values."""
NOTED_BYTES = 500_000_000
"""A fit that needs more memory is said before it begins."""


def check_memory(experiment: Experiment, splits: Splits) -> None:
    """Reject a fit that needs more memory for pairs of rows than the machine has."""
    n_rows = max(len(split.train) for split in splits.fitted)
    if exceeds_memory(experiment.learner, n_rows):
        raise UserError(
            f"learner: {describe_memory(experiment.learner, n_rows)}; this machine has "
            f"{format_bytes(read_machine_bytes())}. Choose another learner, or fewer rows for training."
        )


def check_one_hot_memory(experiment: Experiment) -> None:
    """Reject one-hot columns that do not fit into memory."""
    dataset = experiment.dataset
    if not dataset.nominal:
        return
    n_rows = len(dataset.y)
    available = read_machine_bytes()
    widest = count_one_hot_columns(experiment.preprocessing, dataset)
    if BYTES_OF_NUMBER * n_rows * widest > available:
        largest = max(dataset.nominal, key=lambda name: dataset.X[name].nunique())
        raise UserError(
            f"preprocessing: one-hot makes {widest:,} columns of {n_rows:,} rows, which need "
            f"{format_bytes(BYTES_OF_NUMBER * n_rows * widest)}; this machine has {format_bytes(available)}. "
            f"Leave {largest!r} out with dataset.drop=[{largest}], or use preprocessing=one_hot_rare."
        )


def check_probability_memory(experiment: Experiment) -> None:
    """Reject probabilities of so many classes that they do not fit into memory: the target is rather a number."""
    dataset = experiment.dataset
    n_rows = len(dataset.y)
    available = read_machine_bytes()
    n_classes = len(dataset.classes) if dataset.is_classification else 0
    n_bytes = BYTES_OF_NUMBER * n_rows * n_classes
    if n_bytes > available and hasattr(experiment.scored_learner, "predict_proba"):
        raise UserError(
            f"dataset.target={dataset.target!r} has {n_classes:,} classes, whose probabilities for {n_rows:,} rows "
            f"need {format_bytes(n_bytes)}; this machine has {format_bytes(available)}. If it is a number, use "
            "dataset.task=regression."
        )


def count_one_hot_columns(preprocessing: Any, dataset: Dataset) -> int:
    """Return the number of columns that one-hot coding makes of the nominal columns, if it limits them by nothing."""
    params = preprocessing.get_params(deep=True) if hasattr(preprocessing, "get_params") else {}
    steps = [step for step in [preprocessing, *params.values()] if type(step).__name__ == ONE_HOT]
    is_limited = any(type(step).__name__ in REDUCING_STEPS for step in params.values())
    is_dense = any(
        not step.sparse_output and step.max_categories is None and step.min_frequency is None for step in steps
    )
    if is_limited or not is_dense:
        return 0
    return sum(dataset.X[name].nunique() for name in dataset.nominal)


def exceeds_memory(learner: Any, n_rows: int) -> bool:
    """Return whether a fit on some number of rows needs more memory for pairs of them than the machine has."""
    needed = estimate_pairwise_bytes(learner, n_rows)
    return needed > 0 and needed > read_machine_bytes()


def note_memory(experiment: Experiment) -> str:
    """Return a sentence about a fit that needs much memory for pairs of rows; empty for all others."""
    n_rows = len(experiment.dataset.y)
    if estimate_pairwise_bytes(experiment.learner, n_rows) < NOTED_BYTES:
        return ""
    return describe_memory(experiment.learner, n_rows)


def describe_memory(learner: Any, n_rows: int) -> str:
    """Return what a fit on some number of rows needs, and how it grows."""
    needed = format_bytes(estimate_pairwise_bytes(learner, n_rows))
    return (
        f"{type(learner).__name__} needs about {needed} for the pairs of {n_rows:,} rows; its memory grows with the "
        "square of the rows, its time with the cube"
    )


def estimate_pairwise_bytes(estimator: Any, n_rows: int) -> int:
    """Return the memory in bytes that a fit needs for pairs of rows; 0 for learners that hold none.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.
    n_rows : int
        Of the training rows.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.linear_model import Ridge
    >>> estimate_pairwise_bytes(GaussianProcessRegressor(), 10_000), estimate_pairwise_bytes(Ridge(), 10_000)
    (8800000000, 0)
    """
    if not type(estimator).__module__.startswith(PAIRWISE_MODULE):
        return 0
    is_kernel_fitted = estimator.get_params(deep=False).get("optimizer") is not None
    n_matrices = MATRICES_OF_FITTED_KERNEL if is_kernel_fitted else MATRICES_OF_GIVEN_KERNEL
    return n_matrices * BYTES_OF_NUMBER * n_rows * n_rows
