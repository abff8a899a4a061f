"""From the columns of a dataset through the fitted steps of preprocessing to the features of a learner.

Each step that is known here says what its columns are made of. Those of another step keep the names that it gives them,
and are not translated back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from bakeoff.pipeline.explanation.origins import CODE, INDICATOR, MISSING, NUMBER, OTHER, VALUE, Origin, name_value
from bakeoff.pipeline.stages.preprocessing import AsIntervals, AsNominal, DateParts, GroupRareValues, OrderCodes
from bakeoff.pipeline.stages.preprocessing.column_kinds import NUMERIC, TEXT, find_kind
from bakeoff.pipeline.text.numbers import format_number

Origins = list[Origin]
LINEAR_SCALERS = (StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler)
SCALERS = (*LINEAR_SCALERS, PowerTransformer, QuantileTransformer)
"""Each transforms a column by itself, by an increasing function that has an inverse."""
SCALABLE = (NUMBER, CODE, INDICATOR)
"""What is still told by a threshold after its column was scaled."""


def trace_features(pipeline: Pipeline, X: pd.DataFrame) -> Origins:
    """Return what each feature of the learner at the end of a fitted pipeline is made of.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted; preprocessing and a learner.
    X : DataFrame of shape (m, d)
        Rows of the dataset, for the names and types of its columns.

    Returns
    -------
    list of Origin
        One for each feature, in order.
    """
    origins = [_begin(str(name), dtype) for name, dtype in X.dtypes.items()]
    for _, step in pipeline.steps[:-1]:
        origins = _trace(step, origins)
    return origins


def _begin(name: str, dtype: Any) -> Origin:
    kind = find_kind(dtype)
    if kind == NUMERIC:
        return Origin(name, name, NUMBER)
    return Origin(name, name, OTHER if kind == TEXT else VALUE)


def _trace(step: Any, origins: Origins) -> Origins:
    """Return the origins of the columns that a fitted step returns."""
    if step is None or isinstance(step, str):
        return [] if step == "drop" else origins
    traced = _follow(step, origins)
    names = _name_outputs(step, origins)
    # A step that was told to return other columns than its type does by itself is not translated.
    if traced is None or (names is not None and len(traced) != len(names)):
        return _name_others(step, origins, names)
    return traced


def _follow(step: Any, origins: Origins) -> Origins | None:
    """Return the origins after a step of a known type; None for others."""
    for types, follow in FOLLOWERS:
        if isinstance(step, types):
            return follow(step, origins)
    return None


def _name_outputs(step: Any, origins: Origins) -> list[str] | None:
    """Return the names that a step gives its columns; None if it does not say."""
    try:
        given = getattr(step, "feature_names_in_", None)
        names = step.get_feature_names_out(given if given is not None else [origin.name for origin in origins])
    except (AttributeError, ValueError, TypeError):
        return None
    return [str(name) for name in names]


def _name_others(step: Any, origins: Origins, names: list[str] | None) -> Origins:
    """Return origins without a unit, under the names of the step."""
    label = type(step).__name__
    if names is None:
        n_outputs = getattr(step, "n_features_out_", len(origins))
        names = [f"{label} {number}" for number in range(n_outputs)]
    columns = {origin.column for origin in origins}
    if len(columns) == 1:
        (only,) = columns
        return [Origin(only, f"{name} ({label})", OTHER, is_linear=False) for name in names]
    # Where each column is transformed by itself, its name stays.
    of_name = {origin.column: origin.column for origin in origins}
    return [Origin(of_name.get(name, ""), f"{name} ({label})", OTHER, is_linear=False) for name in names]


def _follow_pipeline(step: Pipeline, origins: Origins) -> Origins:
    for _, part in step.steps:
        origins = _trace(part, origins)
    return origins


def _follow_parts(step: ColumnTransformer, origins: Origins) -> Origins:
    """Join the origins of the parts, in the order of the fitted transformer."""
    names = [str(name) for name in getattr(step, "feature_names_in_", [origin.name for origin in origins])]
    traced: Origins = []
    for _, part, columns in step.transformers_:
        positions = _find_positions(columns, names)
        # A part without columns is not fitted.
        if positions:
            traced += _trace(part, [origins[position] for position in positions])
    return traced


def _find_positions(columns: Any, names: Sequence[str]) -> list[int]:
    """Return the positions of the columns that a part of a transformer selects: by name, number, slice or mask."""
    if isinstance(columns, str | int):
        columns = [columns]
    if isinstance(columns, slice):
        return list(range(len(names)))[columns]
    selected = list(columns)
    if selected and all(isinstance(each, bool | np.bool_) for each in selected):
        return [position for position, is_in in enumerate(selected) if is_in]
    return [names.index(each) if isinstance(each, str) else int(each) for each in selected]


def _follow_scaler(step: Any, origins: Origins) -> Origins:
    is_linear = isinstance(step, LINEAR_SCALERS)
    return [
        origin.rescale(partial(_invert_column, step, position), is_linear=is_linear)
        if origin.meaning in SCALABLE
        else origin.become_other(f"{origin.words} ({type(step).__name__})")
        for position, origin in enumerate(origins)
    ]


def _invert_column(step: Any, position: int, number: float) -> float:
    """Return a number of one scaled column on the scale before."""
    # Unbounded: a scaler that clips its output would clip here too.
    row = np.zeros((1, step.n_features_in_))
    row[0, position] = number
    if hasattr(step, "feature_names_in_"):
        table = pd.DataFrame(row, columns=step.feature_names_in_)
        return float(np.asarray(step.inverse_transform(table))[0, position])
    return float(step.inverse_transform(row)[0, position])


def _follow_imputer(step: SimpleImputer, origins: Origins) -> Origins:
    """Return the columns that are filled, and those that say where a cell was missing."""
    traced: Origins = []
    for origin, value in zip(origins, step.statistics_, strict=True):
        if not step.keep_empty_features and value != value:
            continue
        traced.append(replace(origin, filled_by=_describe_fill(value, origin)))
    return traced + _follow_indicator(step, origins)


def _describe_fill(value: Any, origin: Origin) -> str:
    """Return what an imputer puts into missing cells, in the unit of the column."""
    if not isinstance(value, float | int):
        return str(value)
    number = origin.restore(float(value))
    is_code = origin.meaning == CODE and number == int(number) and 0 <= number < len(origin.values)
    return origin.values[int(number)] if is_code else format_number(number)


def _follow_neighbours(step: KNNImputer, origins: Origins) -> Origins:
    filled = [replace(origin, filled_by="the mean of its neighbours") for origin in origins]
    return filled + _follow_indicator(step, origins)


def _follow_indicator(step: Any, origins: Origins) -> Origins:
    """Return the columns with which an imputer says where a cell was missing."""
    indicator = getattr(step, "indicator_", None)
    if indicator is None:
        return []
    return [
        replace(origins[position], meaning=INDICATOR, values=(MISSING,), inverses=())
        for position in indicator.features_
    ]


def _follow_one_hot(step: OneHotEncoder, origins: Origins) -> Origins:
    """Return an indicator for each value; rare values share one."""
    infrequent: Any = getattr(step, "infrequent_categories_", None) or [None] * len(origins)
    dropped: Any = step.drop_idx_ if step.drop_idx_ is not None else [None] * len(origins)
    traced: Origins = []
    for origin, values, rare, drop in zip(origins, step.categories_, infrequent, dropped, strict=True):
        rare_names = [] if rare is None else [name_value(value) for value in rare]
        names = [name_value(value) for value in values]
        groups: list[tuple[str, ...]] = [(name,) for name in names if name not in rare_names]
        groups += [tuple(rare_names)] if rare_names else []
        kept = [group for number, group in enumerate(groups) if number != drop]
        traced += [replace(origin, meaning=INDICATOR, values=group, inverses=()) for group in kept]
    return traced


def _follow_ordinal(step: OrdinalEncoder, origins: Origins) -> Origins:
    return [
        replace(origin, meaning=CODE, values=tuple(map(name_value, values)), inverses=())
        for origin, values in zip(origins, step.categories_, strict=True)
    ]


def _follow_order_codes(step: OrderCodes, origins: Origins) -> Origins:
    return [
        replace(origin, meaning=CODE, values=tuple(map(str, values)), inverses=())
        for origin, values in zip(origins, step.values_, strict=True)
    ]


def _follow_as_values(step: Any, origins: Origins) -> Origins:
    return [replace(origin, meaning=VALUE, inverses=()) for origin in origins]


def _follow_dates(step: DateParts, origins: Origins) -> Origins:
    return [Origin(column, f"{part.replace('_', ' ')} of {column}", NUMBER) for column, part in step.parts_]


def _follow_selection(step: SelectorMixin, origins: Origins) -> Origins:
    return [origins[position] for position in step.get_support(indices=True)]


def _follow_function(step: FunctionTransformer, origins: Origins) -> Origins | None:
    return origins if step.func is None else None


FOLLOWERS: Sequence[tuple[Any, Callable[[Any, Origins], Origins | None]]] = (
    (Pipeline, _follow_pipeline),
    (ColumnTransformer, _follow_parts),
    (SCALERS, _follow_scaler),
    (SimpleImputer, _follow_imputer),
    (KNNImputer, _follow_neighbours),
    (OneHotEncoder, _follow_one_hot),
    (OrdinalEncoder, _follow_ordinal),
    (OrderCodes, _follow_order_codes),
    ((AsNominal, AsIntervals, GroupRareValues), _follow_as_values),
    (DateParts, _follow_dates),
    (SelectorMixin, _follow_selection),
    (FunctionTransformer, _follow_function),
)
"""How each type of step is followed, the first that fits."""


def sum_by_column(origins: Sequence[Origin], shares: np.ndarray) -> Mapping[str, float]:
    """Add up numbers of features (k,) for each column of the dataset; mixed features count under their own names.

    Examples
    --------
    >>> origins = [Origin("age", "age"), Origin("sex", "sex"), Origin("sex", "sex")]
    >>> sum_by_column(origins, np.array([0.5, 0.25, 0.25]))
    {'age': 0.5, 'sex': 0.5}
    """
    sums: dict[str, float] = {}
    for origin, share in zip(origins, shares.tolist(), strict=True):
        key = origin.column or origin.name
        sums[key] = sums.get(key, 0.0) + share
    return sums
