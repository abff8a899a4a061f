"""Scores of systems on the items of one test set, read from a table of others or from stored predictions.

A long table has a row for each system and item, with the columns system, item and score; a wide one has a row for each
item and a column for each system. Several attempts at an item are averaged, because they are no further items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.comparison import ComparedMetric, Configuration
from bakeoff.pipeline.commands.compare.item_tests import BINARY_BOUNDS, Tests
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.scores_table import (
    ITEM_SHAPE,
    SCORE,
    SHAPES,
    describe_metric,
    parse_numbers,
    read_numbers,
    reject_cells,
)
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import count_nouns, format_range, join_words, name_first
from bakeoff.pipeline.tracking.stored_runs import tidy_name

SYSTEM_COLUMNS = ("system", "learner", "model")
DATASET, ITEM, CLUSTER, ATTEMPT, SYSTEM = "dataset", "item", "cluster", "attempt", "system"
LEVELS = [DATASET, ITEM, CLUSTER]
"""The levels of the index of a table of items."""
FOLD = "fold"
MAX_RATIO_TO_FRACTIONS = 10
"""Next to scores from 0 to 1, larger ones than this are on another scale, such as percent."""
SAMPLE_ROWS = 1000
"""A column of a wide table is a system if most of its first cells are numbers."""


class ItemScores(NamedTuple):
    """Scores of k systems on n items.

    Attributes
    ----------
    table : DataFrame of shape (n, k)
        Means over attempts, with a column for each system; the index has the `LEVELS`, and the dataset is empty if
        there is only one. Without clusters, each item is its own.
    metric : ComparedMetric
    configurations : sequence of Configuration
    selection : str
        A description of their origin.
    notes : sequence of str
    run_ids : sequence of str
        Empty for a table.
    predictions : Tests or None
        Tests of predictions by a metric that is no mean over items.
    """

    table: pd.DataFrame
    metric: ComparedMetric
    configurations: Sequence[Configuration]
    selection: str
    notes: Sequence[str]
    run_ids: Sequence[str] = ()
    predictions: Tests | None = None


def read_item_scores(given: pd.DataFrame, name: str, request: CompareRequest) -> ItemScores:
    """Return the scores of the systems of a long or wide table.

    Parameters
    ----------
    given : DataFrame
        Columns that are not used are named in a note.
    name : str
        The name of the table, for messages.
    request : CompareRequest

    Raises
    ------
    UserError
        The table is neither long nor wide, or its scores cannot be paired by item.
    """
    frame = given.rename(columns=lambda column: tidy_name(str(column).strip())).reset_index(drop=True)
    columns, score = _find_columns(list(map(str, frame)), name, request)
    labels = _read_labels(frame, columns, name)
    used = list(columns.values())
    systems = [score] if score else [column for column in frame if column not in used and _has_scores(frame[column])]
    answers = pd.DataFrame({column: read_numbers(frame[column], name) for column in systems})
    table, counts = _average(labels, answers.set_axis(labels.index))
    if table.shape[1] < 2:
        found = join_words(list(map(str, table))) or "no system"
        raise UserError(f"{name} has scores of {found} only, and a comparison needs two; {ITEM_SHAPE}.")
    common, notes = _choose_common(table, name, request)
    metric, remarks = _describe_item_metric(request, common)
    _require_one_scale(common, metric, name)
    ignored = [str(column) for column in frame if column not in (*used, *systems)]
    if ignored:
        notes.insert(0, f"Ignored: the columns {name_first(ignored)}.")
    if counts.max() > 1:
        attempts = format_range(counts[counts > 0].tolist())
        notes.append(f"The {attempts} attempts at an item are averaged: they are no further items.")
    configurations = [Configuration(system, system) for system in map(str, table)]
    selection = f"{count_nouns(len(frame), 'row')} of {name}"
    return ItemScores(common, metric, configurations, selection, [*notes, *remarks])


def _find_columns(names: Sequence[str], name: str, request: CompareRequest) -> tuple[dict[str, str], str]:
    """Return the columns of names by their meaning, and that of the scores, which is empty in a wide table."""
    words = {column.lower(): column for column in reversed(names)}
    own = {key: column for key, column in ((ITEM, request.item), (CLUSTER, request.cluster)) if column}
    absent = [column for column in own.values() if column not in names]
    if absent or len({*names}) < len(names):
        problem = f"no column {absent[0]}" if absent else "two columns of one name"
        raise UserError(f"{name} has {problem}: its columns are {name_first(names)}; {ITEM_SHAPE}.")
    free = {word: column for word, column in words.items() if column not in own.values()}
    if FOLD in free:
        raise UserError(f"{name} has a column {FOLD} besides item={request.item}, but {SHAPES}; remove one of both.")
    others = {key: free[key] for key in (DATASET, ATTEMPT) if key in free}
    system = [free[word] for word in SYSTEM_COLUMNS if word in free][:1]
    score = words.get(SCORE) or words.get(request.metric.lower(), "")
    if bool(system) != bool(score):
        raise UserError(f"{name} has the columns {name_first(names)}; {SHAPES}; rename its columns.")
    return {**own, **others, **dict.fromkeys([SYSTEM][: len(system)], *system)}, score


def _read_labels(frame: pd.DataFrame, columns: dict[str, str], name: str) -> pd.DataFrame:
    """Return the names in each row by their meaning; reject an item twice, and an item in two clusters."""
    labels = pd.DataFrame({DATASET: "", CLUSTER: ""}, frame.index)
    for key, column in columns.items():
        cells = frame[column]
        reject_cells(cells.isna(), cells, name, "a name is missing; fill it in, or remove the row")
        labels[key] = cells.map({cell: tidy_name(str(cell).strip()) for cell in cells.unique()})
    problem = f"an earlier row has the same system, item and attempt; number repetitions in a column {ATTEMPT}"
    reject_cells(labels.drop(columns=CLUSTER).duplicated(), frame[columns[ITEM]], name, problem)
    units = labels.groupby([DATASET, ITEM], sort=False).ngroup()
    if CLUSTER in columns:
        item, cluster = columns[ITEM], columns[CLUSTER]
        has_moved = labels[CLUSTER] != labels.groupby(units)[CLUSTER].transform("first")
        problem = f"an earlier row has its {item} in another {cluster}; give each item one cluster"
        reject_cells(has_moved, frame[cluster], name, problem)
        return labels.set_axis(units)
    return labels.assign(**{CLUSTER: units}).set_axis(units)


def _has_scores(cells: pd.Series) -> bool:
    """Return whether a column is that of a system; one of text is a remark, but one with some wrong cells is none."""
    return bool(parse_numbers(cells.dropna()[:SAMPLE_ROWS]).notna().mean() > 1 / 2)


def _average(labels: pd.DataFrame, answers: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the mean score of each item and system, and the numbers of attempts; NaN and 0 without a score."""
    is_long = SYSTEM in labels
    groups = answers.groupby([labels.index, labels[SYSTEM]] if is_long else labels.index)
    means = groups.mean()
    if is_long:
        means = means.iloc[:, 0].unstack()[labels[SYSTEM].unique()]
    items = labels[~labels.index.duplicated()]
    return means.set_axis(pd.MultiIndex.from_frame(items[LEVELS])), groups.count().to_numpy()


