"""What a finished run stores as files: tables, figures, its configuration and its model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from bakeoff.pipeline.card import MAX_PICTURE_CLASSES, draw_confusion_matrix, report
from bakeoff.pipeline.errors import StoreError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.model import TrainingRecord
from bakeoff.pipeline.tracking.interface import Figure, RunDescription
from bakeoff.pipeline.tracking.kept_results import ARTIFACTS, MODEL
from bakeoff.pipeline.tracking.models import save_model

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

    def write_files(self, folder: Path) -> None:
        """Write all files into folders of a folder, as `bakeoff.pipeline.tracking.kept_results` reads them."""
        from mlflow.models import Model as MLflowModel

        artifacts = folder / ARTIFACTS
        artifacts.mkdir()
        self.write_artifacts(artifacts)
        if self.training is not None:
            target = folder / MODEL
            target.mkdir()
            record = MLflowModel(artifact_path=MODEL, run_id=self.training.run_id)
            save_model(self.model.predictor, target, record, self.training, self.description.trust)


@contextmanager
def naming_disk_faults(what: str) -> Iterator[None]:
    """Raise StoreError if files cannot be written in the block, for example because the disk is full.

    Parameters
    ----------
    what : str
        The files, at the beginning of the sentence.
    """
    try:
        yield
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        raise StoreError(f"{what} cannot be written: {error.strerror or error}{place}.") from error
