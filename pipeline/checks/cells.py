"""Checks of the table passed to a learner: kinds of columns, missing cells, and memory.

Each message names the column or parameter, and the option that fixes the problem.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import get_tags

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.dataset.size_limits import read_machine_bytes
from bakeoff.pipeline.stages.preprocessing import (
    get_max_nominal_values,
    list_kinds,
    reads_nominal_columns,
    require_named_columns,
)
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_bytes

MAX_TRIAL_ROWS = 100
"""Rows on which preprocessing is tried if every column is numeric and full: its steps then work on all rows or none."""
NOMINAL_KINDS = ("nominal", "ordered")
BYTES_OF_NUMBER = 8
PAIRWISE_MODULE = "sklearn.gaussian_process"
MATRICES_OF_FITTED_KERNEL = 11
"""Matrices of n × n numbers at the peak of a fit that optimizes its kernel: 10 to 15 were measured."""
MATRICES_OF_GIVEN_KERNEL = 7
"""Matrices at the peak with a fixed kernel: 5 to 7 were measured."""
ONE_HOT = "OneHotEncoder"
REDUCING_STEPS = ("GroupRareValues",)
"""Steps after which a column has fewer values."""
NOTED_BYTES = 500_000_000
"""Fits that need more memory are announced before they begin."""


def check_cells(experiment: Experiment, splits: Splits) -> None:
    """Require columns and missing cells that the learner accepts after preprocessing of the first training part."""
    split = splits.folds[0]
    dataset = experiment.dataset
    for name, column in dataset.X.select_dtypes("number").items():
        if np.isinf(column.to_numpy()).any():
            raise UserError(f"dataset: column {name!r} holds infinite values; make them missing, or drop the column.")
    require_named_columns(experiment.preprocessing, dataset.X)
    prepared = dataset.X
    if experiment.preprocessing is not None:
        is_plain = set(list_kinds(dataset.X).values()) == {"numeric"} and not dataset.X.isna().to_numpy().any()
        train = split.train[:MAX_TRIAL_ROWS] if is_plain else split.train
        transformed_rows = dataset.X.iloc[train] if is_plain else dataset.X
        prepared = _try_preprocessing(experiment, train, transformed_rows)
    _require_readable(experiment, prepared)


def _require_readable(experiment: Experiment, prepared: pd.DataFrame) -> None:
    """Reject the first column of a kind that the learner does not read, with too many values or with missing cells."""
    learner = experiment.learner
    learner_name = type(learner).__name__
    reads_nominal = reads_nominal_columns(learner)
    given_kinds = list_kinds(experiment.dataset.X)
    kinds = list_kinds(prepared)
    for name, kind in kinds.items():
        if kind != "numeric" and not (kind in NOMINAL_KINDS and reads_nominal):
            raise UserError(_explain_kind(name, kind, given_kinds.get(name), learner))
    nominal = [name for name, kind in kinds.items() if kind != "numeric"]
    limit = get_max_nominal_values(learner) if nominal else None
    for name in nominal:
        n_values = prepared[name].nunique()
        if limit is not None and n_values > limit:
            raise UserError(
                f"column {name!r} has {n_values} values, and {learner_name} accepts {limit} of a nominal column; add "
                "preprocessing=auto or preprocessing=rare, which join the rarest, or leave the column out with "
                f"dataset.drop=[{name}]."
            )
    if get_tags(learner).input_tags.allow_nan:
        return
    remedy = "full" if experiment.dataset.nominal and not reads_nominal else "impute"
    for name in prepared.columns[prepared.isna().any()]:
        raise UserError(
            f"column {str(name)!r} has missing cells, and {learner_name} does not accept them; "
            f"add preprocessing={remedy}, or preprocessing=auto."
        )


def _try_preprocessing(experiment: Experiment, train: np.ndarray, X: pd.DataFrame) -> pd.DataFrame:
    """Fit the preprocessing on training rows and return X transformed, or raise its error as a UserError."""
    dataset = experiment.dataset
    steps = clone(experiment.preprocessing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # each fit of the run reports them
            prepared = steps.fit(dataset.X.iloc[train], dataset.y[train]).transform(X)
    except (ValueError, TypeError, AttributeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"preprocessing: {reason}.{_suggest_steps(dataset.X)}") from error
    return prepared if isinstance(prepared, pd.DataFrame) else pd.DataFrame(prepared)


def _suggest_steps(X: pd.DataFrame) -> str:
    """Return a sentence about columns that most transformers cannot read; empty if X (n, d) has none."""
    special = [name for name, kind in list_kinds(X).items() if kind in ("date", "text")]
    if not special:
        return ""
    names = ", ".join(map(repr, special))
    return (
        f" Columns of dates and of free text ({names}) need steps of their own, preprocessing.dates and "
        "preprocessing.text; preprocessing=auto has them."
    )


def _explain_kind(name: str, kind: str, given_kind: str | None, learner: Any) -> str:
    """Return why a learner cannot read a column, and which preprocessing it needs."""
    learner_name = type(learner).__name__
    if kind == "date":
        return (
            f"column {name!r} holds dates, which {learner_name} does not accept; add preprocessing=auto or "
            f"preprocessing=date_parts, or leave the column out with dataset.drop=[{name}]."
        )
    if kind == "text" and given_kind == "text":
        return (
            f"column {name!r} holds free text, which {learner_name} does not accept; add preprocessing=auto, "
            f"text_hashing or text_tfidf, or leave the column out with dataset.drop=[{name}]."
        )
    if kind == "text" and reads_nominal_columns(learner):
        return (
            f"column {name!r} holds text after preprocessing; add bakeoff.pipeline.stages.preprocessing.AsNominal "
            "as the last step of its kind, which makes it nominal again."
        )
    return (
        f"column {name!r} is nominal, and {learner_name} accepts numbers only; add preprocessing=one_hot "
        "(with missing cells too: preprocessing=full), or preprocessing=auto."
    )


def check_pair_memory(experiment: Experiment, splits: Splits) -> None:
    """Reject a fit that needs more memory for pairs of rows than the machine has."""
    n_rows = max(len(split.train) for split in splits.fitted)
    if exceeds_memory(experiment.learner, n_rows):
        raise UserError(
            f"learner: {describe_memory(experiment.learner, n_rows)}; this machine has "
            f"{format_bytes(read_machine_bytes())}. Choose another learner, or fewer rows for training."
        )


def check_table_memory(experiment: Experiment) -> None:
    """Reject one-hot columns, and probabilities of very many classes, that do not fit into memory."""
    dataset = experiment.dataset
    n_rows = len(dataset.y)
    available = read_machine_bytes()
    n_columns = count_one_hot_columns(experiment.preprocessing, dataset) if dataset.nominal else 0
    n_bytes = BYTES_OF_NUMBER * n_rows * n_columns
    if n_bytes > available:
        largest = max(dataset.nominal, key=lambda name: dataset.X[name].nunique())
        raise UserError(
            f"preprocessing: one-hot makes {n_columns:,} columns of {n_rows:,} rows, which need "
            f"{format_bytes(n_bytes)}; this machine has {format_bytes(available)}. Leave {largest!r} out with "
            f"dataset.drop=[{largest}], or use preprocessing=one_hot_rare."
        )
    n_classes = len(dataset.classes) if dataset.is_classification else 0
    n_bytes = BYTES_OF_NUMBER * n_rows * n_classes
    # A target with so many classes is rather a number.
    if n_bytes > available and hasattr(experiment.scored_learner, "predict_proba"):
        raise UserError(
            f"dataset.target={dataset.target!r} has {n_classes:,} classes, whose probabilities for {n_rows:,} rows "
            f"need {format_bytes(n_bytes)}; this machine has {format_bytes(available)}. If it is a number, use "
            "dataset.task=regression."
        )


def count_one_hot_columns(preprocessing: Any, dataset: Dataset) -> int:
    """Return the number of columns after one-hot coding of the nominal columns without a limit."""
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
    """Return whether a fit on a number of rows needs more memory for pairs of rows than the machine has."""
    needed = estimate_pairwise_bytes(learner, n_rows)
    return needed > 0 and needed > read_machine_bytes()


def note_memory(experiment: Experiment) -> str:
    """Return a sentence about a fit that needs much memory for pairs of rows; empty for all others."""
    n_rows = len(experiment.dataset.y)
    if estimate_pairwise_bytes(experiment.learner, n_rows) < NOTED_BYTES:
        return ""
    return describe_memory(experiment.learner, n_rows)


def describe_memory(learner: Any, n_rows: int) -> str:
    """Return a description of the memory that a fit on a number of rows needs, and its growth."""
    needed = format_bytes(estimate_pairwise_bytes(learner, n_rows))
    return (
        f"{type(learner).__name__} needs about {needed} for the pairs of {n_rows:,} rows; its memory grows with the "
        "square of the rows, its time with the cube"
    )


def estimate_pairwise_bytes(estimator: Any, n_rows: int) -> int:
    """Return the memory in bytes that a fit needs for pairs of rows; 0 for learners that store none.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.
    n_rows : int
        The number of training rows.

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
