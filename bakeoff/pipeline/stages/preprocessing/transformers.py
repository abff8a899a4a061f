"""Transformers that scikit-learn lacks: for nominal and ordered values, dates, text, and the selection of columns."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import validate_data

from bakeoff.pipeline.errors import did_you_mean


class EachColumn(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer that learns from each column of a table, and replaces the cells accordingly.

    Attributes
    ----------
    learned_ : list
        What was learned from each column.
    """

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Learn from the columns of X, of shape (n, d), and a target y of shape (n,)."""
        validate_data(self, X, skip_check_array=True)
        self.learned_ = [self._learn(X[name], y) for name in X.columns]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return a column for each column of X, of shape (m, d)."""
        pairs = zip(self.feature_names_in_, self.learned_, strict=True)
        return pd.DataFrame({name: self._replace(X[name], learned) for name, learned in pairs}, index=X.index)

    def _learn(self, column: pd.Series, y: Any) -> Any:
        """Return what is learned from a column (n,)."""
        raise NotImplementedError

    def _replace(self, column: pd.Series, learned: Any) -> Any:
        """Return the new cells of a column (m,)."""
        raise NotImplementedError


class AsNominal(EachColumn):
    """Make every column categorical, with the values of the training rows; used after imputing nominal columns.

    A value that the training rows lack becomes a missing cell.
    """

    def _learn(self, column: pd.Series, y: Any) -> list[str]:
        return sorted(map(str, column.dropna().unique()))

    def _replace(self, column: pd.Series, learned: list[str]) -> Any:
        cells = column.astype(object)
        return pd.Categorical(cells.where(cells.isin(learned)), categories=learned)


class OrderCodes(EachColumn):
    """Replace each value of an ordered column by its position in the order: 0, 1, 2, ….

    scikit-learn's OrdinalEncoder would number the values of a table in alphabetical order. The order covers all values
    that the column declares, including those absent from the training rows; any other value becomes a missing cell.
    """

    def _learn(self, column: pd.Series, y: Any) -> dict[Any, float]:
        return {value: float(position) for position, value in enumerate(column.cat.categories)}

    def _replace(self, column: pd.Series, learned: dict[Any, float]) -> pd.Series:
        return column.astype(object).map(learned).astype("float64")


class GroupRareValues(EachColumn):
    """Replace the rare values of each nominal column by one value; the columns stay nominal.

    scikit-learn's encoders can also group rare values, but only while encoding them. A value absent from the training
    rows is rare, and a missing cell stays missing.

    Parameters
    ----------
    min_frequency : int or float
        Values in fewer training rows are rare; below 1, a fraction of the training rows.
    name : str
        The value that replaces them.
    max_values : int or None
        The largest number of remaining values, including the replacement; None for no limit.
    """

    def __init__(self, min_frequency: float = 10, name: str = "other", max_values: int | None = None) -> None:
        self.min_frequency = min_frequency
        self.name = name
        self.max_values = max_values

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Count the values of each column of X, of shape (n, d)."""
        if not self.min_frequency > 0:
            raise ValueError(f"min_frequency={self.min_frequency} must be a number of rows, or a fraction below 1.")
        return super().fit(X, y)

    def _learn(self, column: pd.Series, y: Any) -> list[str]:
        min_rows = self.min_frequency * len(column) if self.min_frequency < 1 else self.min_frequency
        return _list_frequent_values(column, min_rows, self.max_values)

    def _replace(self, column: pd.Series, learned: list[str]) -> Any:
        cells = column.astype(object)
        is_rare = cells.notna() & ~cells.isin(learned)
        return pd.Categorical(np.where(is_rare, self.name, cells), categories=sorted({*learned, self.name}))


def _list_frequent_values(column: pd.Series, min_rows: float, max_values: int | None) -> list[str]:
    """Return the values of a column (n,) that are not rare, sorted: those in at least `min_rows` rows.

    If more than `max_values` remain, the most frequent ones are kept; ties are broken by sorted order.
    """
    counts = {str(value): count for value, count in column.astype(object).value_counts().items() if count >= min_rows}
    if max_values is None or len(counts) <= max_values:
        return sorted(counts)
    by_frequency = sorted(counts, key=lambda value: (-counts[value], value))
    return sorted(by_frequency[: max_values - 1])


DAY_SECONDS = 86400.0

PARTS = ("days", "year", "quarter", "month", "week", "day", "day_of_year", "weekday", "hour", "minute")
DEFAULT_PARTS = ("days", "year", "month", "day", "day_of_year", "weekday", "hour")


class DateParts(TransformerMixin, BaseEstimator):
    """Replace each column of dates by numeric columns, named ``<column>_<part>``.

    A part with a single value in all training rows, such as the hour of dates without a time, is left out.

    Parameters
    ----------
    parts : sequence of str
        Any of days (since 1970-01-01, with the time as a fraction), year, quarter, month, week (ISO 8601), day,
        day_of_year, weekday (Monday is 0), hour and minute.

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
        validate_data(self, X, skip_check_array=True)
        pairs = [(str(name), part) for name in X.columns for part in self.parts]
        varying = [(name, part) for name, part in pairs if _compute_part(X[name], part).nunique() > 1]
        # A table without any columns would be an error in later steps.
        self.parts_ = varying or pairs[:1]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return a float64 column for each part; NaN where the date is missing."""
        columns = {f"{name}_{part}": _compute_part(X[name], part) for name, part in self.parts_}
        return pd.DataFrame(columns, index=X.index)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result, of shape (k,)."""
        return np.array([f"{name}_{part}" for name, part in self.parts_], dtype=object)


