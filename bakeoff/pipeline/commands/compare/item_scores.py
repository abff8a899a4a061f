"""Scores of systems on the items of one test set, read from a table of others or from stored predictions.

A long table has a row for each system and item, with the columns system, item and score; a wide one has a row for each
item and a column for each system. Several attempts at an item are averaged, because they are no further items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.comparison import ComparedMetric, Configuration
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.scores_table import ITEM_SHAPE, SCORE, SHAPES, describe_metric, reject_cells
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import count_nouns, format_range, join_words, name_first
from bakeoff.pipeline.tracking.stored_runs import tidy_name

SYSTEM_COLUMNS = ("system", "learner", "model")
DATASET, ATTEMPT, FOLD = "dataset", "attempt", "fold"
TRUTH_VALUES = {"true": 1.0, "false": 0.0}
BINARY_BOUNDS = (0.0, 1.0)
MAX_RATIO_TO_FRACTIONS = 10
"""Next to scores from 0 to 1, larger ones than this are on another scale, such as percent."""
SAMPLE_ROWS = 1000
"""A column of a wide table is a system if most of its first cells are numbers."""


@dataclass(frozen=True)
class ItemScores:
    """Scores of k systems on n items.

    Attributes
    ----------
    systems : tuple of str
    scores : ndarray of shape (n, k)
        Means over attempts.
    datasets : tuple of str
    strata : ndarray of int of shape (n,)
        The dataset of each item.
    clusters : ndarray of int of shape (n,)
        The cluster of each item; without clusters, each item is its own.
    metric : ComparedMetric
    notes : tuple of str
    configurations : tuple of Configuration
        Those of the systems; empty for a table.
    """

    systems: tuple[str, ...]
    scores: np.ndarray
    datasets: tuple[str, ...]
    strata: np.ndarray
    clusters: np.ndarray
    metric: ComparedMetric
    notes: tuple[str, ...] = ()
    configurations: tuple[Configuration, ...] = ()

    @property
    def is_binary(self) -> bool:
        """Whether all scores are 0 or 1."""
        return bool(np.isin(self.scores, BINARY_BOUNDS).all())

    def select(self, is_kept: np.ndarray) -> ItemScores:
        """Return the scores of some of the items."""
        clusters = np.unique(self.clusters[is_kept], return_inverse=True)[1]
        return replace(self, scores=self.scores[is_kept], strata=self.strata[is_kept], clusters=clusters)


class Columns(NamedTuple):
    """The names of the columns of a table; empty if there is none. A wide table has no column system or score."""

    item: str
    cluster: str
    dataset: str
    attempt: str
    system: str
    score: str

    @property
    def names(self) -> list[str]:
        """The columns whose cells are names."""
        return [column for column in self[:-1] if column]


class Answers(NamedTuple):
    """Scores in any order: the row of the table, the position of the system, and the score, each of shape (m,)."""

    systems: list[str]
    rows: np.ndarray
    positions: np.ndarray
    scores: np.ndarray


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
    frame = given.rename(columns=lambda column: str(column).strip()).reset_index(drop=True)
    columns = _find_columns(list(map(str, frame)), name, request)
    for column in columns.names:
        reject_cells(frame[column].isna(), frame[column], name, "a name is missing; fill it in, or remove the row")
    answers = _read_long(frame, columns, name) if columns.system else _read_wide(frame, columns.names, name)
    if len(answers.systems) < 2:
        found = join_words(answers.systems) or "no system"
        raise UserError(f"{name} has scores of {found} only, and a comparison needs two; {ITEM_SHAPE}.")
    used = [*columns.names, *([columns.score] if columns.score else answers.systems)]
    ignored = [str(column) for column in frame if column not in used]
    notes = [f"Ignored: the columns {name_first(ignored)}."] if ignored else []
    return _arrange(frame, columns, answers, name, request, notes)


def _find_columns(names: Sequence[str], name: str, request: CompareRequest) -> Columns:
    """Return the columns of a table by their names, of which only those of item= and cluster= are free."""
    words = {column.lower(): column for column in reversed(names)}
    own = [word for word in (request.item, request.cluster) if word]
    absent = [word for word in own if word not in names]
    if absent or len({*names}) < len(names):
        problem = f"no column {absent[0]}" if absent else "two columns of one name"
        raise UserError(f"{name} has {problem}: its columns are {name_first(names)}; {ITEM_SHAPE}.")
    if FOLD in words and words[FOLD] not in own:
        raise UserError(f"{name} has a column {FOLD} besides item={request.item}, but {SHAPES}; remove one of both.")
    system = next((words[word] for word in SYSTEM_COLUMNS if word in words and words[word] not in own), "")
    score = words.get(SCORE) or words.get(request.metric.lower(), "")
    if bool(system) != bool(score):
        raise UserError(f"{name} has the columns {name_first(names)}; {SHAPES}; rename its columns.")
    others = [words[word] if words.get(word) not in (None, *own) else "" for word in (DATASET, ATTEMPT)]
    return Columns(request.item, request.cluster, others[0], others[1], system, score)


def _read_long(frame: pd.DataFrame, columns: Columns, name: str) -> Answers:
    """Return the scores of a table with a row for each system and item."""
    positions, systems = pd.factorize(frame[columns.system].astype(str).str.strip())
    return Answers(list(systems), np.arange(len(frame)), positions, _read_numbers(frame[columns.score], name))


def _read_wide(frame: pd.DataFrame, others: Sequence[str], name: str) -> Answers:
    """Return the scores of the columns of which most cells are numbers."""
    columns = [str(column) for column in frame if column not in others]
    # A column of text is a remark, but one with some wrong cells is a system.
    systems = [
        column for column in columns if _parse_numbers(frame[column].dropna()[:SAMPLE_ROWS]).notna().mean() > 1 / 2
    ]
    scores = [_read_numbers(frame[column], name) for column in systems]
    rows = np.repeat(np.arange(len(frame)), len(systems))
    positions = np.tile(np.arange(len(systems)), len(frame))
    return Answers(systems, rows, positions, np.column_stack(scores or [rows]).ravel())


def _parse_numbers(cells: pd.Series) -> pd.Series:
    """Return cells as floats, with true and false as 1 and 0, and NaN for a text."""
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan, copy=True)
    is_text = np.isnan(numbers) & cells.notna().to_numpy()
    numbers[is_text] = [TRUTH_VALUES.get(str(cell).strip().lower(), np.nan) for cell in cells[is_text]]
    return pd.Series(numbers)


def _read_numbers(cells: pd.Series, name: str) -> np.ndarray:
    """Return scores of shape (m,), with NaN where one is missing."""
    numbers = _parse_numbers(cells)
    reject_cells(numbers.isna() & cells.notna(), cells, name, "not a number; write it as 0.85, or leave it empty")
    reject_cells(pd.Series(np.isinf(numbers)), cells, name, "infinite; leave a score that is not defined empty")
    return numbers.to_numpy(dtype=float)


def _arrange(
    frame: pd.DataFrame, columns: Columns, answers: Answers, name: str, request: CompareRequest, notes: list[str]
) -> ItemScores:
    """Return the mean score of each system and item, with the dataset and cluster of the items."""
    strata, datasets = pd.factorize(frame[columns.dataset].astype(str)) if columns.dataset else (0, [""])
    items = pd.factorize(frame[columns.item])[0]
    keys = pd.Series(strata * (items.max(initial=0) + 1) + items)
    units, firsts = pd.factorize(keys)[0], np.flatnonzero(~keys.duplicated())  # (rows,), (n,)
    clusters = pd.factorize(frame[columns.cluster])[0] if columns.cluster else units
    has_moved = pd.Series(clusters != clusters[firsts][units])
    problem = f"an earlier row has its {columns.item} in another {columns.cluster}; give each item one cluster"
    reject_cells(has_moved, frame[columns.cluster or columns.item], name, problem)
    cells = units[answers.rows] * len(answers.systems) + answers.positions
    _require_unique(frame, columns, cells, answers.rows, name)
    scores, counts = _average(cells, answers.scores, (len(firsts), len(answers.systems)))
    if counts.max(initial=0) > 1:
        n_attempts = format_range(counts[counts > 0].tolist())
        notes.append(f"The {n_attempts} attempts at an item are averaged: they are no further items.")
    systems = tuple(map(tidy_name, answers.systems))
    if len({*systems}) < len(systems):
        raise UserError(f"{name} has systems whose names differ only in signs that are not shown; rename one.")
    metric, remarks = _describe_item_metric(request, scores[counts > 0])
    whole = ItemScores(
        systems=systems,
        scores=scores,
        datasets=tuple(map(tidy_name, datasets)),
        strata=np.broadcast_to(strata, len(frame))[firsts],
        clusters=np.unique(clusters[firsts], return_inverse=True)[1],
        metric=metric,
        notes=(*notes, *remarks),
    )
    return require_comparable(whole, frame[columns.item].iloc[firsts].astype(str).to_numpy(), name, request)


def _require_unique(frame: pd.DataFrame, columns: Columns, cells: np.ndarray, rows: np.ndarray, name: str) -> None:
    """Reject two scores of a system for an attempt at an item."""
    attempts = pd.factorize(frame[columns.attempt])[0][rows] if columns.attempt else np.zeros_like(cells)
    is_repeated = np.zeros(len(frame), bool)
    is_repeated[rows[pd.Series(cells * (attempts.max(initial=0) + 1) + attempts).duplicated()]] = True
    problem = f"an earlier row has the same system, item and attempt; number repetitions in a column {ATTEMPT}"
    reject_cells(pd.Series(is_repeated), frame[columns.item], name, problem)


def _average(cells: np.ndarray, scores: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and the numbers of the scores of each cell, of a shape (n, k); NaN without a score."""
    is_given = ~np.isnan(scores)
    counts = np.bincount(cells[is_given], minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cells[is_given], scores[is_given], shape[0] * shape[1]).reshape(shape)
    return np.divide(sums, counts, out=np.full(shape, np.nan), where=counts > 0), counts


