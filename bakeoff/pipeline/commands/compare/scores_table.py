"""Scores that any program has computed, read from a table as the cells of a comparison.

The table has a row for each fold, with the columns dataset, learner and score, and optionally repeat, fold, n_train and
n_test. A row with an empty score, or no row at all for a learner on a dataset, is an empty cell. Rows that cannot be
paired between learners are rejected, because the tests on a dataset compare learners fold by fold.
"""

import math
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.cells import label_metric
from bakeoff.pipeline.commands.compare.request import JSON_LINES, PARQUET, CompareRequest
from bakeoff.pipeline.commands.comparison_report.comparison import (
    Cell,
    ComparedDataset,
    ComparedMetric,
    Configuration,
    ScoredCells,
)
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.content import read_content
from bakeoff.pipeline.stages.dataset.files import read_file, require_file
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.stages.dataset.source import require_different_names
from bakeoff.pipeline.stages.scoring.metrics import ANY_NUMBER, CLASSIFICATION, FRACTION, REGRESSION
from bakeoff.pipeline.stages.scoring.scorers import find_bounds, has_fixed_scale, is_greater_better
from bakeoff.pipeline.text.wording import count_nouns, join_words, name_first
from bakeoff.pipeline.tracking.stored_runs import tidy_name

SCORE = "score"
REQUIRED = ("dataset", "learner", SCORE)
FOLDS = ("repeat", "fold")
SIZES = ("n_train", "n_test")
DATASET_CURE = re.compile(r"; [^;]*dataset\..*", re.DOTALL)
"""The end of a message with a key of a dataset, which a table of scores does not have."""
PERCENT = 100
MAX_SCORE = math.sqrt(np.finfo(float).max)
"""The largest number whose square is finite."""
TRUTH_VALUES = {"true": 1.0, "false": 0.0}
ROW = "row"
"""A column with the number of each row, for messages."""
ITEM_SHAPE = "a table of items, with item=COLUMN, has the columns system, COLUMN and score, or a column for each system"
SHAPES = (
    f"a table of scores has a row for each fold and the columns {', '.join(REQUIRED)}, optionally {', '.join(FOLDS)} "
    f"and both {join_words(SIZES)}; {ITEM_SHAPE}"
)
"""The tables that can be compared."""
MAX_ASSUMED_FOLDS = 20
"""The largest number of scores of a dataset that are assumed to be the k folds of one repeat."""


def read_table(file: Path) -> pd.DataFrame:
    """Read a table of others: Parquet or JSON lines by its extension, otherwise CSV with commas and decimal points.

    Raises
    ------
    UserError
        The file cannot be read, or its cells are larger than those of a table would be.
    """
    try:
        if file.suffix in (PARQUET, JSON_LINES):
            return read_file(file, FileLayout()).frame
        require_file(file)
        text = BytesIO(read_content(file, FileLayout()))
        _require_different_columns(text)
        # Numbers are parsed later, so that a text among them is rejected with its row.
        return pd.read_csv(text, dtype=str, skipinitialspace=True, na_values="?")
    except (UserError, OSError, ValueError) as error:
        reason = str(error).replace(f"dataset.path={str(file)!r}", "it")
        reason = DATASET_CURE.sub("", reason).rstrip(".")
        cure = "save a table of scores as CSV in UTF-8"
        raise UserError(f"{file.name} cannot be read as CSV or Parquet: {reason}; {cure}.") from error


def _require_different_columns(text: BytesIO) -> None:
    """Reject a CSV file with two columns of one name, the second of which pandas would call ``score.1``."""
    header = pd.read_csv(text, header=None, nrows=1, dtype=str, skipinitialspace=True, keep_default_na=False)
    text.seek(0)
    names = [str(name).strip() or f"Unnamed: {number}" for number, name in enumerate(header.iloc[0])]
    require_different_names(names, "it has")


