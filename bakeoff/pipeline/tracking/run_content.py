"""The content of a run: metrics, params, tags, the dataset, and the files with tables, figures and the configuration.

`store_writer` writes the values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.text.wording import show_in_line
from bakeoff.pipeline.tracking import Figure, RunDescription
from bakeoff.pipeline.tracking import card as report
from bakeoff.pipeline.tracking.limited_calls import MAX_TRANSFER_SECONDS
from bakeoff.pipeline.tracking.mlflow_tables import list_store_errors
from bakeoff.pipeline.tracking.sqlite_file import find_artifacts
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.store_writer import DatasetInput, MetricValue


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
def artifact_folder(store: Store, address: str, send: Callable[[str], None]) -> Iterator[Path]:
    """Yield a folder for artifacts: their final folder if it is local, otherwise a temporary folder to upload.

    Parameters
    ----------
    store : Store
    address : str
        Where the artifacts are to be stored.
    send : callable
        Sends the files of a folder there.

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
        send(folder)


def run_folder(store: Store, address: str, run_id: str) -> AbstractContextManager[Path]:
    """Return the folder for the artifacts of a run, as `artifact_folder` does."""
    return artifact_folder(store, address, lambda folder: store.client.log_artifacts(run_id, folder))


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
    # MLflow would copy a local folder in a thread, but workers are copied from a process without threads.
    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        try:
            return fetch_folder(store, address, temporary).read_text()
        except list_store_errors(OSError, ValueError):
            return ""


def _require_no_links(folder: Path) -> None:
    """Reject a folder with links, which bakeoff does not write: they may lead anywhere."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            raise UserError(f"{show_in_line(str(path))} is a link, which bakeoff does not write; delete it.")


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


def describe_dataset(dataset: Dataset, source: str) -> DatasetInput:
    """Return a dataset as the input of a run, including its source."""
    profile = {"num_rows": dataset.X.shape[0], "num_elements": int(dataset.X.size)}
    return DatasetInput(
        name=dataset.name,
        digest=dataset.digest(),
        source_type="local",
        source=json.dumps({"uri": source}),
        profile=json.dumps(profile),
    )