def _describe_item_metric(request: CompareRequest, scores: np.ndarray) -> tuple[ComparedMetric, list[str]]:
    """Return the metric of a table of items, in which greater scores are better unless its name says otherwise."""
    if request.metric or request.greater_is_better is not None:
        return describe_metric(request, pd.Series(scores)), []
    is_fraction = len(scores) > 0 and scores.min() >= 0 and scores.max() <= 1
    bounds = BINARY_BOUNDS if is_fraction else (-np.inf, np.inf)
    note = "Greater scores are assumed to be better; greater_is_better=false or metric=NAME says otherwise."
    return ComparedMetric(SCORE, SCORE, True, request.rope, not is_fraction, bounds), [note]


def require_comparable(whole: ItemScores, items: np.ndarray, name: str, request: CompareRequest) -> ItemScores:
    """Return the items that all systems answered; reject others unless ``items=common``, and scores on two scales.

    Parameters
    ----------
    whole : ItemScores
        NaN where a system has no score of an item.
    items : ndarray of str of shape (n,)
        The names of the items.
    name : str
    request : CompareRequest

    Raises
    ------
    UserError
    """
    is_absent = np.isnan(whole.scores)  # (n, k)
    is_common = ~is_absent.any(axis=1)
    n, n_common = is_common.shape[0], int(is_common.sum())
    if n_common < n and request.items != "common":
        gaps = "; ".join(_list_gaps(whole, is_absent, items))
        raise UserError(
            f"{name}: systems answered different items of {n}: {gaps}. Give a score for each (0 if no answer is "
            f"wrong), or compare the {n_common} that all answered with items=common."
        )
    if n_common < 2:
        counted = count_nouns(n_common, "item")
        raise UserError(f"{name} has {counted} that all systems answered, and a comparison needs two; add items.")
    notes = whole.notes
    if n_common < n:
        left_out = (
            f"Left out: {n - n_common} of {n} items that not all systems answered ({name_first(items[~is_common])})."
        )
        notes = (*notes, left_out)
    common = replace(whole.select(is_common), notes=notes)
    _require_one_scale(common, name)
    return common


