"""A dataset: a table of features, a target and a task; its columns, and the reasons for their kinds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.wording import join_words, name_first

NUMERIC = "numeric"
NOMINAL = "nominal"
ORDERED = "ordered"
BOOLEAN = "boolean"
DATE = "date"
TEXT = "text"
IDENTIFIER = "identifier"
CONSTANT = "constant"

FEATURE = "feature"
TARGET = "target"
LEFT_OUT = "left out"
"""The role of a column left out because of its kind; ``dataset.keep`` includes it."""
DROPPED = "dropped"
"""The role of a column that the user drops with ``dataset.drop``."""


@dataclass(frozen=True)
class Column:
    """The inferred kind of a column of a source, with the reason.

    Attributes
    ----------
    name : str
    kind : str
        Numeric, nominal, ordered, boolean, date, text, identifier or constant.
    reason : str
        The reason for the kind, such as ``1309 cells are numbers``.
    role : str
        Feature, left out, dropped, or the key of `Roles` that names the column.
    n_missing : int
    n_distinct : int
        The number of distinct values, not counting missing cells.
    values : tuple of str
        The values of a nominal, ordered or Boolean column, in order; empty for other kinds.
    date_format : str
        The format of a column of dates in text; empty for other kinds and for sources with typed dates.
    suspicions : tuple of str
        Sentences about possible problems with the column.
    unit : str
        The unit of numbers in text, such as ``m²``; empty if there is none.
    is_row_order : bool
        Whether the rows are in the order of the dates of the column.
    """

    name: str
    kind: str
    reason: str
    role: str = FEATURE
    n_missing: int = 0
    n_distinct: int = 0
    values: tuple[str, ...] = ()
    date_format: str = ""
    suspicions: tuple[str, ...] = ()
    unit: str = ""
    is_row_order: bool = False


COLUMNS_FILE = "columns.json"
"""The artifact of a run that contains the columns."""
LIST_FIELDS = ("values", "suspicions")
GUESSED_TAG = "dataset_guessed"
"""The tag of a run with the guessed keys of its file, as JSON."""


def format_columns(dataset: Dataset) -> str:
    """Return the columns of a dataset as JSON, a list of objects with the fields of `Column`.

    Parameters
    ----------
    dataset : Dataset
        The dataset; if the kinds of its columns were not inferred, its features are described by their types.
    """
    columns = dataset.described_columns
    lines = [json.dumps(vars(column), ensure_ascii=False) for column in columns]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def make_column(record: Mapping[str, Any]) -> Column:
    """Return the column with the given fields."""
    return Column(**{**record, **{key: tuple(record[key]) for key in LIST_FIELDS}})


def select_features(columns: Sequence[Column], names: Sequence[str]) -> list[Column]:
    """Return the features with the given names, in order, ignoring names that were not recorded."""
    features = {column.name: column for column in columns if column.role == FEATURE}
    return [features[name] for name in names if name in features]


DIGEST_BYTES = 8
BYTES_KINDS = "fiubU"
"""NumPy type kinds whose bytes are the values: floats, integers, Booleans and text."""
FEATURE_KINDS = (NUMERIC, NOMINAL, ORDERED, DATE, TEXT)
"""The kinds of features distinguished by type; a Boolean column is nominal."""
MAX_SHOWN_COLUMNS = 20


@dataclass(frozen=True)
class Dataset:
    """n rows of d features with a target.

    Attributes
    ----------
    name : str
        For a file, its name without the suffix.
    X : DataFrame of shape (n, d)
        Numeric columns are float64, nominal columns categorical; a missing cell is NaN in both.
    y : ndarray of shape (n,)
        Class labels, or float64 targets.
    task : {"classification", "regression"}
    target : str
        The target's name.
    positive : object or None
        The class evaluated by precision, recall and F1 if there are two classes or it is named; otherwise None.
    groups : ndarray of shape (n,) or None
        The rows of a group must all be training rows or all be test rows.
    source : str
        The origin of the rows.
    columns : tuple of Column
        The kind of each column of the source with the reason, including those that are not features; empty if kinds
        were not inferred.
    notes : tuple of str
        Sentences, shown by a run, about how the source was read and what was left out.
    guessed : mapping of str to str
        Keys of a file that were not given -> their guessed values, with which further rows must be read.
    weights : ndarray of shape (n,) or None
        The weights of the rows in fits and scores.
    parts : ndarray of shape (n,) or None
        "train", "validation" or "test", if the source divides the rows.
    folds : ndarray of shape (n,) or None, int
        The fold in which each row is tested, if the source specifies it; a negative number means none.
    times : ndarray of shape (n,) or None
        Numbers or datetime64[ns] by which the rows are ordered, if there is such a column.
    class_order : tuple of labels or None
        The classes in the order declared by an ARFF file, which breaks ties between votes; None if it is the sorted
        order.
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    task: str
    target: str
    positive: object | None = None
    groups: np.ndarray | None = None
    source: str = ""
    columns: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()
    guessed: Mapping[str, str] = field(default_factory=dict)
    weights: np.ndarray | None = None
    parts: np.ndarray | None = None
    folds: np.ndarray | None = None
    times: np.ndarray | None = None
    class_order: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        # The index of a part of the table then contains its row numbers, which show which rows a stage has seen.
        index = self.X.index
        has_row_numbers = isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1)
        if not has_row_numbers:
            object.__setattr__(self, "X", self.X.reset_index(drop=True))

    @property
    def is_classification(self) -> bool:
        """Whether the targets are classes."""
        return self.task == "classification"

    @cached_property
    def classes(self) -> np.ndarray:
        """The class labels, sorted: shape (c,)."""
        return np.unique(self.y)

    @cached_property
    def row_codes(self) -> np.ndarray:
        """A code for each row, shape (n,), from 0: rows with equal cells and targets have equal codes.

        The probability that two different rows have equal codes is about n² / 2**65.
        """
        target = pd.Series(self.y, index=self.X.index, name="target of the dataset")
        hashes = pd.util.hash_pandas_object(pd.concat([self.X, target], axis=1), index=False)
        return np.unique(hashes.to_numpy(), return_inverse=True)[1]

    @property
    def names_validation_rows(self) -> bool:
        """Whether the source assigns rows to the validation part."""
        return self.parts is not None and "validation" in self.parts

    @property
    def nominal(self) -> list[str]:
        """The names of the nominal columns."""
        return [*map(str, self.X.columns[self.X.dtypes == "category"])]

    @cached_property
    def nominal_codes(self) -> dict[str, np.ndarray]:
        """The name of each nominal column -> the codes of its cells, shape (n,), -1 for a missing one."""
        return {name: self.X[name].cat.codes.to_numpy() for name in self.nominal}

    def digest(self) -> str:
        """Return a fingerprint of task, names, types, groups and every cell, in order: 16 hexadecimal digits."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        fingerprint = hashlib.blake2b(f"{self.task}\0{self.positive}\0".encode(), digest_size=DIGEST_BYTES)
        columns: list[tuple[Any, Any]] = [*self.X.items(), (self.target, self.y)]
        # Anything that affects the splits or the row weights affects the result; most datasets have none of these.
        facts = ((key, getattr(self, key)) for key in ("groups", "weights", "parts", "folds", "times"))
        columns += [(key, values) for key, values in facts if values is not None]
        if self.class_order is not None:
            columns.append(("class_order", np.array(self.class_order, dtype=self.y.dtype)))
        # The zero bytes distinguish the names "ab" and "c" from "a" and "bc".
        for name, column in columns:
            kind = column.dtype.kind if hasattr(column.dtype, "kind") else ""
            fingerprint.update(f"{name}\0{kind}\0".encode())
            for cells in _encode_cells(column):
                fingerprint.update(cells)
        return fingerprint.hexdigest()

    @cached_property
    def described_columns(self) -> tuple[Column, ...]:
        """All columns of the source, or the features described by their types if kinds were not inferred."""
        return self.columns or tuple(_describe_feature(column) for _, column in self.X.items())

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on the data: how it was read, what is left out, and suspicions about columns."""
        suspicions = [sentence for column in self.columns for sentence in column.suspicions]
        return (*self.notes, *suspicions)

    @property
    def names_by_kind(self) -> dict[str, list[str]]:
        """The names of the features by the kind of their cells: numeric, nominal, ordered, date or text."""
        kind_of = {str(name): _find_kind(dtype) for name, dtype in self.X.dtypes.items()}
        names = {kind: [name for name, each in kind_of.items() if each == kind] for kind in FEATURE_KINDS}
        return {kind: found for kind, found in names.items() if found}

    def describe(self) -> str:
        """Return a line with the size, the kinds of columns and the target."""
        n, d = self.X.shape
        counts = [f"{len(names)} {kind}" for kind, names in self.names_by_kind.items()]
        columns = "column" if d == 1 else "columns"
        goal = f"{len(self.classes)} classes" if self.is_classification else "regression"
        positive = "" if self.positive is None else f" (positive: {self.positive})"
        return f"{self.name}: {n} rows, {join_words(counts)} {columns}, {goal} of {self.target}{positive}"

    def describe_columns(self) -> list[str]:
        """Return a line for each kind with its column names, or no lines if the kinds were not inferred."""
        if not self.columns:
            return []
        return [f"{kind}: {name_first(names, MAX_SHOWN_COLUMNS)}" for kind, names in self.names_by_kind.items()]