def _compute_part(dates: pd.Series, part: str) -> pd.Series:
    """Return a part of dates (n,) as float64, parsing dates given as text."""
    parsed = pd.to_datetime(dates, format="ISO8601")
    if parsed.dt.tz is not None:
        parsed = parsed.dt.tz_convert("UTC").dt.tz_localize(None)
    if part == "days":
        numbers = (parsed - pd.Timestamp(0)).dt.total_seconds() / DAY_SECONDS
    else:
        # The day of the week has a different name in pandas.
        name = "day_of_week" if part == "weekday" else part
        numbers = parsed.dt.isocalendar().week if part == "week" else getattr(parsed.dt, name)
    return numbers.astype("float64")


class EncodeText(TransformerMixin, BaseEstimator):
    """Apply a vectorizer to each column of text, and return a dense table.

    scikit-learn's vectorizers take one column of text, reject missing cells, and return sparse matrices.

    Parameters
    ----------
    vectorizer : transformer
        A vectorizer of ``sklearn.feature_extraction.text``.

    Attributes
    ----------
    vectorizers_ : list of transformers
        One for each column, fitted.
    """

    def __init__(self, vectorizer: Any) -> None:
        self.vectorizer = vectorizer

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Fit a vectorizer on each column of X, of shape (n, d)."""
        validate_data(self, X, skip_check_array=True)
        self.vectorizers_ = [self._fit_column(X[name]) for name in X.columns]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that the vectorizers compute; a missing cell is an empty text."""
        tables = []
        for name, vectorizer in zip(self.feature_names_in_, self.vectorizers_, strict=True):
            counts = vectorizer.transform(_fill_cells(X[name])).toarray()  # (n, k)
            names = _name_columns(name, vectorizer, counts.shape[1])
            tables.append(pd.DataFrame(counts, index=X.index, columns=names))
        return pd.concat(tables, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result, of shape (k,)."""
        names: list[str] = []
        for column, vectorizer in zip(self.feature_names_in_, self.vectorizers_, strict=True):
            width = vectorizer.transform([""]).shape[1]
            names += _name_columns(column, vectorizer, width)
        return np.array(names, dtype=object)

    def _fit_column(self, column: pd.Series) -> Any:
        try:
            return clone(self.vectorizer).fit(_fill_cells(column))
        except ValueError as error:
            raise ValueError(f"text column {str(column.name)!r}: {error}; drop it, or use another step.") from error


def _fill_cells(column: pd.Series) -> list[str]:
    """Return the cells of a column (n,) as text."""
    return column.astype(object).where(column.notna(), "").map(str).tolist()


def _name_columns(column: str, vectorizer: Any, width: int) -> list[str]:
    if hasattr(vectorizer, "get_feature_names_out"):
        return [f"{column}_{term}" for term in vectorizer.get_feature_names_out()]
    return [f"{column}_{number}" for number in range(width)]


def make_selection(percentile: float = 50) -> TransformerMixin:
    """Return a step that selects the columns with the largest F statistics of a linear association with the target.

    Parameters
    ----------
    percentile : float
        The percentage of the columns to keep.

    Returns
    -------
    SelectPercentile
        scikit-learn's selector; its score functions are for either classes or numbers, so here the target determines
        which.
    """
    from sklearn.feature_selection import SelectPercentile

    return SelectPercentile(score_func=score_f_test, percentile=percentile)


def score_f_test(X: Any, y: np.ndarray) -> Any:
    """Return the F statistic and the p-value of each column of X (n, d), both of shape (d,)."""
    from sklearn.feature_selection import f_classif, f_regression

    is_numeric = np.asarray(y).dtype.kind == "f"  # classes are text or integers
    with warnings.catch_warnings():
        # scikit-learn warns about columns that are constant within every class, including those that separate the
        # classes.
        warnings.simplefilter("ignore")
        return f_regression(X, y) if is_numeric else f_classif(X, y)
