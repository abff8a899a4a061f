"""Models of earlier versions, which stored no record of their training: it is made from the run and the signature."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model import TrainingRecord
from bakeoff.pipeline.model.training_record import SCORE_PREFIXES, TRAINING_FILE
from bakeoff.pipeline.stages.dataset import Column
from bakeoff.pipeline.stages.dataset.column_record import (
    COLUMNS_FILE,
    GUESSED_TAG,
    KIND_OF_TYPE,
    parse_columns,
    select_features,
)
from bakeoff.pipeline.tracking.reading.stored_config import read_stored_config
from bakeoff.pipeline.tracking.store import Store


def rebuild_record(store: Store, run_id: str, folder: Path) -> TrainingRecord:
    """Return what the store knows of the training rows of a model.

    Parameters
    ----------
    store : Store
    run_id : str
        The run of the model.
    folder : Path
        Of the MLflow model, whose signature has the types of the features.
    """
    from mlflow.models import Model as MLflowModel

    signature = MLflowModel.load(str(folder)).signature
    if signature is None or signature.inputs is None:
        raise UserError(
            f"the model of run {run_id} has no {TRAINING_FILE} and no signature: the file was deleted, or another "
            "program stored the model."
        )
    types = {column.name: column.type.name for column in signature.inputs}
    run = store.client.get_run(run_id)
    columns = _read_columns(store, run_id)
    is_partial = len(select_features(columns, list(types))) < len(types)
    if is_partial:
        columns = tuple(Column(name, KIND_OF_TYPE[each], "") for name, each in types.items())
    scores = {name: value for name, value in run.data.metrics.items() if name.startswith(SCORE_PREFIXES)}
    return TrainingRecord(
        run_id=run_id,
        run_name=str(run.info.run_name),
        dataset=run.data.params.get("dataset", ""),
        dataset_digest=run.data.tags.get("dataset_digest", ""),
        dataset_config=_read_dataset_config(store, run_id, run.data.tags),
        task="regression" if signature.outputs.inputs[0].type.name == "double" else "classification",
        target="",
        classes=(),
        positive=None,
        columns=columns,
        features=tuple(types),
        scores=scores,
        versions=json.loads(run.data.tags.get("versions", "{}")),
        is_partial=is_partial,
    )


def _read_columns(store: Store, run_id: str) -> tuple[Column, ...]:
    """Return the columns that a run has stored; none if it is of an earlier version or its artifacts are gone."""
    from mlflow.exceptions import MlflowException

    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        try:
            file = Path(store.client.download_artifacts(run_id, COLUMNS_FILE, temporary))
            return parse_columns(file.read_text(encoding="utf-8"))
        except (MlflowException, OSError):
            return ()


def _read_dataset_config(store: Store, run_id: str, tags: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the configuration of a dataset, with the keys of its file that were guessed."""
    try:
        config = dict(read_stored_config(store, run_id)["dataset"])
    except (UserError, KeyError):
        return {}
    return config | json.loads(tags.get(GUESSED_TAG, "{}"))
