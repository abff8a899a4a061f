"""A model in use: the estimator, the record of its training, and its predictions for further rows.

Nothing here imports MLflow: `pyfunc` is what MLflow calls, and `tracking` finds and stores models.
"""

from bakeoff.pipeline.model.column_profile import ColumnProfile
from bakeoff.pipeline.model.row_counts import RowCounts, count_rows
from bakeoff.pipeline.model.served_model import Model
from bakeoff.pipeline.model.training_record import TrainingRecord, make_training_record

__all__ = ["ColumnProfile", "Model", "RowCounts", "TrainingRecord", "count_rows", "make_training_record"]
