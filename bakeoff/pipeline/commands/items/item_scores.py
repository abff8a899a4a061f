"""Scores of systems on the items of one test set, read from a table of others or from stored predictions.

A long table has a row for each system and item, with the columns system, item and score; a wide one has a row for each
item and a column for each system. Several attempts at an item are averaged, because they are no further items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.scores_table import (
    ITEM_SHAPE,
    SCORE,
    SHAPES,
    describe_metric,
    parse_numbers,
    read_names,
    read_numbers,
    reject_cells,
)
from bakeoff.pipeline.commands.comparison_report.comparison import ComparedMetric, Configuration
from bakeoff.pipeline.commands.significance.items import Tests
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import count_nouns, format_range, join_words, name_first
from bakeoff.pipeline.tracking.stored_runs import tidy_name

DATASET, ITEM, CLUSTER, ATTEMPT, SYSTEM, FOLD = "dataset", "item", "cluster", "attempt", "system", "fold"
LEVELS = [DATASET, ITEM, CLUSTER]
"""The levels of the index of a table of items."""
MEANINGS = {key: key for key in (SCORE, DATASET, ATTEMPT, FOLD)} | dict.fromkeys(("model", "learner", SYSTEM), SYSTEM)
"""Names of columns -> what they contain; of columns with one meaning, the last one is read."""
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
    columns = _find_columns(list(map(str, frame)), name, request)
    labels = _read_labels(frame, columns, name)
    others = [column for column in frame if column not in columns.values()]
    systems = [columns[SCORE]] if SCORE in columns else [column for column in others if _has_scores(frame[column])]
    answers = pd.DataFrame({column: read_numbers(frame[column], name) for column in systems})
    table, counts = _average(labels, answers)
    if table.shape[1] < 2:
        found = join_words(list(map(str, table))) or "no system"
        raise UserError(f"{name} has scores of {found} only, and a comparison needs two; {ITEM_SHAPE}.")
    common, notes = _choose_common(table, name, request)
    metric = describe_metric(request, pd.Series(common.to_numpy().ravel()))
    _require_one_scale(common, metric, name)
    ignored = [str(column) for column in others if column not in systems]
    if ignored:
        notes.insert(0, f"Ignored: the columns {name_first(ignored)}.")
    if np.nanmax(counts) > 1:
        attempts = format_range(counts[counts > 0].tolist())
        notes.append(f"The {attempts} attempts at an item are averaged: they are no further items.")
    if not request.metric and request.greater_is_better is None:
        notes.append("Greater scores are assumed to be better; greater_is_better=false or metric=NAME says otherwise.")
    configurations = [Configuration(system, system) for system in map(str, table)]
    return ItemScores(common, metric, configurations, f"{count_nouns(len(frame), 'row')} of {name}", notes)


def _find_columns(names: Sequence[str], name: str, request: CompareRequest) -> dict[str, str]:
    """Return the columns by their meaning; a wide table has none of systems and scores."""
    named = {key: column for key, column in ((ITEM, request.item), (CLUSTER, request.cluster)) if column}
    absent = [column for column in named.values() if column not in names]
    if absent or len({*names}) < len(names):
        problem = f"no column {absent[0]}" if absent else "two columns of one name"
        raise UserError(f"{name} has {problem}: its columns are {name_first(names)}; {ITEM_SHAPE}.")
    words = {column.lower(): column for column in reversed(names) if column not in named.values()}
    found = {MEANINGS.get(word, SCORE): words[word] for word in (request.metric.lower(), *MEANINGS) if word in words}
    if FOLD in found:
        raise UserError(f"{name} has a column {FOLD} besides item={request.item}, but {SHAPES}; remove one of both.")
    if (SYSTEM in found) != (SCORE in found):
        raise UserError(f"{name} has the columns {name_first(names)}; {SHAPES}; rename its columns.")
    return {**found, **named}


def _read_labels(frame: pd.DataFrame, columns: Mapping[str, str], name: str) -> pd.DataFrame:
    """Return the names in each row by their meaning; reject an item twice, and an item in two clusters."""
    rows = np.zeros(len(frame), dtype=int)
    labels = pd.DataFrame({DATASET: pd.Categorical.from_codes(rows, pd.Index([""]))})
    for key, column in columns.items():
        if key == SCORE:
            continue
        labels[key] = read_names(frame[column], name)
    units = labels.groupby([DATASET, ITEM], sort=False, observed=True).ngroup()
    problem = f"an earlier row has the same system, item and attempt; number repetitions in a column {ATTEMPT}"
    is_repeated = labels.drop(columns=CLUSTER, errors="ignore").duplicated()
    reject_cells(is_repeated, frame[columns[ITEM]], name, problem)
    if CLUSTER not in columns:
        return labels.assign(**{CLUSTER: units}).set_axis(units)
    item, cluster = columns[ITEM], columns[CLUSTER]
    numbers = labels[CLUSTER].cat.codes
    problem = f"an earlier row has its {item} in another {cluster}; give each item one cluster"
    reject_cells(numbers != numbers.groupby(units).transform("first"), frame[cluster], name, problem)
    return labels.set_axis(units)


def _has_scores(cells: pd.Series) -> bool:
    """Return whether a column is that of a system; one of text is a remark, but one with some wrong cells is none."""
    return bool(parse_numbers(cells.dropna()[:SAMPLE_ROWS]).notna().mean() > 1 / 2)


def _average(labels: pd.DataFrame, answers: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the mean score of each item and system, and the numbers of attempts; NaN and 0 without a score."""
    items = labels[~labels.index.duplicated()]
    systems = [labels[SYSTEM].array] if SYSTEM in labels else []
    groups = answers.groupby([labels.index, *systems], observed=True)
    means, counts = groups.mean(), groups.count()
    if systems:
        # A long table has one column of scores.
        means, counts = (each.iloc[:, 0].unstack() for each in (means, counts))
    return means.set_axis(pd.MultiIndex.from_frame(items[LEVELS])).set_axis(list(means), axis=1), counts.to_numpy()


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