def _choose_common(table: pd.DataFrame, name: str, request: CompareRequest) -> tuple[pd.DataFrame, list[str]]:
    """Return the items that all systems answered, with a note; reject others unless ``items=common``."""
    items = table.index.get_level_values(ITEM)
    is_absent = table.isna()
    is_common = ~is_absent.any(axis=1).to_numpy()
    n, n_common = len(table), int(is_common.sum())
    if n_common < n and request.items != "common":
        lacking = {system: items[is_own] for system, is_own in is_absent.items() if is_own.any()}
        gaps = "; ".join(f"{system} lacks {len(own)} ({name_first(own)})" for system, own in lacking.items())
        raise UserError(
            f"{name}: systems answered different items of {n}: {gaps}. Give a score for each (0 if no answer is "
            f"wrong), or compare the {n_common} that all answered with items=common."
        )
    if n_common < 2:
        counted = count_nouns(n_common, "item")
        raise UserError(f"{name} has {counted} that all systems answered, and a comparison needs two; add items.")
    others = f"{n - n_common} of {n} items that not all systems answered ({name_first(items[~is_common])})"
    return table[is_common], [f"Left out: {others}."] * (n_common < n)


def _describe_item_metric(request: CompareRequest, table: pd.DataFrame) -> tuple[ComparedMetric, list[str]]:
    """Return the metric of a table of items, in which greater scores are better unless its name says otherwise."""
    scores = pd.Series(table.to_numpy().ravel())
    if request.metric or request.greater_is_better is not None:
        return describe_metric(request, scores), []
    is_fraction = bool(scores.between(*BINARY_BOUNDS).all())
    bounds = BINARY_BOUNDS if is_fraction else (-np.inf, np.inf)
    note = "Greater scores are assumed to be better; greater_is_better=false or metric=NAME says otherwise."
    return ComparedMetric(SCORE, SCORE, True, request.rope, not is_fraction, bounds), [note]


def _require_one_scale(table: pd.DataFrame, metric: ComparedMetric, name: str) -> None:
    """Reject scores from 0 to 1 beside others such as percent, of a system or a dataset."""
    of_datasets = table.groupby(level=DATASET, sort=False)
    largest = pd.Series(of_datasets.max().where(of_datasets.min() >= 0).stack())
    largest.index = [f"{system}{f' on {dataset}' * bool(dataset)}" for dataset, system in largest.index]
    fractions = largest[(largest > 0) & (largest <= 1)]
    large = largest[largest > MAX_RATIO_TO_FRACTIONS]
    # The errors of a named metric may be of any size.
    if len(fractions) and len(large) and (metric.name == SCORE or metric.bounds[1] < np.inf):
        raise UserError(
            f"{name}: the scores of {fractions.index[0]} are from 0 to 1, and those of {large.index[0]} reach "
            f"{large.iloc[0]:g}: give all on one scale, or remove the columns that are no scores."
        )
