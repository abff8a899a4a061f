"""What is known of the rows that a model was fitted on: stored beside the model, so that it needs no store."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.experiment import Experiment, FittedModel
from bakeoff.pipeline.model.column_profile import ColumnProfile, profile_column
from bakeoff.pipeline.stages.dataset import Column, Dataset
from bakeoff.pipeline.stages.dataset.table import (
    make_column,
    select_features,
)
from bakeoff.pipeline.stages.preprocessing import list_kinds


@dataclass(frozen=True)
class RowCounts:
    """The distinct rows of a dataset, by their use for a model.

    Attributes
    ----------
    n_rows : int
        Of the dataset; 0 if it is not known.
    n_train, n_validation, n_test : int
        The rows that the model was fitted on, chosen by, and tested on.
    """

    n_rows: int
    n_train: int
    n_validation: int
    n_test: int

    def describe(self) -> str:
        """Return the counts as words.

        Examples
        --------
        >>> RowCounts(1309, 785, 262, 262).describe()
        'fitted on 785 of 1,309 rows (262 for validation, 262 for the test)'
        >>> RowCounts(1309, 1309, 0, 0).describe()
        'fitted on all 1,309 rows'
        """
        if not self.n_rows:
            return "fitted on rows that its run did not count"
        if self.n_train == self.n_rows:
            return f"fitted on all {self.n_rows:,} rows"
        parts = {"for validation": self.n_validation, "for the test": self.n_test}
        others = ", ".join(f"{count:,} {use}" for use, count in parts.items() if count)
        fitted = f"fitted on {self.n_train:,} of {self.n_rows:,} rows"
        return f"{fitted} ({others})" if others else fitted


def count_rows(experiment: Experiment, model: FittedModel) -> RowCounts:
    """Return the counts of a model that was just fitted; a row that a bootstrap drew several times counts once."""
    split = model.split
    return RowCounts(
        n_rows=len(experiment.dataset.y),
        n_train=len(np.unique(split.train)),
        n_validation=len(np.unique(split.validation)),
        n_test=len(np.unique(split.test)),
    )


TRAINING_FILE = "training.json"
"""The file of the record, in the folder of the model."""
RECORD_FORMAT = 1
"""Grows when a reader of this version would misread a record, and not when fields are added."""
SCORE_PREFIXES = ("test_", "validation_", "train_")
TUPLE_FIELDS = ("classes", "features", "trust")


class UnreadableRecord(Exception):
    """A record cannot be read by this version; the message contains the reason."""


@dataclass(frozen=True)
class TrainingRecord:
    """The rows that a model was fitted on, and how the run that it belongs to was scored.

    Attributes
    ----------
    run_id, run_name : str
        The run that chose the model; empty if none was stored.
    dataset, dataset_digest : str
    dataset_config : mapping
        How the rows were read: the configuration of the dataset, with the keys of its file that were guessed.
    task : {"classification", "regression"}
    target : str
    classes : tuple of str
        As text, sorted as the labels are; empty for regression.
    positive : str or None
    columns : tuple of Column
        All columns of the source; the features alone if their kinds were not inferred.
    features : tuple of str
        The columns that the model requires, in order.
    profiles : mapping of str to ColumnProfile
        Feature -> the cells of the training rows.
    n_rows : int
        Of the dataset; 0 if it is not known.
    n_train, n_validation, n_test : int
        The distinct rows that this model was fitted on, chosen by, and tested on.
    n_folds : int
        Over which the scores are means.
    scores : mapping of str to float
        Of the evaluation of the run, the headline first: ``test_accuracy``, ``test_accuracy_std`` …
    trust : tuple of str
        Packages besides bakeoff and scikit-learn whose code the model needs.
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
    classes: tuple[str, ...]
    positive: str | None
    columns: tuple[Column, ...]
    features: tuple[str, ...]
    profiles: Mapping[str, ColumnProfile] = field(default_factory=dict)
    n_rows: int = 0
    n_train: int = 0
    n_validation: int = 0
    n_test: int = 0
    n_folds: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    trust: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def feature_columns(self) -> tuple[Column, ...]:
        """The columns that the model requires, in order."""
        return tuple(select_features(self.columns, self.features))

    @property
    def headline(self) -> str:
        """The name of the first score, such as ``test_accuracy``; empty if there is none."""
        return next(iter(self.scores), "")

    @property
    def is_fitted_on_all_rows(self) -> bool:
        """Whether every row of the dataset is a training row of the model."""
        return self.n_train == self.n_rows > 0

    def describe_rows(self) -> str:
        """Return the number of rows on which the model was fitted, and the use of the others.

        Examples
        --------
        >>> from dataclasses import replace
        >>> record = TrainingRecord("", "", "titanic", "", {}, "classification", "survived", (), None, (), ())
        >>> replace(record, n_rows=1309, n_train=785, n_validation=262, n_test=262).describe_rows()
        'fitted on 785 of 1,309 rows (262 for validation, 262 for the test)'
        >>> replace(record, n_rows=1309, n_train=1309).describe_rows()
        'fitted on all 1,309 rows'
        """
        return RowCounts(self.n_rows, self.n_train, self.n_validation, self.n_test).describe()


