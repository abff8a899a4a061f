"""Metrics, params and tags of a run, written in as few calls as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bakeoff.pipeline.tracking.entities import to_tags

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

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
