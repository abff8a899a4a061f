"""Models for predicting: further rows are read and converted as in training, and predictions are a table.

A `Model` is a fitted estimator with the record of its training. MLflow's generic Python function loads it from its
folder, without a store: stored models name this module as their loader.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd
import yaml
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.config.requests import LAYOUT_KINDS
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.model.estimator_file import read_estimator
from bakeoff.pipeline.model.row_report import compare_rows
from bakeoff.pipeline.model.training_record import TRAINING_FILE, TrainingRecord, parse_record
from bakeoff.pipeline.stages.dataset import Column, convert, files, kinds, spelling, table
from bakeoff.pipeline.stages.dataset.keys import SIGN_KEYS, ColumnRules, FileLayout
from bakeoff.pipeline.stages.dataset.source import Source
from bakeoff.pipeline.stages.scoring.predictions import get_classes, predict_probabilities, predict_values
from bakeoff.pipeline.text.wording import format_score, shorten_id


def restore_codes(frame: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    """Return rows in which numbers are replaced by the training codes, such as 007, from which they were read.

    A number is a code if exactly one training value converts to it, and the number itself is not a training value.

    Parameters
    ----------
    frame : DataFrame of shape (m, at least d)
    columns : sequence of Column, of length d
        The columns as described in training.
    """
    for column in columns:
        numbers = {value: str(int(value)) for value in column.values if value.isdecimal()}
        counts = Counter(numbers.values())
        code_of = {number: value for value, number in numbers.items() if counts[number] == 1 and number != value}
        if not code_of:
            continue
        cells = frame[column.name]
        if is_numeric_dtype(cells.dtype) and not is_bool_dtype(cells.dtype):
            spelled = [None if pd.isna(cell) else spelling.spell_cell(cell) for cell in cells]
            codes = [code_of.get(str(cell), cell) for cell in spelled]
            frame = frame.assign(**{column.name: pd.Series(codes, frame.index, dtype=object)})
    return frame


NA_VALUES = "na_values"
LAYOUT_KEYS = tuple(key for key in LAYOUT_KINDS if key != NA_VALUES)


@contextmanager
def hiding_groups() -> Iterator[None]:
    """Omit the group from dataset keys in user errors raised in the block, as the keys are given without it here."""
    try:
        yield
    except UserError as error:
        raise UserError(str(error).replace("dataset.", "")) from None


def read_rows(file: Path, layout: Mapping[str, Any], record: TrainingRecord) -> Source:
    """Read the rows of a file.

    Unnamed columns are matched by position to all training columns, to all but the target, or to the features alone.

    Parameters
    ----------
    file : Path
    layout : mapping of str to object
        Keys of the file, which override those of the training file.
    record : TrainingRecord

    Raises
    ------
    UserError
        The file holds no table, or a key is wrong.
    """
    dataset = record.dataset_config
    known = {field.name for field in fields(FileLayout)}
    stored = {key: dataset[key] for key in LAYOUT_KEYS if key in dataset and key in known}
    layout_of_training = stored if _has_format_of_training(file, dataset) else {}
    given = {key: value for key, value in layout.items() if key != NA_VALUES}
    settled = FileLayout(**{**layout_of_training, **given})
    source = files.read_file(file, settled)
    if settled.has_names:
        return source
    n_columns = source.frame.shape[1]
    everything = [column.name for column in record.columns]
    if n_columns == len(everything):
        return source
    without_target = [column.name for column in record.columns if column.role != table.TARGET]
    for names in (without_target, list(record.features)):
        if n_columns == len(names) and dataset.get("header") is False:
            return replace(source, frame=source.frame.set_axis(names, axis=1))
    raise UserError(
        f"{file.name} has {n_columns} columns and no header, but the training file has {len(everything)}; add "
        "the other columns, or a header."
    )


def _has_format_of_training(file: Path, dataset: Mapping[str, Any]) -> bool:
    paths = dataset.get("path")
    path = paths[0] if isinstance(paths, list) and paths else paths
    if not isinstance(path, str):
        return False
    try:
        return files.find_format(Path(path)) is files.find_format(file)
    except UserError:  # the path of a user-defined dataset may be a folder
        return False


def convert_rows(
    record: TrainingRecord, rows: pd.DataFrame, rules: ColumnRules | None = None
) -> convert.ConvertedTable:
    """Convert the columns that a model requires to the kinds that they had in training.

    Parameters
    ----------
    record : TrainingRecord
    rows : DataFrame of shape (m, at least d)
        Text as spelled in a file, or numbers, Booleans, dates and categories. Additional columns are ignored.
    rules : ColumnRules, optional
        The spellings of missing cells and numbers; by default those of training.

    Raises
    ------
    UserError
        There are no rows, or a column is missing, occurs twice, or contains a cell of another kind.
    """
    if not len(rows):
        raise UserError("there are no rows to predict.")
    given = [str(column) for column in rows.columns]
    counts = Counter(given)
    for name in record.features:
        if counts[name] > 1:
            raise UserError(f"the rows have {counts[name]} columns named {name!r}; the model needs one.")
        if not counts[name]:
            found = did_you_mean(name, given).replace("Allowed:", "The columns are")
            raise UserError(f"the rows have no column {name!r}, which the model needs. {found}")
    columns = record.feature_columns
    named = restore_codes(rows.set_axis(given, axis=1), columns)
    numbers = {column.name for column in columns if column.kind == table.NUMERIC}
    texts = [name for name in named.select_dtypes(["object", "string"]) if name in numbers]
    known_rules = rules or make_rules(record, {})
    if not texts:
        return convert.convert_like(named, columns, known_rules)
    settled = kinds.settle_numerals(named[texts], known_rules, "the rows")
    return replace(convert.convert_like(named, columns, settled.rules), notes=tuple(settled.notes))


def make_rules(record: TrainingRecord, layout: Mapping[str, Any]) -> ColumnRules:
    """Return the spellings of missing cells and numbers, which default to those of the training rows."""
    keys = {key: layout.get(key, record.dataset_config.get(key)) for key in (NA_VALUES, *SIGN_KEYS)}
    return ColumnRules(**keys, units={column.name: column.unit for column in record.columns if column.unit})


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
        frame = pd.DataFrame(data)
        if isinstance(frame.columns, pd.RangeIndex):
            frame = frame.set_axis(list(self.model.record.features), axis=1)
        return self.model.predict(frame)

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
