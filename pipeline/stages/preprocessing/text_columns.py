"""Columns of free text as numbers: a vectorizer of scikit-learn for each column."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted


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
        self.feature_names_in_ = X.columns.to_numpy(dtype=object)
        self.n_features_in_ = X.shape[1]
        self.vectorizers_ = [self._fit_column(X[name]) for name in X.columns]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that the vectorizers compute; a missing cell is an empty text."""
        check_is_fitted(self, "vectorizers_")
        tables = []
        for name, vectorizer in zip(self.feature_names_in_, self.vectorizers_, strict=True):
            counts = vectorizer.transform(_fill_cells(X[name])).toarray()  # (n, k)
            names = _name_columns(name, vectorizer, counts.shape[1])
            tables.append(pd.DataFrame(counts, index=X.index, columns=names))
        return pd.concat(tables, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result, of shape (k,)."""
        check_is_fitted(self, "vectorizers_")
        names: list[str] = []
        for column, vectorizer in zip(self.feature_names_in_, self.vectorizers_, strict=True):
            width = vectorizer.transform([""]).shape[1]
            names += _name_columns(column, vectorizer, width)
        return np.array(names, dtype=object)

    def _fit_column(self, column: pd.Series) -> Any:
        try:
            return clone(self.vectorizer).fit(_fill_cells(column))
        except ValueError as error:
            raise ValueError(f"column {str(column.name)!r} of text: {error}; drop it, or take another step.") from error


def _fill_cells(column: pd.Series) -> list[str]:
    """Return the cells of a column (n,) as text."""
    return column.astype(object).where(column.notna(), "").map(str).tolist()


def _name_columns(column: str, vectorizer: Any, width: int) -> list[str]:
    if hasattr(vectorizer, "get_feature_names_out"):
        return [f"{column}_{term}" for term in vectorizer.get_feature_names_out()]
    return [f"{column}_{number}" for number in range(width)]
