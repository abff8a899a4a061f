"""Where metrics, params and tags of a run are written: as MLflow's entities, in as few calls as possible."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.pipeline.stages.dataset import Dataset

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Metric, Param, RunTag

MAX_TAG_LETTERS = 8000
MAX_PARAM_LETTERS = 6000


def to_dataset_input(dataset: Dataset, source: str) -> DatasetInput:
    """Return a dataset as the input of a run; the source is shown."""
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


def to_metrics(series: Mapping[str, Sequence[float]], milliseconds: int, first_step: int = 0) -> list[Metric]:
    """Return values as metrics, with their positions as steps.

    Infinite values are left out, because MLflow would store them as 1.8e308.

    Parameters
    ----------
    series : mapping of str to sequence of float
        Name -> values.
    milliseconds : int
        The time. Of two values with one step, MLflow shows the later one.
    first_step : int
    """
    from mlflow.entities import Metric

    return [
        Metric(name, float(value), milliseconds, step)
        for name, values in series.items()
        for step, value in enumerate(values, first_step)
        if not np.isinf(value)
    ]


def to_params(params: Mapping[str, str]) -> list[Param]:
    """Return values as params."""
    from mlflow.entities import Param

    return [Param(key, value[:MAX_PARAM_LETTERS]) for key, value in params.items()]


def to_tags(tags: Mapping[str, str]) -> list[RunTag]:
    """Return values as tags."""
    from mlflow.entities import RunTag

    return [RunTag(key, value[:MAX_TAG_LETTERS]) for key, value in tags.items()]


MAX_METRICS_PER_BATCH = 890
"""MLflow takes 1,000 values in a batch, of which 100 may be params and some are tags."""


def write_batches(
    client: MlflowClient, run_id: str, metrics: Sequence[Metric], params: Sequence[Param], tags: Mapping[str, str]
) -> None:
    """Write values of a run; those that it has already stay as they are.

    Parameters
    ----------
    client : MlflowClient
    run_id : str
    metrics : sequence of Metric
    params : sequence of Param
    tags : mapping of str to str
    """
    run_tags = to_tags(tags)
    # Params and tags go with the first batch; without any metrics there is a batch of them alone.
    for start in range(0, max(len(metrics), 1), MAX_METRICS_PER_BATCH):
        batch = metrics[start : start + MAX_METRICS_PER_BATCH]
        if batch or params or run_tags:
            client.log_batch(run_id, metrics=batch, params=params, tags=run_tags)
        params = []
        run_tags = []