def make_training_record(
    experiment: Experiment,
    model: FittedModel,
    *,
    run_id: str = "",
    run_name: str = "",
    dataset_config: Mapping[str, Any] | None = None,
    scores: Mapping[str, float] | None = None,
    n_folds: int = 0,
    trust: Sequence[str] = (),
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
        The means of the run; those that are no scores, such as times, are left out.
    n_folds : int
    trust : sequence of str
    versions : mapping of str to str, optional
    """
    dataset = experiment.dataset
    train = np.unique(model.split.train)
    counts = count_rows(experiment, model)
    kept = {name: value for name, value in (scores or {}).items() if name.startswith(SCORE_PREFIXES)}
    return TrainingRecord(
        run_id=run_id,
        run_name=run_name,
        dataset=dataset.name,
        dataset_digest=dataset.digest(),
        dataset_config={**(dataset_config or {}), **dataset.guessed},
        task=dataset.task,
        target=dataset.target,
        classes=tuple(str(label) for label in dataset.classes) if dataset.is_classification else (),
        positive=None if dataset.positive is None else str(dataset.positive),
        columns=dataset.described_columns,
        features=tuple(str(name) for name in dataset.X.columns),
        profiles=profile_columns(dataset, train),
        n_rows=counts.n_rows,
        n_train=counts.n_train,
        n_validation=counts.n_validation,
        n_test=counts.n_test,
        n_folds=n_folds,
        scores=kept,
        trust=tuple(trust),
        versions=dict(versions or {}),
    )


def profile_columns(dataset: Dataset, rows: np.ndarray) -> dict[str, ColumnProfile]:
    """Return the profile of each feature over some rows.

    Parameters
    ----------
    dataset : Dataset
    rows : ndarray of int
        Distinct numbers of rows.
    """
    # Copying a whole table would be slower than computing the profiles.
    X: pd.DataFrame = dataset.X if len(rows) == len(dataset.X) else dataset.X.iloc[rows]
    kinds = list_kinds(X)
    return {str(name): profile_column(column, kinds[str(name)]) for name, column in X.items()}


def format_record(record: TrainingRecord) -> str:
    """Return a record as JSON."""
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    values["columns"] = [vars(column) for column in record.columns]
    values["profiles"] = {name: _format_profile(profile) for name, profile in record.profiles.items()}
    # JSON has no NaN; a score that is not defined is null.
    values["scores"] = {name: None if math.isnan(value) else value for name, value in record.scores.items()}
    return json.dumps({"format": RECORD_FORMAT, **values}, ensure_ascii=False, default=str)


def parse_record(text: str) -> TrainingRecord:
    """Return the record in a JSON text; fields written by another version are ignored.

    Parameters
    ----------
    text : str

    Raises
    ------
    UnreadableRecord
        It is no record, or one of a later version that has to be read in another way.
    """
    try:
        values = json.loads(text)
        written_format = int(values["format"])
    except (ValueError, TypeError, KeyError):
        raise UnreadableRecord(f"{TRAINING_FILE} of the model is damaged") from None
    if written_format > RECORD_FORMAT:
        raise UnreadableRecord(
            f"{TRAINING_FILE} of the model has format {written_format}, which a later version of bakeoff "
            f"({values.get('versions', {}).get('bakeoff', 'unknown')}) wrote; this version reads format {RECORD_FORMAT}"
        )
    try:
        return _make_record(values)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UnreadableRecord(f"{TRAINING_FILE} of the model is damaged ({type(error).__name__}: {error})") from None


def _make_record(values: Mapping[str, Any]) -> TrainingRecord:
    known = {each.name for each in fields(TrainingRecord)}
    kept = {name: value for name, value in values.items() if name in known}
    for name in TUPLE_FIELDS:
        kept[name] = tuple(kept[name])
    kept["columns"] = tuple(make_column(column) for column in kept["columns"])
    kept["profiles"] = {name: _parse_profile(profile) for name, profile in kept["profiles"].items()}
    kept["scores"] = {name: math.nan if value is None else float(value) for name, value in kept["scores"].items()}
    return TrainingRecord(**kept)


def _format_profile(profile: ColumnProfile) -> dict[str, Any]:
    """Return the fields of a profile that its kind has."""
    return {name: value for name, value in vars(profile).items() if value not in (None, (), {})}


def _parse_profile(values: Mapping[str, Any]) -> ColumnProfile:
    known = {each.name for each in fields(ColumnProfile)}
    kept = {name: value for name, value in values.items() if name in known}
    for name in ("edges", "counts"):
        kept[name] = tuple(kept.get(name, ()))
    return ColumnProfile(**kept)
