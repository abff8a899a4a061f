"""Preprocessing: ordered steps for numeric and for nominal columns, fitted on training rows only.

The steps are scikit-learn's transformers.  What this module adds is that nominal columns stay nominal until a step says
otherwise: tables go in and tables come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import make_pipeline


def make_preprocessing(numeric: Sequence[Any] = (), nominal: Sequence[Any] = ()) -> ColumnTransformer | None:
    """Join the steps for each kind of column into one transformer.

    Parameters
    ----------
    numeric, nominal : sequence of transformers
        Applied in order; a kind without steps passes through.

    Returns
    -------
    ColumnTransformer or None
        Tables in, tables out; None where there is nothing to do.
    """
    kinds = [
        ("numeric", numeric, make_column_selector(dtype_exclude="category")),
        ("nominal", nominal, make_column_selector(dtype_include="category")),
    ]
    parts = [(kind, make_pipeline(*steps), columns) for kind, steps, columns in kinds if steps]
    if not parts:
        return None
    joined = ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)
    return joined.set_output(transform="pandas")


class AsNominal(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Make every column categorical, with the values of training: what follows an imputer of nominal columns.

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
        """Return X with categorical columns; a value that training did not have becomes a missing cell."""
        columns = {}
        for name, values in zip(X.columns, self.categories_, strict=True):
            cells = X[name].astype(object)
            columns[name] = pd.Categorical(cells.where(cells.isin(values)), categories=values)
        return pd.DataFrame(columns, index=X.index)
