"""Models for predicting: a fitted estimator with the record of its training, and its predictions as a table.

MLflow's generic Python function loads such a model from its folder, without a store. Stored models name this module as
their loader.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd
import yaml
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model.estimator_file import read_estimator
from bakeoff.pipeline.model.further_rows import convert_rows
from bakeoff.pipeline.model.row_report import compare_rows
from bakeoff.pipeline.model.training_record import TRAINING_FILE, TrainingRecord, parse_record
from bakeoff.pipeline.stages.scoring.outputs import get_classes, predict_probabilities, predict_values
from bakeoff.pipeline.text.wording import format_score, shorten_id

PREDICTION = "prediction"
PROBABILITY_PREFIX = "probability_"


def predict_table(estimator: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Predict for each row of a table.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : DataFrame of shape (m, d)
        A table returned by `convert_rows`.

    Returns
    -------
    DataFrame of shape (m, 1 or 1 + c)
        ``prediction``, and ``probability_<class>`` if the estimator has probabilities.

    Raises
    ------
    UserError
        The learner does not accept a value, or returns an invalid prediction, such as a label that is not a class.
    """
    names = list_outputs(estimator)
    try:
        learner, transformed = _transform_rows(estimator, X)
        columns = [_predict(learner, transformed)]
        if len(names) > 1:
            columns += [*predict_probabilities(learner, transformed).T]  # c times (m,)
    except ValueError as error:
        raise UserError(str(error)) from error
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


def _transform_rows(estimator: Any, X: pd.DataFrame) -> tuple[Any, Any]:
    """Return the last step of a pipeline and the rows that it receives, so that they are transformed only once."""
    if type(estimator) is not Pipeline:
        return estimator, X
    for _, transformer in estimator.steps[:-1]:
        if transformer not in (None, "passthrough"):
            X = transformer.transform(X)
    return estimator[-1], X


def _predict(estimator: Any, X: pd.DataFrame) -> np.ndarray:
    """Return the predictions for X (m, d), shape (m,), checked against the estimator's classes, if any."""
    if hasattr(estimator, "classes_"):
        return predict_values(estimator, X, get_classes(estimator))
    if is_classifier(estimator):
        return np.asarray(estimator.predict(X))
    return predict_values(estimator, X, classes=None)


def list_outputs(estimator: Any) -> list[str]:
    """Return the names of the columns of `predict_table`."""
    if not hasattr(estimator, "predict_proba"):
        return [PREDICTION]
    return [PREDICTION, *(f"{PROBABILITY_PREFIX}{label}" for label in estimator.classes_)]


@final
@dataclass(frozen=True, repr=False)
class Model:
    """A model that predicts for further rows.

    Attributes
    ----------
    estimator : estimator
        The fitted scikit-learn pipeline of preprocessing and learner; it needs the columns of `record` with their
        types.
    record : TrainingRecord
        The rows on which it was fitted.
    name : str
        Where it was found, such as ``version 3 of titanic``; empty for a model that is not stored.
    notes : tuple of str
        Sentences about differences from the environment in which it was fitted.
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
            A table with the columns that the model requires, in any order: text as in a file, or numbers, Booleans,
            dates and categories. Additional columns are ignored.

        Returns
        -------
        DataFrame of shape (m, 1 or 1 + c)
            ``prediction``, and ``probability_<class>`` if the model has probabilities, with the index of the rows.

        Raises
        ------
        UserError
            A column is missing, or contains a cell of a different kind than in training.
        """
        converted = convert_rows(self.record, rows)
        return predict_table(self.estimator, converted.frame).set_axis(rows.index, axis=0)

    def check_rows(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Return sentences about content of each column that did not occur in training.

        Parameters
        ----------
        rows : DataFrame of shape (m, at least d)
            As for `predict`.

        Raises
        ------
        UserError
            As for `predict`.
        """
        return tuple(found.sentence for found in compare_rows(self.record, convert_rows(self.record, rows)))

    def describe(self) -> str:
        """Return a line with the name of the model, the rows on which it was fitted, and the score of its run."""
        record = self.record
        run = f"run {shorten_id(record.run_id)}" if record.run_id else "a run that was not stored"
        origin = f"{self.name} ({run})" if self.name else run
        parts = [f"{origin}, {record.run_name or record.dataset}: {record.describe_rows()}"]
        if record.headline:
            # A model fitted on all rows has no score.
            where = "" if record.n_test else " in the run"
            parts.append(f"{record.headline.replace('_', ' ')} {format_score(record.scores[record.headline])}{where}")
        return "; ".join(parts)

    def __repr__(self) -> str:
        """Return the description between angle brackets."""
        return f"<Model of {self.describe()}>"


LOADER_MODULE = "bakeoff.pipeline.model.pyfunc"
MLMODEL_FILE = "MLmodel"


@final
@dataclass(frozen=True)
class PythonFunction:
    """The Python model that `mlflow.pyfunc.load_model` wraps.

    Attributes
    ----------
    model : Model
    """

    model: Model

    def predict(self, data: Any) -> pd.DataFrame:
        """Return the predictions for rows, as `Model.predict` does.

        Parameters
        ----------
        data : DataFrame, mapping of columns, list of records, or ndarray of shape (m, d)
            An array has the features in their order.
        """
        return self.model.predict(_make_frame(data, self.model.record.features))

    def get_raw_model(self) -> Model:
        """Return the model; MLflow calls this in ``unwrap_python_model`` and similar functions."""
        return self.model


def _load_pyfunc(path: str) -> PythonFunction:
    """Load the model in a folder; MLflow calls this function by name."""
    folder = Path(path)
    flavors = yaml.safe_load((folder / MLMODEL_FILE).read_text(encoding="utf-8"))["flavors"]
    types = flavors["sklearn"].get("skops_trusted_types") or []
    record = parse_record((folder / TRAINING_FILE).read_text(encoding="utf-8"))
    return PythonFunction(Model(read_estimator(folder, types), record))


def _make_frame(data: Any, features: Sequence[str]) -> pd.DataFrame:
    frame = pd.DataFrame(data)
    return frame.set_axis(list(features), axis=1) if isinstance(frame.columns, pd.RangeIndex) else frame
