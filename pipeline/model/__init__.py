"""A model in use: the estimator, the record of its training, and its predictions for further rows.

Nothing here imports MLflow: `pyfunc` is what MLflow calls, and `tracking` finds and stores models.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bakeoff.pipeline.model.column_profile import ColumnProfile
    from bakeoff.pipeline.model.row_counts import RowCounts, count_rows
    from bakeoff.pipeline.model.served_model import Model
    from bakeoff.pipeline.model.training_record import TrainingRecord, make_training_record

MODULES: Mapping[str, str] = {
    "ColumnProfile": "column_profile",
    "Model": "served_model",
    "RowCounts": "row_counts",
    "TrainingRecord": "training_record",
    "count_rows": "row_counts",
    "make_training_record": "training_record",
}
"""Name -> the module that has it, which is imported when the name is asked for: most runs need few."""

__all__ = ["ColumnProfile", "Model", "RowCounts", "TrainingRecord", "count_rows", "make_training_record"]


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
