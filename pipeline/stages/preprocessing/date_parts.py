"""Dates as numbers that a learner can use: the day since an origin, and parts of the calendar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bakeoff.pipeline.errors import did_you_mean

DAY_SECONDS = 86400.0

PARTS: Mapping[str, Callable[[pd.Series], pd.Series]] = {
    "days": lambda dates: (dates - pd.Timestamp(0)).dt.total_seconds() / DAY_SECONDS,
    "year": lambda dates: dates.dt.year,
    "quarter": lambda dates: dates.dt.quarter,
    "month": lambda dates: dates.dt.month,
    "week": lambda dates: dates.dt.isocalendar().week,
    "day": lambda dates: dates.dt.day,
    "day_of_year": lambda dates: dates.dt.day_of_year,
    "weekday": lambda dates: dates.dt.day_of_week,
    "hour": lambda dates: dates.dt.hour,
    "minute": lambda dates: dates.dt.minute,
}
"""How each part is computed from dates (n,); ``days`` since 1970-01-01, ``weekday`` from Monday = 0."""
DEFAULT_PARTS = ("days", "year", "month", "day", "day_of_year", "weekday", "hour")


class DateParts(TransformerMixin, BaseEstimator):
    """Replace each column of dates by numeric columns, named ``<column>_<part>``.

    A part that has one value in all training rows is left out, such as the hour of dates without a time.

    Parameters
    ----------
    parts : sequence of str
        Of days (since 1970-01-01, with the time as a fraction), year, quarter, month, week (ISO 8601), day,
        day_of_year, weekday (Monday is 0), hour, minute.

    Attributes
    ----------
    parts_ : list of (str, str)
        The column and the part of each column of the result.
    """

    def __init__(self, parts: Sequence[str] = DEFAULT_PARTS) -> None:
        self.parts = parts

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Find the parts that vary over the rows of X, of shape (n, d)."""
        for part in self.parts:
            if part not in PARTS:
                raise ValueError(f"parts: {part!r} is not a part of a date. {did_you_mean(str(part), PARTS)}")
        self.feature_names_in_ = X.columns.to_numpy(dtype=object)
        self.n_features_in_ = X.shape[1]
        pairs = [(str(name), part) for name in X.columns for part in self.parts]
        varying = [(name, part) for name, part in pairs if _compute_part(X[name], part).nunique() > 1]
        # A table without any column would stop the steps that follow.
        self.parts_ = varying or pairs[:1]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return a float64 column for each part; NaN where the date is missing."""
        check_is_fitted(self, "parts_")
        columns = {f"{name}_{part}": _compute_part(X[name], part) for name, part in self.parts_}
        return pd.DataFrame(columns, index=X.index)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result, of shape (k,)."""
        check_is_fitted(self, "parts_")
        return np.array([f"{name}_{part}" for name, part in self.parts_], dtype=object)


def _compute_part(dates: pd.Series, part: str) -> pd.Series:
    """Return a part of dates (n,) as float64; dates that came as text are parsed."""
    parsed = pd.to_datetime(dates, format="ISO8601")
    if parsed.dt.tz is not None:
        parsed = parsed.dt.tz_convert("UTC").dt.tz_localize(None)
    return PARTS[part](parsed).astype("float64")
