"""Values as MLflow's entities, cut to the lengths that it stores without a warning."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.pipeline.stages.dataset import Dataset

if TYPE_CHECKING:
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
