"""Preprocessing: ordered steps for numeric and for nominal columns, fitted on training rows only.

The steps are scikit-learn's transformers. They are joined so that tables go in and tables come out, and nominal
columns remain nominal until a step encodes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import make_pipeline


def make_preprocessing(numeric: Sequence[Any] = (), nominal: Sequence[Any] = ()) -> ColumnTransformer | None:
    """Join the steps for each type of column into one transformer.

    Parameters
    ----------
    numeric, nominal : sequence of transformers
        Applied in order; columns of a type without steps pass through.

    Returns
    -------
    ColumnTransformer or None
        It transforms tables to tables; None if there are no steps.
    """
    parts = []
    if numeric:
        parts.append(("numeric", make_pipeline(*numeric), make_column_selector(dtype_exclude="category")))
    if nominal:
        parts.append(("nominal", make_pipeline(*nominal), make_column_selector(dtype_include="category")))
    if not parts:
        return None
    transformer = ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)
    return transformer.set_output(transform="pandas")


class AsNominal(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Make every column categorical, with the values of the training rows; it follows an imputer of nominal columns.

    Attributes
    ----------
    categories_ : list of list of str
        The values of each column.
    """

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Learn the values of each column of X, of shape (n, d)."""
        self.feature_names_in_ = X.columns.to_numpy(dtype=object)
        self.n_features_in_ = X.shape[1]
        self.categories_ = [sorted(map(str, X[name].dropna().unique())) for name in X.columns]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return X with categorical columns; a value that the training rows lack becomes a missing cell."""
        columns = {}
        for name, values in zip(X.columns, self.categories_, strict=True):
            cells = X[name].astype(object)
            known_cells = cells.where(cells.isin(values))
            columns[name] = pd.Categorical(known_cells, categories=values)
        return pd.DataFrame(columns, index=X.index)
