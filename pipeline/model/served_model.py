"""A model in use: a fitted estimator with the record of its training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import pandas as pd

from bakeoff.pipeline.model.predictions import predict_table
from bakeoff.pipeline.model.row_conversion import convert_rows
from bakeoff.pipeline.model.row_report import report_rows
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.text.numbers import format_score

SHOWN_ID_LETTERS = 8


@final
@dataclass(frozen=True, repr=False)
class Model:
    """A model that predicts for further rows.

    Attributes
    ----------
    estimator : estimator
        The fitted pipeline of preprocessing and learner, as scikit-learn knows it; it needs the columns of `record`
        in their types.
    record : TrainingRecord
        The rows that it was fitted on.
    name : str
        Where it was found, such as ``version 3 of titanic``; empty for a model that is not stored.
    notes : tuple of str
        A sentence each, about what differs from the environment in which it was fitted.
    """

    estimator: Any
    record: TrainingRecord
    name: str = ""
    notes: tuple[str, ...] = ()

    def predict(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Predict for each row.

        Parameters
        ----------
        rows : DataFrame of shape (m, at least d)
            With the columns that the model requires, in any order: text as a file spells it, or numbers, Booleans,
            dates and categories. Further columns are ignored.

        Returns
        -------
        DataFrame of shape (m, 1 or 1 + c)
            ``prediction``, and ``probability_<class>`` if the model has probabilities, with the index of the rows.

        Raises
        ------
        UserError
            A column is missing, or holds a cell of another kind than in training.
        """
        converted = convert_rows(self.record, rows)
        return predict_table(self.estimator, converted.frame).set_axis(rows.index, axis=0)

    def check_rows(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Return what the rows have that training did not have, a sentence or more for each column.

        Parameters
        ----------
        rows : DataFrame of shape (m, at least d)
            As for `predict`.

        Raises
        ------
        UserError
            As for `predict`.
        """
        return tuple(report_rows(self.record, convert_rows(self.record, rows)))

    def describe(self) -> str:
        """Return a line: which model this is, the rows that it was fitted on, and the score of its run."""
        record = self.record
        run = f"run {record.run_id[:SHOWN_ID_LETTERS]}" if record.run_id else "a run that was not stored"
        origin = f"{self.name} ({run})" if self.name else run
        parts = [f"{origin}, {record.run_name or record.dataset}: {record.describe_rows()}"]
        if record.headline:
            # A model that no rows were kept from has no score of its own.
            where = "" if record.n_test else " in the run"
            parts.append(f"{record.headline.replace('_', ' ')} {format_score(record.scores[record.headline])}{where}")
        return "; ".join(parts)

    def __repr__(self) -> str:
        """Return the description between angle brackets."""
        return f"<Model of {self.describe()}>"
