"""The table of training rows by columns, presorted or encoded: what all nodes, and all trees of a forest, share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.learners.trees.rows.binning import Bins, encode_values
from bakeoff.learners.trees.rows.presort import extract_columns, presort_columns


@dataclass(frozen=True)
class TrainingTable:
    """The n0 training rows.

    Attributes
    ----------
    columns : ndarray of shape (d, n0)
        Missing cells are +inf, so that they are sorted last.
    nominal : ndarray of shape (d,), bool
    order : ndarray of shape (d, n0) or (1, n0), int
        The rows presorted by each feature; in their own order if ``bin_codes`` or ``bins`` take the place of a presort.
    bin_codes : ndarray of shape (d, n0), int, or None
        The position of each cell among the distinct values of its column, if rows are sorted anew at each level.
    bins : Bins or None
        The values of the columns, if rows are counted by value.
    has_nominal, has_missing : bool
        Whether any feature is nominal, and whether any cell is missing.
    max_nominal_values : int
        The most values that a nominal column has, if there are ``bin_codes``; else 0.
    """

    columns: np.ndarray
    nominal: np.ndarray
    order: np.ndarray
    bin_codes: np.ndarray | None
    bins: Bins | None
    has_nominal: bool
    has_missing: bool
    max_nominal_values: int

    @classmethod
    def from_rows(
        cls, X: np.ndarray, nominal: np.ndarray, *, draws_features: bool, allows_histogram: bool
    ) -> TrainingTable:
        """Prepare the table.

        Parameters
        ----------
        X : ndarray of shape (n0, d)
        nominal : ndarray of shape (d,), bool
        draws_features : bool
            Whether nodes draw some of the features: sorting those alone then costs less than a presort kept by all.
        allows_histogram : bool
            Whether rows may be counted by value, if columns have few.
        """
        columns, has_missing = extract_columns(X)
        has_nominal = bool(nominal.any())
        rows = np.arange(X.shape[0])[None, :]  # (1, n0)
        bins = None
        if allows_histogram and not (draws_features or has_missing or has_nominal):
            bins = Bins.from_columns(columns)
        if bins is not None:
            return cls(columns, nominal, rows, bins.codes, bins, has_nominal, has_missing, 0)
        order = presort_columns(columns)
        if not draws_features:
            return cls(columns, nominal, order, None, None, has_nominal, has_missing, 0)
        bin_codes = encode_values(columns, order)
        max_nominal_values = int(bin_codes[nominal].max()) + 1 if has_nominal else 0
        return cls(columns, nominal, rows, bin_codes, None, has_nominal, has_missing, max_nominal_values)
