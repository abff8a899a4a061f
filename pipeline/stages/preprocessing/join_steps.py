"""The steps for each kind of column and for single columns, joined into one transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.preprocessing.column_kinds import DATE, NOMINAL, NUMERIC, ORDERED, TEXT, KindSelector


@dataclass(frozen=True)
class ColumnSteps:
    """Steps for named columns, which the steps of their kinds leave alone.

    Attributes
    ----------
    names : tuple of str
        The steps receive these columns together.
    steps : tuple of transformers
        Applied in order.
    """

    names: tuple[str, ...]
    steps: tuple[Any, ...]


def make_preprocessing(
    numeric: Sequence[Any] = (),
    nominal: Sequence[Any] = (),
    ordered: Sequence[Any] | None = None,
    dates: Sequence[Any] = (),
    text: Sequence[Any] = (),
    columns: Sequence[Mapping[str, Any]] = (),
    then: Sequence[Any] = (),
) -> BaseEstimator | None:
    """Join the steps for each kind of column into one transformer.

    Parameters
    ----------
    numeric, nominal, ordered, dates, text : sequence of transformers
        Applied in order to all columns of the kind; columns of a kind without steps pass through. ``ordered=None``
        treats ordered columns as nominal ones.
    columns : sequence of mappings
        Each has ``names``, a list of columns, and ``steps``, which replace those of the kinds for these columns.
    then : sequence of transformers
        Applied in order to all columns that the steps above return.

    Returns
    -------
    ColumnTransformer, Pipeline or None
        It transforms tables to tables; None if there are no steps.

    Raises
    ------
    UserError
        A step is not a transformer, or a column is named twice.
    """
    steps_of = {"numeric": numeric, "nominal": nominal, "dates": dates, "text": text, "then": then}
    if ordered is not None:
        steps_of["ordered"] = ordered
    for key, steps in steps_of.items():
        _require_transformers(steps, f"preprocessing.{key}")
    named = _read_column_steps(columns)
    besides = tuple(name for part in named for name in part.names)
    kinds = {
        "numeric": (NUMERIC,),
        "nominal": (NOMINAL, ORDERED) if ordered is None else (NOMINAL,),
        "ordered": (ORDERED,),
        "dates": (DATE,),
        "text": (TEXT,),
    }
    parts: list[tuple[str, Pipeline, Any]] = [
        (key, make_pipeline(*steps), KindSelector(kinds[key], besides))
        for key, steps in steps_of.items()
        if steps and key in kinds
    ]
    parts += [(", ".join(part.names), make_pipeline(*part.steps), list(part.names)) for part in named if part.steps]
    return _join_parts(parts, then)


def require_named_columns(preprocessing: BaseEstimator | None, X: pd.DataFrame) -> None:
    """Reject steps for a column that a table (n, d) does not have.

    Raises
    ------
    UserError
    """
    if isinstance(preprocessing, Pipeline):
        preprocessing = preprocessing[0]
    if not isinstance(preprocessing, ColumnTransformer):
        return
    known = [str(name) for name in X.columns]
    for _, _, names in preprocessing.transformers:
        listed = names if isinstance(names, list) else []
        for name in listed:
            if name not in known:
                raise UserError(
                    f"preprocessing.columns names {name!r}, which is not a feature of the dataset. "
                    f"{did_you_mean(str(name), known)}"
                )


def _join_parts(parts: list[tuple[str, Pipeline, Any]], then: Sequence[Any]) -> BaseEstimator | None:
    joined: BaseEstimator | None = None
    if parts:
        joined = ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)
    if then:
        after = make_pipeline(*then)
        joined = after if joined is None else Pipeline([("columns", joined), ("then", after)])
    if joined is None:
        return None
    tabulated: BaseEstimator = joined.set_output(transform="pandas")
    return tabulated


def _read_column_steps(columns: Sequence[Mapping[str, Any]]) -> list[ColumnSteps]:
    """Return the steps for named columns; raises UserError as `make_preprocessing` does."""
    named = []
    taken: set[str] = set()
    for position, node in enumerate(columns):
        key = f"preprocessing.columns[{position}]"
        if not isinstance(node, Mapping) or set(node) != {"names", "steps"}:
            raise UserError(f"{key} must have two keys: names, a list of columns, and steps, a list of transformers.")
        names = [node["names"]] if isinstance(node["names"], str) else [str(name) for name in node["names"]]
        repeated = sorted(taken.intersection(names))
        if repeated:
            raise UserError(f"{key}.names: column {repeated[0]!r} has steps already; name it once, with all its steps.")
        taken.update(names)
        _require_transformers(node["steps"], f"{key}.steps")
        named.append(ColumnSteps(tuple(names), tuple(node["steps"])))
    return named


def _require_transformers(steps: Any, key: str) -> None:
    if not isinstance(steps, list | tuple):
        raise UserError(f"{key} must be a list of transformers, each with a _target_.")
    for step in steps:
        is_transformer = hasattr(step, "fit") and (hasattr(step, "transform") or hasattr(step, "fit_transform"))
        if not is_transformer:
            raise UserError(
                f"{key} holds {step!r}, which is not a transformer; "
                "give its class, as in {_target_: sklearn.preprocessing.StandardScaler}."
            )
