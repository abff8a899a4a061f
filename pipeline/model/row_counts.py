"""On how many rows a model was fitted, and what the others were used for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.pipeline.experiment import Experiment, FittedModel


@dataclass(frozen=True)
class RowCounts:
    """The distinct rows of a dataset, by their use for a model.

    Attributes
    ----------
    n_rows : int
        Of the dataset; 0 if it is not known.
    n_train, n_validation, n_test : int
        The rows that the model was fitted on, chosen by, and tested on.
    """

    n_rows: int
    n_train: int
    n_validation: int
    n_test: int

    def describe(self) -> str:
        """Return the counts as words.

        Examples
        --------
        >>> RowCounts(1309, 785, 262, 262).describe()
        'fitted on 785 of 1,309 rows (262 for validation, 262 for the test)'
        >>> RowCounts(1309, 1309, 0, 0).describe()
        'fitted on all 1,309 rows'
        """
        if not self.n_rows:
            return "fitted on rows that its run did not count"
        if self.n_train == self.n_rows:
            return f"fitted on all {self.n_rows:,} rows"
        parts = {"for validation": self.n_validation, "for the test": self.n_test}
        others = ", ".join(f"{count:,} {use}" for use, count in parts.items() if count)
        fitted = f"fitted on {self.n_train:,} of {self.n_rows:,} rows"
        return f"{fitted} ({others})" if others else fitted


def count_rows(experiment: Experiment, model: FittedModel) -> RowCounts:
    """Return the counts of a model that was just fitted; a row that a bootstrap drew several times counts once."""
    split = model.split
    return RowCounts(
        n_rows=len(experiment.dataset.y),
        n_train=len(np.unique(split.train)),
        n_validation=len(np.unique(split.validation)),
        n_test=len(np.unique(split.test)),
    )