def _list_gaps(whole: ItemScores, is_absent: np.ndarray, items: np.ndarray) -> Iterator[str]:
    for system, is_own in zip(whole.systems, is_absent.T, strict=True):
        if is_own.any():
            yield f"{system} lacks {is_own.sum()} ({name_first(items[is_own])})"


def _require_one_scale(whole: ItemScores, name: str) -> None:
    """Reject scores from 0 to 1 beside others such as percent, of a system or a dataset."""
    groups = {
        f"{system}{f' on {dataset}' * bool(dataset)}": whole.scores[whole.strata == number, position]
        for position, system in enumerate(whole.systems)
        for number, dataset in enumerate(whole.datasets)
    }
    largest = {group: float(own.max()) for group, own in groups.items() if own.size and own.min() >= 0}
    fractions = [group for group, most in largest.items() if 0 < most <= 1]
    large = [group for group, most in largest.items() if most > MAX_RATIO_TO_FRACTIONS]
    # The errors of a named metric may be of any size.
    if fractions and large and (whole.metric.name == SCORE or whole.metric.bounds[1] < np.inf):
        raise UserError(
            f"{name}: the scores of {fractions[0]} are from 0 to 1, and those of {large[0]} reach "
            f"{largest[large[0]]:g}: give all on one scale, or remove the columns that are no scores."
        )
