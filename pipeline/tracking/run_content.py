"""The content of a run: metrics, params, tags, the dataset, and the files with tables, figures and the configuration.

Values are written as MLflow entities, in as few calls as possible, and truncated to the lengths that MLflow stores
without a warning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.pipeline.card import report
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.text.wording import show_in_line
from bakeoff.pipeline.tracking import Figure, RunDescription
from bakeoff.pipeline.tracking.limited_calls import MAX_TRANSFER_SECONDS
from bakeoff.pipeline.tracking.sqlite_file import find_artifacts
from bakeoff.pipeline.tracking.store import MAX_TAG_LETTERS, Store

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput


MAX_PARAM_LETTERS = 6000
MAX_METRICS_PER_BATCH = 890
"""MLflow takes 1,000 values in a batch, of which 100 may be params and some are tags."""
MetricValue = tuple[str, float, int, int]
"""The name of a metric, its value, the time in milliseconds since 1970, and its step."""


@dataclass(frozen=True)
class RunResults:
    """The results of a finished run.

    Attributes
    ----------
    description : RunDescription
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
        The run's model.
    figures : sequence of Figure
    training : TrainingRecord or None
        The training record of the model; None if models are not kept.
    """

    description: RunDescription
    experiment: Experiment
    folds: Sequence[FoldResult]
    model: FittedModel
    figures: Sequence[Figure]
    training: TrainingRecord | None = None

    def write_artifacts(self, folder: Path) -> None:
        """Write all files but the model."""
        report.write_tables(folder, self.experiment, self.folds, self.model)
        (folder / "config.yaml").write_text(self.description.config)
        for figure in self.figures:
            figure.save(folder, self.experiment, self.folds, self.model)


@contextmanager
def artifact_folder(store: Store, address: str, upload: Callable[[str, str], None], owner_id: str) -> Iterator[Path]:
    """Yield a folder for artifacts: their final folder if it is local, otherwise a temporary folder to upload.

    Parameters
    ----------
    store : Store
    address : str
        Where the artifacts are to be stored.
    upload : callable
        The method of MLflow's client that sends the files of a folder there.
    owner_id : str
        The id of the run or model to which they belong.

    Raises
    ------
    UserError
        They would not be in the folder of the store.
    """
    path = find_artifacts(store.uri, address)
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
        _require_no_links(path)
        yield path
        return
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        yield Path(folder)
        upload(owner_id, folder)


def fetch_folder(store: Store, address: str, temporary: str) -> Path:
    """Return a local folder with the artifacts at a URI: the original folder if it is local, otherwise a copy.

    Parameters
    ----------
    store : Store
    address : str
        The address that MLflow records for a run or a model.
    temporary : str
        The folder for the copies.

    Raises
    ------
    UserError
        They are not in the folder of the store.
    """
    path = find_artifacts(store.uri, address)
    if path is not None:
        _require_no_links(path)
        return path
    from mlflow.artifacts import download_artifacts

    receive = partial(download_artifacts, dst_path=temporary, tracking_uri=store.uri)
    return Path(store.calls.call(receive, address, seconds=MAX_TRANSFER_SECONDS))


def read_artifact(store: Store, address: str) -> str:
    """Return the text of an artifact at a URI; empty if it cannot be read."""
    from mlflow.exceptions import MlflowException

    # MLflow would copy a local folder in a thread, but workers are copied from a process without threads.
    with TemporaryDirectory(prefix="bakeoff-") as temporary, suppress(MlflowException, OSError, ValueError):
        return fetch_folder(store, address, temporary).read_text()
    return ""


def _require_no_links(folder: Path) -> None:
    """Reject a folder with links, which bakeoff does not write: they may lead anywhere."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            raise UserError(f"{show_in_line(str(path))} is a link, which bakeoff does not write; delete it.")


@dataclass
class RunValues:
    """Values of a run that are to be written.

    Attributes
    ----------
    metrics : list of (str, float, int, int)
    params, tags : dict of str to str
    """

    metrics: list[MetricValue] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)


def log_metrics(client: MlflowClient, run_id: str, values: RunValues) -> None:
    """Write metrics of a run, with params and tags; existing values do not change."""
    from mlflow.entities import Metric, Param, RunTag

    metrics = [Metric(*value) for value in values.metrics]
    params = [Param(key, value[:MAX_PARAM_LETTERS]) for key, value in values.params.items()]
    tags = [RunTag(key, value) for key, value in cut_tags(values.tags).items()]
    # Params and tags are part of the first batch; without metrics, they form a batch of their own.
    for start in range(0, max(len(metrics), 1), MAX_METRICS_PER_BATCH):
        batch = metrics[start : start + MAX_METRICS_PER_BATCH]
        if batch or params or tags:
            client.log_batch(run_id, metrics=batch, params=params, tags=tags)
        params = []
        tags = []


def cut_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return tags with values truncated to the length that MLflow stores."""
    return {key: value[:MAX_TAG_LETTERS] for key, value in tags.items()}


def list_metrics(series: Mapping[str, Sequence[float]], milliseconds: int, first_step: int = 0) -> list[MetricValue]:
    """Return values as metrics, with their positions as steps.

    Infinite values are left out, because MLflow would store them as 1.8e308.

    Parameters
    ----------
    series : mapping of str to sequence of float
        Name -> values.
    milliseconds : int
        The time. If two values have the same step, MLflow shows the later one.
    first_step : int
    """
    return [
        (name, float(value), milliseconds, step)
        for name, values in series.items()
        for step, value in enumerate(values, first_step)
        if not np.isinf(value)
    ]


def to_dataset_input(dataset: Dataset, source: str) -> DatasetInput:
    """Return a dataset as the input of a run, including its source."""
    from mlflow.entities import Dataset as MLflowDataset
    from mlflow.entities import DatasetInput, InputTag

    profile = {"num_rows": dataset.X.shape[0], "num_elements": int(dataset.X.size)}
    entity = MLflowDataset(
        name=dataset.name,
        digest=dataset.digest(),
        source_type="local",
        source=json.dumps({"uri": source}),
        profile=json.dumps(profile),
    )
    return DatasetInput(entity, [InputTag("mlflow.data.context", "evaluation")])
