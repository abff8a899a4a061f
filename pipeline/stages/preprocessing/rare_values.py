"""Rare values of nominal columns, joined into one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted


class GroupRareValues(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace the rare values of each nominal column by one value; the columns stay nominal.

    scikit-learn's encoders can group rare values too, but only while they encode them. A value that the training rows
    lack is rare, and a missing cell stays missing.

    Parameters
    ----------
    min_frequency : int or float
        Values in fewer training rows are rare; below 1, a fraction of the training rows.
    name : str
        The value that replaces them.
    max_values : int or None
        The largest number of values that are left, this one included: the others are rare, too; None for no limit.

    Attributes
    ----------
    values_ : list of list of str
        The values of each column that are not rare, sorted.
    """

    def __init__(self, min_frequency: float = 10, name: str = "other", max_values: int | None = None) -> None:
        self.min_frequency = min_frequency
        self.name = name
        self.max_values = max_values

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Count the values of each column of X, of shape (n, d)."""
        if not self.min_frequency > 0:
            raise ValueError(f"min_frequency={self.min_frequency} must be a number of rows, or a fraction below 1.")
        self.feature_names_in_ = X.columns.to_numpy(dtype=object)
        self.n_features_in_ = X.shape[1]
        min_rows = self.min_frequency * len(X) if self.min_frequency < 1 else self.min_frequency
        self.values_ = [_list_frequent_values(X[name], min_rows, self.max_values) for name in X.columns]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return categorical columns with the frequent values, and the one that replaces the rare ones."""
        check_is_fitted(self, "values_")
        columns = {}
        for name, values in zip(self.feature_names_in_, self.values_, strict=True):
            cells = X[name].astype(object)
            is_rare = cells.notna() & ~cells.isin(values)
            categories = sorted({*values, self.name})
            columns[name] = pd.Categorical(np.where(is_rare, self.name, cells), categories=categories)
        return pd.DataFrame(columns, index=X.index)


def _list_frequent_values(column: pd.Series, min_rows: float, max_values: int | None) -> list[str]:
    """Return the values of a column (n,) that are not rare, sorted: those in at least `min_rows` rows.

    If that leaves more than `max_values`, the most frequent ones are kept, and of equally frequent ones the first in
    sorted order.
    """
    counts = {str(value): count for value, count in column.astype(object).value_counts().items() if count >= min_rows}
    if max_values is None or len(counts) <= max_values:
        return sorted(counts)
    by_frequency = sorted(counts, key=lambda value: (-counts[value], value))
    return sorted(by_frequency[: max_values - 1])
