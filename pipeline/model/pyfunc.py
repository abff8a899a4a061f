"""The loader of MLflow's generic Python function, which needs the folder of a model and no store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import pandas as pd
import yaml

from bakeoff.pipeline.model.estimator_file import read_estimator
from bakeoff.pipeline.model.training_record import TRAINING_FILE, parse_record

if TYPE_CHECKING:
    from bakeoff.pipeline.model.served_model import Model

LOADER_MODULE = "bakeoff.pipeline.model.pyfunc"
MLMODEL_FILE = "MLmodel"


@final
@dataclass(frozen=True)
class PythonFunction:
    """What `mlflow.pyfunc.load_model` wraps.

    Attributes
    ----------
    model : Model
    """

    model: Model

    def predict(self, data: Any) -> pd.DataFrame:
        """Return the predictions for rows, as `Model.predict` does.

        Parameters
        ----------
        data : DataFrame, mapping of columns, list of records, or ndarray of shape (m, d)
            An array has the features in their order.
        """
        return self.model.predict(_make_frame(data, self.model.record.features))

    def get_raw_model(self) -> Model:
        """Return the model, for MLflow's ``unwrap_python_model`` and the like."""
        return self.model


def _load_pyfunc(path: str) -> PythonFunction:
    """Load the model in a folder; MLflow calls this by its name."""
    from bakeoff.pipeline.model.served_model import Model  # a run names this module and loads no model

    folder = Path(path)
    flavors = yaml.safe_load((folder / MLMODEL_FILE).read_text(encoding="utf-8"))["flavors"]
    types = flavors["sklearn"].get("skops_trusted_types") or []
    record = parse_record((folder / TRAINING_FILE).read_text(encoding="utf-8"))
    return PythonFunction(Model(read_estimator(folder, types), record))


def _make_frame(data: Any, features: Sequence[str]) -> pd.DataFrame:
    frame = pd.DataFrame(data)
    return frame.set_axis(list(features), axis=1) if isinstance(frame.columns, pd.RangeIndex) else frame
