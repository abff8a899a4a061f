"""What the requests of several verbs have in common: a store, and a run in it.

A request is what a user asks of a verb. `bakeoff.pipeline.cli` fills it from words and `bakeoff.pipeline.python` from
keywords: the name of a field is that of the keyword, and with dots in place of two underscores that of the word. A
field with ``metadata={"word": NAME}`` is given without a key, and one with ``metadata={"key": KEY}`` under another one.
The sentences on fields are the help of the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_EXPERIMENT = "bakeoff"


@dataclass(frozen=True, kw_only=True)
class StoreRequest:
    """A request about a store.

    Attributes
    ----------
    tracking__uri : str or None
        The store: a SQLite file or a server; by default MLFLOW_TRACKING_URI, else outputs/mlflow.db.
    """

    tracking__uri: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExperimentRequest(StoreRequest):
    """A request about the runs of an experiment.

    Attributes
    ----------
    tracking__experiment : str
        The experiment of MLflow in which runs are looked for.
    """

    tracking__experiment: str = DEFAULT_EXPERIMENT


@dataclass(frozen=True, kw_only=True)
class RunRequest(ExperimentRequest):
    """A request about a stored run or its model.

    Attributes
    ----------
    run : str
        The id of a run or its first 8 characters, latest, best, or the name of a registered model, such as
        titanic@champion or titanic/3.
    dataset : str
        Restricts latest and best to the runs on a dataset.
    trust : tuple of str
        Packages of yours whose code may be called.
    """

    run: str = field(metadata={"word": "RUN"})
    dataset: str = ""
    trust: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RefitRequest(RunRequest):
    """A request about a run that is fitted again.

    Attributes
    ----------
    dataset__path : str or None
        Where the file of the dataset is now, if it was moved.
    """

    dataset__path: str | None = None


LAYOUT_KINDS: Mapping[str, Any] = {
    "separator": str | None,
    "header": bool | None,
    "names": tuple[str, ...],
    "strip": bool,
    "encoding": str | None,
    "decimal": str | None,
    "thousands": str | None,
    "quote": str | None,
    "comment": str | None,
    "skip_rows": int,
    "sheet": str | None,
    "na_values": tuple[str, ...],
}
"""Keys of a file -> their types. Ragged rows are refused, since each row needs its prediction."""


@dataclass(frozen=True, kw_only=True)
class RowsRequest(RunRequest):
    """A request about a model and the rows of a file, which is read as the file of its training rows was.

    Attributes
    ----------
    layout : mapping of str to object
        How the file differs from that of the training rows, as in conf/dataset/file.yaml.
    """

    layout: Mapping[str, Any] = field(default_factory=dict, metadata={"kinds": LAYOUT_KINDS})
