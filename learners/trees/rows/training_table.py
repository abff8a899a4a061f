"""The table of training rows by columns, presorted or encoded: shared by all nodes, and by all trees of a forest."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
        The rows presorted by each feature; in their own order if there are ``bin_codes`` instead.
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
        cls,
        X: np.ndarray,
        nominal: np.ndarray,
        *,
        draws_features: bool,
        allows_histogram: bool,
    ) -> TrainingTable:
        """Prepare the table.

        Parameters
        ----------
        X : ndarray of shape (n0, d)
        nominal : ndarray of shape (d,), bool
        draws_features : bool
            Whether nodes draw some of the features; sorting only by these is then cheaper than maintaining a presort.
        allows_histogram : bool
            Whether rows may be counted by value, if columns have few values.
        """
        columns, has_missing = extract_columns(X)
        has_nominal = bool(nominal.any())
        rows = np.arange(X.shape[0])[None, :]  # (1, n0)
        table = cls(columns, nominal, rows, None, None, has_nominal, has_missing, 0)
        # Histograms do not need a presort, but require that all features are numeric and without missing cells.
        if allows_histogram and not (draws_features or has_missing or has_nominal):
            bins = Bins.from_columns(columns)
            if bins is not None:
                return replace(table, bin_codes=bins.codes, bins=bins)
        order = presort_columns(columns)
        if not draws_features:
            return replace(table, order=order)
        # Sorting codes level by level replaces the presort, which is used only to compute the codes.
        bin_codes = encode_values(columns, order)
        max_nominal_values = int(bin_codes[nominal].max()) + 1 if has_nominal else 0
        return replace(table, bin_codes=bin_codes, max_nominal_values=max_nominal_values)

    @property
    def n_rows(self) -> int:
        """The number of rows, n0."""
        return self.columns.shape[1]

    @property
    def cells(self) -> np.ndarray:
        """The cells column after column, shape (d n0,): that of a row and a feature is at feature * n0 + row."""
        return self.columns.ravel()
