"""The rows of a calculation: those of a dataset that are chosen, rows to predict and for pruning, and their scaling."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from bakeoff.learners.definitions.scaling import FORMULAS, scale, work_scale
from bakeoff.learners.definitions.steps import Problem, Step
from bakeoff.pipeline.commands.work.request import MAX_ROWS, WorkRequest
from bakeoff.pipeline.config.options import load_yaml
from bakeoff.pipeline.errors import UserError, did_you_mean, is_whole
from bakeoff.pipeline.experiment.experiment import Experiment
from bakeoff.pipeline.stages.dataset import Dataset, convert, files
from bakeoff.pipeline.stages.dataset.keys import ColumnRules, FileLayout
from bakeoff.pipeline.stages.dataset.table import select_features
from bakeoff.pipeline.text.wording import expand_home, join_words, write_ranges

MAX_COLUMNS = 12
PLACE = "preprocessing"


@dataclass(frozen=True)
class WorkedRows:
    """The rows of a calculation, as in the source; the index of a table has the numbers of its rows.

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
    rows = _read_numbers("rows", request.rows, list(range(1, n_rows + 1)))
    if len(rows) > MAX_ROWS:
        raise UserError(f"{len(rows)} rows are too many to calculate by hand; choose at most {MAX_ROWS} with rows=14.")
    if n_columns > MAX_COLUMNS:
        raise UserError(
            f"{n_columns} columns are too many to calculate by hand; choose at most {MAX_COLUMNS} with "
            f"columns=[{','.join(map(str, dataset.X.columns[:2]))}]."
        )
    X = dataset.X.set_axis(pd.RangeIndex(1, n_rows + 1, name="row")).loc[rows]
    y = dataset.y[X.index - 1]
    held = np.zeros(len(rows), dtype=bool)
    if experiment.pruning.needs_rows:
        if request.validation is None:
            raise UserError("pruning needs validation rows; name them, as in validation=[11,12,14].")
        held = X.index.isin(_read_numbers("validation", request.validation, rows))
    elif request.validation is not None:
        raise UserError("validation= is used only by pruning; add pruning=bottom_up or pruning=best_first.")
    queries = _read_queries(request.query, X[~held], dataset)
    queries = queries.set_axis(pd.RangeIndex(1, len(queries) + 1, name="query"))
    _require_cells(X)
    _require_cells(queries)
    chosen = WorkedRows(
        target=dataset.target,
        X=X[~held],
        y=y[~held],
        queries=queries,
        validation_X=X[held],
        validation_y=y[held],
    )
    return replace(experiment, dataset=dataset), chosen


def make_problem(experiment: Experiment, pipeline: Pipeline, X: pd.DataFrame, rows: WorkedRows) -> Problem:
    """Return the rows as the learner receives them, of which X (n, d) are preprocessed for training."""
    queries = pipeline[:-1].transform(rows.queries)
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
        numbers=rows.X.index.tolist(),
    )


def _choose_columns(dataset: Dataset, columns: Sequence[str] | None) -> Dataset:
    if columns is None:
        return dataset
    known = list(map(str, dataset.X.columns))
    for name in columns:
        if name not in known:
            raise UserError(f"columns contains {name!r}. {did_you_mean(name, known)}")
    return replace(dataset, X=dataset.X[list(columns)])


def _read_numbers(key: str, text: str | None, known: list[int]) -> list[int]:
    """Return the numbers of rows, given as a list or as how many of the first of the known rows."""
    if text is None:
        return known
    given = load_yaml(text, key)
    numbers = known[:given] if is_whole(given, 1) and given <= len(known) else given
    is_list = isinstance(numbers, list) and len(numbers) > 0 and all(is_whole(each, 1) for each in numbers)
    if not is_list or len(set(numbers)) < len(numbers) or not set(numbers) <= set(known):
        raise UserError(
            f"{key}={text} must be a number of rows, such as 14, or a list of different rows, such as [1,4,7]; there "
            f"are rows {write_ranges(known)}."
        )
    return numbers


def _require_cells(X: pd.DataFrame) -> None:
    """Reject missing cells, for which the lectures have no rule."""
    for name in X.columns:
        missing = X.index[X[name].isna()]
        if len(missing):
            raise UserError(
                f"{X.index.name} {missing[0]} has no {name}, and calculations by hand do not support missing cells; "
                "choose other rows with rows=, or other columns with columns=."
            )


def _read_queries(text: str | None, X: pd.DataFrame, dataset: Dataset) -> pd.DataFrame:
    """Return the rows to predict: by default the first training row."""
    if text is None:
        return X.iloc[:1]
    names = list(map(str, X.columns))
    frame = _read_query_cells(text, names, dataset.target)
    found = list(map(str, frame.columns))
    lacking = [name for name in names if name not in found]
    if lacking:
        raise UserError(f"query has no {join_words(lacking)}; it needs {join_words(names)}.")
    columns = select_features(dataset.described_columns, names)
    queries = convert.convert_like(frame.set_axis(found, axis=1), columns, ColumnRules()).frame
    for name in X.select_dtypes("category"):
        unseen = set(queries[name].dropna()) - set(X[name])
        if unseen:
            values = join_words(sorted(map(str, set(X[name]))))
            raise UserError(f"query: {name}={min(map(str, unseen))} does not occur in the training rows ({values}).")
    return queries


def _read_query_cells(text: str, names: Sequence[str], target: str) -> pd.DataFrame:
    """Return the cells of a query as text: of a file, or as ``{outlook: sunny, wind: weak}`` or a list of such rows."""
    if not text.lstrip().startswith(("{", "[")):
        return files.read_file(expand_home(text), FileLayout()).frame
    given = load_yaml(text, "query")
    rows = given if isinstance(given, list) else [given]
    if not all(isinstance(row, Mapping) for row in rows):
        raise UserError(f"query={text} must be a row, such as {{{names[0]}: VALUE}}, a list of rows, or a file.")
    frame = pd.DataFrame([{str(key): str(cell) for key, cell in row.items()} for row in rows])
    for name in frame.columns.difference([*names, target]):
        raise UserError(f"query contains {name!r}. {did_you_mean(name, names)}")
    return frame


def list_preprocessing_steps(rows: WorkedRows, problem: Problem) -> Iterator[Step]:
    """Yield the steps from the rows of the source to those that the learner receives."""
    after = dict(zip(problem.features, problem.X.T, strict=True))
    before = {str(name): rows.X[name] for name in rows.X.columns}
    changed = [name for name in after if name not in before or not np.array_equal(before[name], after[name])]
    # The learner may receive intervals of numbers, or numbers in place of nominal cells.
    plain = {*rows.X.select_dtypes("number")} - {problem.features[j] for j in problem.nominal}
    numeric = {name: before[name].to_numpy(float) for name in changed if name in plain}
    method = _find_method(numeric, after)
    if method is not None:
        for name, cells in numeric.items():
            yield replace(work_scale(cells, method, rows.queries[name], name, problem.numbers), place=PLACE)
        changed = [name for name in changed if name not in numeric]
    if changed or len(after) < len(before):
        yield Step(
            "Preprocess the rows; the learner receives this table. (preprocessing=none leaves the columns.)",
            table=(("row", *after), *((number, *row) for number, row in zip(problem.numbers, problem.X, strict=True))),
            place=PLACE,
        )


def _find_method(numeric: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> str | None:
    """Return the method of scaling from which some columns result, if there is one."""
    for method in FORMULAS if numeric else ():
        # Beside nominal columns, numbers are objects.
        if all(np.allclose(scale(cells, cells, method), after[name].astype(float)) for name, cells in numeric.items()):
            return method
    return None
