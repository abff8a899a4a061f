"""The predictions of single rows, read from the artifacts of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.tables.csv import read_csv
from bakeoff.pipeline.tracking.store import Store

if TYPE_CHECKING:
    import pandas as pd

PREDICTIONS_FILE = "predictions.csv"


def read_predictions(store: Store, run_id: str) -> pd.DataFrame | None:
    """Return the table of the predictions of a run; None if the file is not there any more.

    Returns
    -------
    DataFrame of shape (m, 4 + c) or None
        ``row``, ``fold``, ``truth``, ``predicted``, and ``probability_<class>`` if the learner has probabilities.
    """
    from mlflow.exceptions import MlflowException

    try:
        path = store.client.download_artifacts(run_id, PREDICTIONS_FILE)
        return read_csv(Path(path), ["truth", "predicted"])
    except (MlflowException, OSError, ValueError):
        return None
