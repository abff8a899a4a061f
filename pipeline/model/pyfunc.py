"""The loader of MLflow's generic Python function, which needs the folder of a model and no store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import pandas as pd

from bakeoff.pipeline.config.nodes import load_bounded_yaml
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model.allowed_types import find_untrusted
from bakeoff.pipeline.model.estimator_file import read_estimator
from bakeoff.pipeline.model.training_record import TRAINING_FILE, parse_record

if TYPE_CHECKING:
    from bakeoff.pipeline.model.served_model import Model

LOADER_MODULE = "bakeoff.pipeline.model.pyfunc"
MLMODEL_FILE = "MLmodel"
PERMISSION = "MLFLOW_ALLOW_PICKLE_DESERIALIZATION"
"""The variable by which users of MLflow forbid models to run custom code."""


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
    flavors = load_bounded_yaml((folder / MLMODEL_FILE).read_text(encoding="utf-8"), MLMODEL_FILE)["flavors"]
    types = flavors["sklearn"].get("skops_trusted_types") or []
    _require_permission(types)
    record = parse_record((folder / TRAINING_FILE).read_text(encoding="utf-8"))
    return PythonFunction(Model(read_estimator(folder, types), record))


def _require_permission(types: Sequence[str]) -> None:
    """Reject types that were not reviewed, where the user of MLflow has forbidden models to run code of their own."""
    untrusted = find_untrusted(types, ())
    is_forbidden = os.environ.get(PERMISSION, "true").strip().lower() in ("false", "0")
    if untrusted and is_forbidden:
        raise UserError(
            f"{PERMISSION}=false, and the model needs code that runs when it is loaded: {', '.join(untrusted)}. Load "
            "it with bakeoff and trust=[PACKAGE], or set the variable to true."
        )


def _make_frame(data: Any, features: tuple[str, ...]) -> pd.DataFrame:
    if isinstance(data, pd.DataFrame):
        return data
    frame = pd.DataFrame(data)
    has_names = not isinstance(frame.columns, pd.RangeIndex)
    if has_names:
        return frame
    if frame.shape[1] != len(features):
        raise UserError(f"the rows have {frame.shape[1]} columns without names; the model needs {len(features)}.")
    return frame.set_axis(list(features), axis=1)
