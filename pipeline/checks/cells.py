"""Checks of cells: kinds of columns and missing cells that a learner does not accept.

Each message names the column and the option of preprocessing that cures it.
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
from bakeoff.pipeline.stages.preprocessing import list_kinds, reads_nominal_columns, require_named_columns
from bakeoff.pipeline.stages.preprocessing.learner_input import get_max_nominal_values
from bakeoff.pipeline.stages.splitting import Splits

MAX_TRIAL_ROWS = 100
"""Rows on which preprocessing is tried if every column is numeric and full: its steps then work on all rows or none."""
NOMINAL_KINDS = ("nominal", "ordered")


def check_cells(experiment: Experiment, splits: Splits) -> None:
    """Require columns that the learner can take, after preprocessing of the first part, with their missing cells."""
    split = splits.folds[0]
    dataset = experiment.dataset
    _require_finite(dataset.X)
    require_named_columns(experiment.preprocessing, dataset.X)
    prepared = dataset.X
    if experiment.preprocessing is not None:
        is_plain = set(list_kinds(dataset.X).values()) == {"numeric"} and not dataset.X.isna().to_numpy().any()
        train = split.train[:MAX_TRIAL_ROWS] if is_plain else split.train
        transformed_rows = dataset.X.iloc[train] if is_plain else dataset.X
        prepared = _try_preprocessing(experiment, train, transformed_rows)
    _require_known_kinds(experiment, prepared)
    _require_few_values(experiment, prepared)
    _require_no_missing(experiment, prepared)


def _require_finite(X: pd.DataFrame) -> None:
    for name, column in X.select_dtypes("number").items():
        if np.isinf(column.to_numpy()).any():
            raise UserError(f"dataset: column {name!r} holds infinite values; make them missing, or drop the column.")


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


def _require_known_kinds(experiment: Experiment, prepared: pd.DataFrame) -> None:
    """Reject the first column of a kind that the learner does not read."""
    for name, kind in list_kinds(prepared).items():
        if kind == "numeric" or (kind in NOMINAL_KINDS and reads_nominal_columns(experiment.learner)):
            continue
        given_kinds = list_kinds(experiment.dataset.X)
        raise UserError(_explain_kind(name, kind, given_kinds.get(name), experiment.learner))


def _require_few_values(experiment: Experiment, prepared: pd.DataFrame) -> None:
    """Reject the first nominal column with more values than the learner accepts."""
    nominal = [name for name, kind in list_kinds(prepared).items() if kind in NOMINAL_KINDS]
    limit = get_max_nominal_values(experiment.learner) if nominal else None
    if limit is None:
        return
    for name in nominal:
        n_values = prepared[name].nunique()
        if n_values > limit:
            raise UserError(
                f"column {name!r} has {n_values} values, and {type(experiment.learner).__name__} accepts {limit} of a "
                "nominal column; add preprocessing=auto or preprocessing=rare, which join the rarest, or leave the "
                f"column out with dataset.drop=[{name}]."
            )


def _explain_kind(name: str, kind: str, given_kind: str | None, learner: Any) -> str:
    """Say why a learner cannot read a column, and which preprocessing it needs."""
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


def _require_no_missing(experiment: Experiment, prepared: pd.DataFrame) -> None:
    if get_tags(experiment.learner).input_tags.allow_nan:
        return
    learner_name = type(experiment.learner).__name__
    needs_encoding = experiment.dataset.nominal and not reads_nominal_columns(experiment.learner)
    remedy = "full" if needs_encoding else "impute"
    for name in prepared.columns[prepared.isna().any()]:
        raise UserError(
            f"column {str(name)!r} has missing cells, and {learner_name} does not accept them; "
            f"add preprocessing={remedy}, or preprocessing=auto."
        )
