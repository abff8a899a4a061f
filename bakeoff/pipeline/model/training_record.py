"""The record of a model's training rows, stored with the model so that it can be used without a store.

The cells of each column are counted, for the comparison with later rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.stages.dataset import Column
from bakeoff.pipeline.stages.dataset.table import BOOLEAN, DATE, NOMINAL, NUMERIC, ORDERED, make_column, select_features
from bakeoff.pipeline.stages.preprocessing import list_kinds

if TYPE_CHECKING:
    from bakeoff.pipeline.experiment import Experiment, FittedModel

N_BINS = 10
"""Numbers are counted between deciles, so that each bin contains about a tenth of the training rows."""
MAX_SORTED_CELLS = 10_000
"""The number of cells from which the deciles of larger columns are computed."""
SECONDS_PER_DAY = 86400
NUMBER_KINDS = (NUMERIC, DATE)
VALUE_KINDS = (NOMINAL, ORDERED, BOOLEAN)


@dataclass(frozen=True)
class ColumnProfile:
    """The distribution of the cells of a column.

    Attributes
    ----------
    kind : str
        The kind of a feature: numeric, nominal, ordered, date or text.
    n : int
        The number of cells, including missing ones.
    n_missing : int
    minimum, maximum : float or None
        The range of numbers, or of dates in days since 1970-01-01. None for other kinds, or if all cells are missing.
    edges : list of float, ascending
        The distinct deciles above the minimum, at most 9; they are approximate for more than 10,000 cells.
    counts : list of int
        The number of cells x below the first edge, with ``edges[i - 1] <= x < edges[i]``, and from the last edge.
    values : mapping of str to int
        Value of a nominal or ordered column -> number of cells; values without cells are included.
    """

    kind: str
    n: int
    n_missing: int
    minimum: float | None = None
    maximum: float | None = None
    edges: Sequence[float] = field(default_factory=list)
    counts: Sequence[int] = field(default_factory=list)
    values: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers or dates, so that they have a range."""
        return self.kind in NUMBER_KINDS


