"""Checks of the table passed to a learner: kinds of columns, missing cells, and parameters that refer to them.

Each message names the column or parameter, and the option that fixes the problem.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import get_tags

from bakeoff.pipeline.errors import UserError, first_line, name_error
from bakeoff.pipeline.experiment import Experiment, make_pipeline
from bakeoff.pipeline.experiment.fitting import fit_preprocessing, transform_rows
from bakeoff.pipeline.stages.preprocessing import (
    get_max_nominal_values,
    list_kinds,
    reads_nominal_columns,
    require_named_columns,
)
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import list_candidate_learners

MAX_TRIAL_ROWS = 100
"""Rows on which preprocessing is tried if every column is numeric and full: its steps then work on all rows or none."""
PARAMETERS_OF_DATA = (
    "categorical_features",
    "class_order",
    "class_prior",
    "class_weight",
    "coef_init",
    "feature_alpha",
    "feature_weights",
    "intercept_init",
    "metric_params",
    "monotonic_cst",
    "priors",
)
"""Parameters of learners, of bakeoff and of scikit-learn, whose values refer to classes or columns."""
ROWS_PER_TARGET = 5
NOMINAL_KINDS = ("nominal", "ordered")
NOMINAL_TEXT = ("is nominal", "one_hot")
KINDS_OF_TEXT = {"date": ("holds dates", "date_parts"), "text": ("holds free text", "text_tfidf")}
"""Kind of column -> its description, and the preprocessing that converts it to numbers."""


def check_cells(experiment: Experiment, splits: Splits) -> None:
    """Require columns and missing cells that the learner accepts after preprocessing of the first training part."""
    split = splits.folds[0]
    dataset = experiment.dataset
    for name, column in dataset.X.select_dtypes("number").items():
        if np.isinf(column.to_numpy()).any():
            raise UserError(
                f"dataset: column {name!r} contains infinite values; mark them as missing, or drop the column."
            )
    require_named_columns(experiment.preprocessing, dataset.X)
    prepared = dataset.X
    if experiment.preprocessing is not None:
        is_plain = set(list_kinds(dataset.X).values()) == {"numeric"} and not dataset.X.isna().to_numpy().any()
        train = split.train[:MAX_TRIAL_ROWS] if is_plain else split.train
        transformed_rows = dataset.X.iloc[train] if is_plain else dataset.X
        prepared = _try_preprocessing(experiment, train, transformed_rows)
    _require_readable(experiment, prepared)
    _require_suitable_values(experiment, prepared)


def _require_suitable_values(experiment: Experiment, prepared: pd.DataFrame) -> None:
    """Reject a parameter, such as class_weight, that does not suit the classes or columns.

    A few rows with all classes can then be fitted without this parameter, but not with it.
    """
    suspects = [
        (learner, name, value)
        for learner in list_candidate_learners(experiment.learner, experiment.tuning)
        for name in PARAMETERS_OF_DATA
        if isinstance(value := getattr(learner, name, None), dict | list)
    ]
    if not suspects:
        return
    dataset = experiment.dataset
    targets = dataset.classes if dataset.is_classification else dataset.y[:MAX_TRIAL_ROWS]
    y = np.repeat(targets, ROWS_PER_TARGET)  # (m,)
    X = prepared.iloc[np.arange(len(y)) % len(prepared)]
    for learner, name, value in suspects:
        fault = _find_fault(learner, X, y)
        if fault and not _find_fault(learner, X, y, **{name: None}):
            raise UserError(f"learner.{name}={value} does not suit the classes or columns: {fault}.")


def _find_fault(learner: Any, X: pd.DataFrame, y: np.ndarray, **changes: Any) -> str:
    """Return the error of a fit with changed parameters; empty if there is none."""
    try:
        with warnings.catch_warnings(action="ignore"):  # each fit of the run reports them
            clone(learner).set_params(**changes).fit(X, y)
    except Exception as error:
        return name_error(error)
    return ""


def _require_readable(experiment: Experiment, prepared: pd.DataFrame) -> None:
    """Reject the first column that has an unsupported kind, too many values or missing cells."""
    learner = experiment.learner
    learner_name = type(learner).__name__
    reads_nominal = reads_nominal_columns(learner)
    kinds = list_kinds(prepared)
    for name, kind in kinds.items():
        if kind != "numeric" and not (kind in NOMINAL_KINDS and reads_nominal):
            raise UserError(_explain_kind(name, kind, list_kinds(experiment.dataset.X).get(name), learner))
    nominal = [name for name, kind in kinds.items() if kind != "numeric"]
    limit = get_max_nominal_values(learner) if nominal else None
    for name in nominal:
        n_values = prepared[name].nunique()
        if limit is not None and n_values > limit:
            raise UserError(
                f"column {name!r} has {n_values} values, but {learner_name} accepts at most {limit} in a nominal "
                "column; add preprocessing=auto or preprocessing=rare, which merge the rarest values, or drop "
                f"the column with dataset.drop=[{name}]."
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
    model = make_pipeline(experiment)
    try:
        with warnings.catch_warnings(action="ignore"):  # each fit of the run reports them
            fit_preprocessing(experiment, model, dataset.X.iloc[train], dataset.y[train])
            prepared, _ = transform_rows(experiment, model, X)
    except (ValueError, TypeError, AttributeError) as error:
        reason = first_line(error).rstrip(".")
        raise UserError(f"preprocessing: {reason}.") from error
    return prepared if isinstance(prepared, pd.DataFrame) else pd.DataFrame(prepared)


def _explain_kind(name: str, kind: str, given_kind: str | None, learner: Any) -> str:
    """Return why a learner cannot read a column, and which preprocessing it needs."""
    learner_name = type(learner).__name__
    if kind == "text" and given_kind != "text" and reads_nominal_columns(learner):
        return (
            f"column {name!r} holds text after preprocessing; add bakeoff.pipeline.stages.preprocessing.AsNominal "
            "as the last step of its kind, which makes it nominal again."
        )
    noun, option = KINDS_OF_TEXT.get(kind if given_kind == kind else "", NOMINAL_TEXT)
    return (
        f"column {name!r} {noun}, which {learner_name} does not accept; add preprocessing={option} or "
        f"preprocessing=auto, or leave the column out with dataset.drop=[{name}]."
    )