def score_table(given: pd.DataFrame, name: str, request: CompareRequest) -> ScoredCells:
    """Return the scores of the learners of a table.

    Parameters
    ----------
    given : DataFrame
        The columns of the module's description, and others, which are ignored.
    name : str
        The name of the table, for messages.
    request : CompareRequest

    Raises
    ------
    UserError
        The table is invalid, or the direction of the scores is unknown.
    """
    if request.is_until_sure:
        raise UserError(f"until=sure adds repeats as runs, but {name} has scores; leave out until=sure.")
    frame = _tidy_table(given, name)
    _require_unique_folds(frame, name)
    metric = describe_metric(request, frame[SCORE])
    learners = list(frame["learner"].unique())
    cells: list[Cell] = []
    datasets = []
    for dataset, rows in frame.groupby("dataset", sort=False):
        table = rows.pivot(index=_list_folds(frame) or "dataset", columns="learner")
        n_repeats = rows["repeat"].nunique() if "repeat" in frame else 1
        datasets.append(ComparedDataset(str(dataset), "", "", len(table), max(len(table) // n_repeats, 1), (), 0))
        cells += _make_cells(table, learners, datasets[-1], metric.name, name)
    return ScoredCells(
        metrics=(metric,),
        datasets=tuple(datasets),
        configurations=[Configuration(learner, learner) for learner in learners],
        cells={(cell.configuration, cell.dataset): cell for cell in cells},
        selection=f"{count_nouns(len(frame), 'score')} of {name}",
        notes=[*_write_column_notes(given, frame), *_write_fold_notes(datasets, frame)],
    )


def _list_folds(frame: pd.DataFrame) -> list[str]:
    """Return the columns that number the scores of a learner on a dataset."""
    return [column for column in FOLDS if column in frame]


def _require_unique_folds(frame: pd.DataFrame, name: str) -> None:
    """Reject two scores of a learner on one fold."""
    repeated = frame.duplicated(["dataset", "learner", *_list_folds(frame)])
    cure = f"remove it, number the scores of each learner by {join_words(FOLDS)}, or name their items by item=COLUMN"
    reject_cells(repeated, frame["learner"], name, f"an earlier row has the same dataset, learner and fold; {cure}")


def _write_column_notes(given: pd.DataFrame, frame: pd.DataFrame) -> list[str]:
    """Return a note on columns that are ignored."""
    others = [column for column in map(str, given) if column.strip().lower() not in frame]
    return [f"Ignored: the columns {name_first(others)}."] if others else []


def _tidy_table(given: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the known columns of a table, with numbers as floats; reject invalid cells with their row."""
    frame = given.rename(columns=lambda column: str(column).strip().lower()).reset_index(drop=True)
    require_different_names(list(map(str, frame)), f"{name} has")
    sizes = SIZES if {*SIZES} & {*frame} else ()
    absent = [column for column in (*REQUIRED, *sizes) if column not in frame]
    if absent or frame.empty:
        raise UserError(
            f"{name} has {len(frame)} rows and the columns {name_first(map(str, given))}; {SHAPES}; "
            "separate cells by commas, and rename its columns."
        )
    tidy = pd.DataFrame({ROW: frame.index + 1})
    for column in ("dataset", "learner", *_list_folds(frame)):
        tidy[column] = read_names(frame[column], name).astype(object)
    for column in (SCORE, *sizes):
        tidy[column] = read_numbers(frame[column], name)
    for column in sizes:
        reject_cells(~(tidy[column] > 0), frame[column], name, f"not a number of rows; remove {join_words(SIZES)}")
    return tidy


def read_names(cells: pd.Series, name: str) -> pd.Series:
    """Return a column of names as a categorical one, in the order of their appearance; reject an empty cell."""
    codes, given = pd.factorize(cells)
    own, names = pd.factorize(np.array([tidy_name(str(each).strip()) for each in (*given, "")], dtype=object))
    is_missing = own[codes] == own[-1]  # the code of a missing name is -1, that of the empty name at the end
    reject_cells(pd.Series(is_missing), cells, name, "a name or a number is missing; fill it in, or remove the row")
    return pd.Series(pd.Categorical.from_codes(own[codes], pd.Index(names[:-1])))


def read_numbers(cells: pd.Series, name: str) -> pd.Series:
    """Return a column as floats, with NaN where a cell is empty; reject text and numbers that are too large."""
    numbers = parse_numbers(cells)
    is_text = numbers.isna() & cells.notna()
    reject_cells(is_text, cells, name, "not a number; write it as 0.85, or leave a missing score empty")
    problem = "infinite, or too large to be squared; leave a score that is not defined empty"
    reject_cells(numbers.abs() > MAX_SCORE, cells, name, problem)
    return numbers


def parse_numbers(cells: pd.Series) -> pd.Series:
    """Return cells as floats, with true and false as 1 and 0, and NaN for other texts."""
    numbers = pd.to_numeric(cells, errors="coerce").astype(float)
    is_text = numbers.isna() & cells.notna()
    numbers[is_text] = cells[is_text].astype(str).str.strip().str.lower().map(TRUTH_VALUES)
    return numbers


def reject_cells(is_wrong: pd.Series, cells: pd.Series, name: str, problem: str) -> None:
    """Raise UserError with the first wrong cell of a column and its row."""
    if is_wrong.any():
        row = int(is_wrong.to_numpy().argmax())
        raise UserError(f"row {row + 1} of {name}: {cells.name}={cells[row]}: {problem}.")


def describe_metric(request: CompareRequest, scores: pd.Series) -> ComparedMetric:
    """Return the metric of a table; reject an unknown direction."""
    name, given = request.metric, request.greater_is_better
    is_unnamed = bool(request.item) and not name
    # Without other words, greater scores of items are better.
    given = True if is_unnamed and given is None else given
    try:
        known = is_greater_better(name)
    except KeyError:
        known = None
    greater_is_better = known if given is None else given
    if greater_is_better is None or known not in (None, greater_is_better):
        hint = did_you_mean(name, [*CLASSIFICATION, *REGRESSION]) if name and known is None else ""
        raise UserError(
            f"metric={name} and greater_is_better={str(given).lower()} give no single direction of the scores; give a "
            f"known metric only, such as metric=accuracy, or greater_is_better=true or false for others. {hint}"
        )
    low, high = FRACTION if is_unnamed and scores.between(*FRACTION).all() else find_bounds(name)
    # Scores in percent are not on the scale of the metric.
    units = [unit for unit in (1, PERCENT) if unit * low <= scores.min() and scores.max() <= unit * high]
    bounds = (units[0] * low, units[0] * high) if units else ANY_NUMBER
    label = label_metric(name or SCORE)
    is_on_scale = len(units) == 2 and has_fixed_scale(bounds)
    return ComparedMetric(name or SCORE, label, greater_is_better, request.rope, not is_on_scale, bounds)


def _make_cells(
    table: pd.DataFrame, learners: Sequence[str], dataset: ComparedDataset, metric: str, name: str
) -> Iterator[Cell]:
    """Yield the cell of each learner on a dataset, from a table with a row per fold; reject a fold that some lack."""
    is_absent = table[ROW].isna()  # (J, k)
    if is_absent.to_numpy().any():
        fold = is_absent.to_numpy().any(axis=1).argmax()
        learner = table[ROW].columns[is_absent.to_numpy()[fold].argmax()]
        raise UserError(
            f"row {table[ROW].iloc[fold].min():.0f} of {name}: {learner} has no row for this fold of {dataset.name}, "
            "and scores are paired fold by fold; add the row, with an empty score if there is none."
        )
    for learner in learners:
        if learner not in table[ROW]:
            yield Cell(learner, dataset.name, reason="no row")
            continue
        own = table.xs(learner, axis=1, level="learner")
        missing = own[ROW][own[SCORE].isna()]
        if len(missing):
            yield Cell(learner, dataset.name, reason=f"no score: row {name_first(map(str, missing))}")
            continue
        sizes = [float(own[column].mean()) if column in own else math.nan for column in SIZES]
        k = dataset.folds_per_repeat
        assumed = 1 / (k - 1) if k > 1 and SIZES[0] not in own else math.nan
        scores = {metric: tuple(own[SCORE])}
        yield Cell(learner, dataset.name, scores, n_train=sizes[0], n_test=sizes[1], assumed_ratio=assumed)


def _write_fold_notes(datasets: Sequence[ComparedDataset], frame: pd.DataFrame) -> list[str]:
    """Return notes on datasets without tests, and on the ratio of the corrected tests; reject an unknown ratio."""
    single = [dataset.name for dataset in datasets if dataset.n_folds == 1]
    tested = [dataset for dataset in datasets if dataset.n_folds > 1]
    notes = []
    if single:
        notes.append(
            f"Each learner has one score on {name_first(single)}, which only allows rank tests over datasets: a test "
            "or an interval on a dataset needs a row for each fold."
        )
    if tested and SIZES[0] not in frame:
        sizes = {dataset.folds_per_repeat for dataset in tested}
        if 1 in sizes:
            raise UserError(f"repeats without folds are tested with the columns {join_words(SIZES)}; add both.")
        if max(sizes) > MAX_ASSUMED_FOLDS:
            raise UserError(
                f"{max(sizes)} folds of a dataset may come from several repeats, for which the ratio 1/(k - 1) is "
                f"too small; number the repeats in a column repeat, add the columns {join_words(SIZES)}, or name the "
                "column of the items by item=, if they are those of one test set."
            )
        notes.append(
            f"The table has no columns {join_words(SIZES)}, so the tests assume n_test / n_train = 1/(k - 1), as for "
            f"k folds that contain each row once (k = {join_words(map(str, sorted(sizes)))})."
        )
    return notes