def profile_column(column: pd.Series[Any], kind: str) -> ColumnProfile:
    """Count the cells of a column.

    Parameters
    ----------
    column : Series of shape (n,)
        A column of a dataset: numbers, categories, dates or text.
    kind : str
    """
    n = len(column)
    n_missing = int(column.isna().sum())
    if kind in VALUE_KINDS:
        categories = column.cat.categories
        # The code of a missing cell is -1, which becomes the first position.
        counts = np.bincount(column.cat.codes.to_numpy(dtype=np.int64) + 1, minlength=len(categories) + 1)
        values = dict(zip(map(str, categories), counts[1:].tolist(), strict=True))
        return ColumnProfile(kind, n, n_missing, values=values)
    if kind not in NUMBER_KINDS or n_missing == n:
        return ColumnProfile(kind, n, n_missing)
    numbers = to_numbers(column)
    present = numbers[~np.isnan(numbers)]
    minimum = float(present.min())
    # Bins need not contain exactly a tenth of the cells, and sorting all of them is slower than counting.
    ordered = np.sort(present[:: -(-len(present) // MAX_SORTED_CELLS)])
    deciles = np.unique(ordered[np.arange(1, N_BINS) * len(ordered) // N_BINS])
    edges = deciles[deciles > minimum].tolist()
    counts_of_bins = count_in_bins(edges, present).tolist()
    return ColumnProfile(kind, n, n_missing, minimum, float(present.max()), edges, counts_of_bins)


def count_in_bins(edges: Sequence[float], numbers: np.ndarray) -> np.ndarray:
    """Return the number of values in each bin, shape (len(edges) + 1,); missing values are not counted."""
    bins = np.searchsorted(edges, numbers[~np.isnan(numbers)], side="right")
    return np.bincount(bins, minlength=len(edges) + 1)


def to_numbers(column: pd.Series[Any]) -> np.ndarray:
    """Return numbers, or dates as days since 1970-01-01, as float64 of shape (n,), NaN where missing."""
    if column.dtype.kind != "M":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    seconds = column.to_numpy(dtype="datetime64[s]").astype(np.float64)  # (n,)
    return np.where(column.isna(), np.nan, seconds / SECONDS_PER_DAY)


def describe_rows(n_rows: int, n_train: int, n_validation: int, n_test: int, n_reserve: int = 0) -> str:
    """Describe in words how a model uses the distinct rows of a dataset.

    Examples
    --------
    >>> describe_rows(1309, 785, 262, 262)
    'fitted on 785 of 1,309 rows (262 for validation, 262 for the test)'
    >>> describe_rows(1309, 1309, 0, 0)
    'fitted on all 1,309 rows'
    """
    if n_train == n_rows:
        return f"fitted on all {n_rows:,} rows"
    n_left = max(0, n_rows - n_train - n_validation - n_test - n_reserve)
    parts = {"for validation": n_validation, "for the test": n_test, "in the reserve": n_reserve, "in no part": n_left}
    others = ", ".join(f"{count:,} {use}" for use, count in parts.items() if count)
    fitted = f"fitted on {n_train:,} of {n_rows:,} rows"
    return f"{fitted} ({others})" if others else fitted


def count_rows(experiment: Experiment, model: FittedModel) -> dict[str, int]:
    """Return the arguments of `describe_rows` for a model; a row that a bootstrap drew several times counts once."""
    return {
        "n_rows": len(experiment.dataset.y),
        **{f"n_{part}": len(np.unique(of)) for part, of in vars(model.split).items()},
    }


TRAINING_FILE = "training.json"
"""The file of the record, in the folder of the model."""
SCORE_PREFIXES = ("test_", "validation_", "train_")


class UnreadableRecord(Exception):
    """A record is damaged or was written by another version; the message contains the reason."""


@dataclass(frozen=True)
class TrainingRecord:
    """The rows on which a model was fitted, and the scores of its run.

    Attributes
    ----------
    run_id, run_name : str
        The run that chose the model; empty if none was stored.
    dataset, dataset_digest : str
    dataset_config : mapping
        How the rows were read: the configuration of the dataset, with the keys of its file that were guessed.
    task : {"classification", "regression"}
    target : str
    positive : str or None
    columns : tuple of Column
        All columns of the source, or only the features if their kinds were not inferred.
    features : tuple of str
        The columns that the model requires, in order.
    profiles : mapping of str to ColumnProfile
        Feature -> the cells of the training rows.
    n_rows : int
        The number of rows of the dataset; 0 if unknown.
    n_train, n_validation, n_test, n_reserve : int
        The numbers of distinct rows used to fit, choose and test this model, and of those that were set aside.
    scores : mapping of str to float
        The scores of the run, the headline first: ``test_accuracy``, ``test_accuracy_std`` …
    versions : mapping of str to str
        Package -> version with which the model was fitted.
    """

    run_id: str
    run_name: str
    dataset: str
    dataset_digest: str
    dataset_config: Mapping[str, Any]
    task: str
    target: str
    positive: str | None
    columns: tuple[Column, ...]
    features: tuple[str, ...]
    profiles: Mapping[str, ColumnProfile] = field(default_factory=dict)
    n_rows: int = 0
    n_train: int = 0
    n_validation: int = 0
    n_test: int = 0
    n_reserve: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def feature_columns(self) -> tuple[Column, ...]:
        """The columns that the model requires, in order."""
        return tuple(select_features(self.columns, self.features))

    @property
    def headline(self) -> str:
        """The name of the first score, such as ``test_accuracy``; empty if there is none."""
        return next(iter(self.scores), "")

    def describe_rows(self) -> str:
        """Return the number of rows on which the model was fitted, and the use of the others."""
        return describe_rows(self.n_rows, self.n_train, self.n_validation, self.n_test, self.n_reserve)


def make_training_record(
    experiment: Experiment,
    model: FittedModel,
    *,
    run_id: str = "",
    run_name: str = "",
    dataset_config: Mapping[str, Any] | None = None,
    scores: Mapping[str, float] | None = None,
    versions: Mapping[str, str] | None = None,
) -> TrainingRecord:
    """Return the record of a model that was just fitted.

    Parameters
    ----------
    experiment : Experiment
    model : FittedModel
    run_id, run_name : str
    dataset_config : mapping, optional
        The configuration of the dataset; the keys of its file that were guessed are added.
    scores : mapping of str to float, optional
        The means of the run; undefined ones and those that are not scores, such as times, are left out.
    versions : mapping of str to str, optional
    """
    dataset = experiment.dataset
    train = np.unique(model.split.train)
    # Copying a whole table would be slower than computing the profiles.
    X: pd.DataFrame = dataset.X if len(train) == len(dataset.X) else dataset.X.iloc[train]
    kinds = list_kinds(X)
    profiles = {str(name): profile_column(column, kinds[str(name)]) for name, column in X.items()}
    kept = {
        name: value
        for name, value in (scores or {}).items()
        if name.startswith(SCORE_PREFIXES) and not math.isnan(value)  # JSON has no NaN
    }
    return TrainingRecord(
        run_id=run_id,
        run_name=run_name,
        dataset=dataset.name,
        dataset_digest=dataset.digest(),
        dataset_config={**(dataset_config or {}), **dataset.guessed},
        task=dataset.task,
        target=dataset.target,
        positive=None if dataset.positive is None else str(dataset.positive),
        columns=dataset.described_columns,
        features=tuple(kinds),
        profiles=profiles,
        scores=kept,
        versions=dict(versions or {}),
        **count_rows(experiment, model),
    )


def format_record(record: TrainingRecord) -> str:
    """Return a record as JSON."""
    return json.dumps(asdict(record), ensure_ascii=False, default=str)


def parse_record(text: str) -> TrainingRecord:
    """Return the record in a JSON text.

    Parameters
    ----------
    text : str

    Raises
    ------
    UnreadableRecord
    """
    try:
        values = json.loads(text)
        columns = tuple(make_column(column) for column in values.pop("columns"))
        profiles = {name: ColumnProfile(**profile) for name, profile in values.pop("profiles").items()}
        features = tuple(values.pop("features"))
        return TrainingRecord(**values, columns=columns, features=features, profiles=profiles)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise UnreadableRecord(
            f"{TRAINING_FILE} of the model is damaged, or another version of bakeoff wrote it "
            f"({type(error).__name__}: {error})"
        ) from None
