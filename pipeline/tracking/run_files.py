"""What a finished run stores as files: tables, figures and its configuration; and the folders of artifacts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bakeoff.pipeline.card import MAX_PICTURE_CLASSES, draw_confusion_matrix, report
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.tracking.addresses import local_path
from bakeoff.pipeline.tracking.interface import Figure, RunDescription
from bakeoff.pipeline.tracking.store import Store

PICTURE = "confusion_matrix.svg"


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
        Of the model; None if models are not kept.
    """

    description: RunDescription
    experiment: Experiment
    folds: Sequence[FoldResult]
    model: FittedModel
    figures: Sequence[Figure]
    training: TrainingRecord | None = None

    @cached_property
    def confusions(self) -> np.ndarray | None:
        """The confusion matrix over all folds; None without classes."""
        return report.sum_confusions(self.experiment, self.folds)

    @property
    def picture(self) -> str:
        """The name of the picture of the confusion matrix; empty if there is none."""
        confusions = self.confusions
        return PICTURE if confusions is not None and len(confusions) <= MAX_PICTURE_CLASSES else ""

    def write_artifacts(self, folder: Path) -> None:
        """Write all files but the model."""
        confusions = self.confusions
        report.write_tables(folder, self.experiment, self.folds, self.model, confusions)
        (folder / "config.yaml").write_text(self.description.config)
        if self.picture and confusions is not None:
            labels = [str(label) for label in self.experiment.dataset.classes]
            (folder / PICTURE).write_text(draw_confusion_matrix(confusions, labels))
        for figure in self.figures:
            figure.save(folder, self.experiment, self.folds, self.model)


@contextmanager
def artifact_folder(uri: str, upload: Callable[[str], None]) -> Iterator[Path]:
    """Yield a folder for artifacts: their final one if that is on this machine, else a temporary one to upload.

    Parameters
    ----------
    uri : str
        Where the artifacts are to be stored.
    upload : callable
        Sends the files of a temporary folder there.
    """
    path = local_path(uri)
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
        yield path
        return
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        yield Path(folder)
        upload(folder)


def fetch_folder(store: Store, uri: str, temporary: str) -> Path:
    """Return a folder with the artifacts at a URI: where they are, if that is this machine, else copies of them.

    Parameters
    ----------
    store : Store
    uri : str
        As MLflow records it for a run or a model.
    temporary : str
        Receives the copies.
    """
    path = local_path(uri)
    if path is not None:
        return path
    from mlflow.artifacts import download_artifacts

    receive = partial(download_artifacts, dst_path=temporary, tracking_uri=store.uri)
    return Path(store.calls.call(receive, uri, folder=temporary))