def find_positive_class(name: str | None, y: np.ndarray, task: str) -> object | None:
    """Return the label of the positive class.

    Parameters
    ----------
    name : str or None
        The label as text; None selects the last of two classes.
    y : ndarray of shape (n,)
    task : {"classification", "regression"}

    Returns
    -------
    object or None
        None for regression, and for more than two classes if none is named.

    Raises
    ------
    UserError
        No class has that name.
    """
    if task != "classification":
        return None
    classes = np.unique(y)
    if name is None:
        return classes[-1] if len(classes) == 2 else None
    labels = {str(label): label for label in classes}
    if str(name) not in labels:
        raise UserError(f"dataset.positive={name!r} is not a class of the target. {did_you_mean(str(name), labels)}")
    return labels[str(name)]


def _find_kind(dtype: Any) -> str:
    """Return the kind of a feature with the given type."""
    if isinstance(dtype, pd.CategoricalDtype):
        return ORDERED if dtype.ordered else NOMINAL
    if is_datetime64_any_dtype(dtype):
        return DATE
    return TEXT if isinstance(dtype, pd.StringDtype) else NUMERIC


def _describe_feature(column: pd.Series[Any]) -> Column:
    kind = _find_kind(column.dtype)
    has_values = kind in (NOMINAL, ORDERED)
    values = tuple(map(str, column.cat.categories)) if has_values else ()
    n_missing = int(column.isna().sum())
    n_distinct = len(values) if has_values else column.nunique()
    return Column(str(column.name), kind, "", n_missing=n_missing, n_distinct=n_distinct, values=values)


def _encode_cells(column: pd.Series | np.ndarray) -> list[bytes]:
    """Return the bytes of a column; a nominal column is represented by its codes and values."""
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.CategoricalDtype):
        values = "\0".join(map(str, column.cat.categories))
        return [column.cat.codes.to_numpy().tobytes(), values.encode()]
    cells = np.ascontiguousarray(column)
    if cells.dtype.kind in BYTES_KINDS:
        return [cells.dtype.str.encode(), cells.tobytes()]
    return ["\0".join(map(str, column)).encode()]
