"""The rows of a calculation: those of a dataset that are chosen, the rows to predict, and rows for pruning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from bakeoff.learners.definitions.steps import Problem
from bakeoff.pipeline.config.options import load_yaml
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment.experiment import Experiment
from bakeoff.pipeline.stages.dataset import Dataset, convert, files
from bakeoff.pipeline.stages.dataset.keys import ColumnRules, FileLayout
from bakeoff.pipeline.stages.dataset.table import select_features
from bakeoff.pipeline.text.wording import expand_home, join_words
from bakeoff.pipeline.work.request import MAX_ROWS, WorkRequest

MAX_COLUMNS = 12


@dataclass(frozen=True)
class WorkedRows:
    """The rows of a calculation, as in the source.

    Attributes
    ----------
    target : str
    X : DataFrame of shape (n, d)
    y : ndarray of shape (n,)
    queries : DataFrame of shape (m, d)
    validation_X : DataFrame of shape (v, d)
    validation_y : ndarray of shape (v,)
    """

    target: str
    X: pd.DataFrame
    y: np.ndarray
    queries: pd.DataFrame
    validation_X: pd.DataFrame
    validation_y: np.ndarray

    @property
    def table(self) -> pd.DataFrame:
        """The training rows with the target: shape (n, d + 1)."""
        return self.X.assign(**{self.target: self.y}).reset_index(drop=True)

    @property
    def validation_table(self) -> pd.DataFrame:
        """The validation rows with the target: shape (v, d + 1)."""
        return self.validation_X.assign(**{self.target: self.validation_y}).reset_index(drop=True)


def choose_rows(experiment: Experiment, request: WorkRequest) -> tuple[Experiment, WorkedRows]:
    """Return the experiment on the chosen columns, and its rows.

    Raises
    ------
    UserError
        There are too many rows or columns, a row or column does not exist, or a query does not fit the columns.
    """
    dataset = _choose_columns(experiment.dataset, request.columns)
    if dataset.weights is not None:
        raise UserError("weights of rows have no calculation by hand; leave dataset.weights= out.")
    n_rows, n_columns = dataset.X.shape
    rows = _read_positions("rows", request.rows, n_rows)
    if len(rows) > MAX_ROWS:
        raise UserError(f"{len(rows)} rows are too many to calculate by hand; choose at most {MAX_ROWS} with rows=14.")
    if n_columns > MAX_COLUMNS:
        raise UserError(
            f"{n_columns} columns are too many to calculate by hand; choose at most {MAX_COLUMNS} with "
            f"columns=[{','.join(map(str, dataset.X.columns[:2]))}]."
        )
    X, y = dataset.X.iloc[rows], dataset.y[rows]
    held = np.zeros(len(rows), dtype=bool)
    if experiment.pruning.needs_rows:
        if request.validation is None:
            raise UserError("pruning needs validation rows; name them, as in validation=[11,12,14].")
        held[_read_positions("validation", request.validation, len(rows))] = True
    elif request.validation is not None:
        raise UserError("validation= is used by pruning alone; add pruning=bottom_up or pruning=best_first.")
    chosen = WorkedRows(
        target=dataset.target,
        X=X[~held],
        y=y[~held],
        queries=_read_queries(request.query, X[~held], dataset),
        validation_X=X[held],
        validation_y=y[held],
    )
    _require_cells(chosen.X)
    return replace(experiment, dataset=dataset), chosen


def make_problem(experiment: Experiment, pipeline: Pipeline, rows: WorkedRows) -> Problem:
    """Return the rows as the learner receives them, after preprocessing."""
    X, queries = (pipeline[:-1].transform(part) for part in (rows.X, rows.queries))
    # Transformers reject a table without rows.
    held = pipeline[:-1].transform(rows.validation_X) if len(rows.validation_X) else X.iloc[:0]
    nominal = [j for j, dtype in enumerate(X.dtypes) if isinstance(dtype, pd.CategoricalDtype)]
    kind: Any = object if nominal else float
    return Problem(
        X=X.to_numpy(kind),
        y=rows.y,
        queries=queries.to_numpy(kind),
        features=tuple(map(str, X.columns)),
        target=rows.target,
        nominal=nominal,
        validation_X=held.to_numpy(kind),
        validation_y=rows.validation_y,
        pruning=experiment.pruning.method,
        classes=getattr(pipeline[-1], "classes_", None),
    )


def _choose_columns(dataset: Dataset, columns: Sequence[str] | None) -> Dataset:
    if columns is None:
        return dataset
    known = list(map(str, dataset.X.columns))
    for name in columns:
        if name not in known:
            raise UserError(f"columns contains {name!r}. {did_you_mean(name, known)}")
    return replace(dataset, X=dataset.X[list(columns)])


def _read_positions(key: str, text: str | None, n_rows: int) -> np.ndarray:
    """Return the positions of rows given as a number of first rows, or as a list of numbers from 1."""
    if text is None:
        return np.arange(n_rows)
    given = load_yaml(text, key)
    numbers = list(range(1, given + 1)) if isinstance(given, int) else given
    is_list = isinstance(numbers, list) and len(numbers) > 0 and all(isinstance(each, int) for each in numbers)
    if not is_list or len(set(numbers)) < len(numbers) or not 1 <= min(numbers) <= max(numbers) <= n_rows:
        raise UserError(
            f"{key}={text} must be a number of rows, as 14, or different rows, as [1,4,7]; there are rows 1 to "
            f"{n_rows}."
        )
    return np.array(numbers) - 1


def _require_cells(X: pd.DataFrame) -> None:
    """Reject missing cells, for which the lectures have no rule."""
    for name in X.columns:
        missing = np.flatnonzero(X[name].isna())
        if len(missing):
            raise UserError(
                f"row {missing[0] + 1} has no {name}, and a calculation by hand has no rule for missing cells; "
                "choose other rows with rows=, or other columns with columns=."
            )


def _read_queries(text: str | None, X: pd.DataFrame, dataset: Dataset) -> pd.DataFrame:
    """Return the rows to predict: by default the first training row."""
    if text is None:
        return X.iloc[:1].reset_index(drop=True)
    names = list(map(str, X.columns))
    if text.lstrip().startswith(("{", "[")):
        given = load_yaml(text, "query")
        cells = given if isinstance(given, list) else [given]
        if not all(isinstance(row, Mapping) for row in cells):
            raise UserError(f"query={text} must be a row, as {{{names[0]}: VALUE}}, a list of rows, or a file.")
        frame = pd.DataFrame([{str(key): str(cell) for key, cell in row.items()} for row in cells])
    else:
        frame = files.read_file(expand_home(text), FileLayout()).frame
    found = list(map(str, frame.columns))
    if set(names) - set(found):
        lacking = join_words(name for name in names if name not in found)
        raise UserError(f"query has no {lacking}; it needs {join_words(names)}.")
    columns = select_features(dataset.described_columns, names)
    queries = convert.convert_like(frame.set_axis(found, axis=1), columns, ColumnRules()).frame
    for name in names:
        unseen = set(queries[name].dropna()) - set(X[name]) if X[name].dtype == "category" else set()
        if unseen:
            values = join_words(sorted(map(str, set(X[name]))))
            raise UserError(f"query: {name}={min(map(str, unseen))} does not occur in the training rows ({values}).")
    _require_cells(queries)
    return queries
