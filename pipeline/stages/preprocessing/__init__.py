"""Preprocessing: ordered steps for the columns of each kind, fitted on training rows only.

The steps are scikit-learn's transformers, and a few of ours for what scikit-learn does not have. They are joined so
that tables go in and tables come out, and nominal columns remain nominal until a step encodes them.
"""

from bakeoff.pipeline.stages.preprocessing.as_nominal import AsNominal
from bakeoff.pipeline.stages.preprocessing.auto import AutoPreprocessing, ChosenPreprocessing, choose_preprocessing
from bakeoff.pipeline.stages.preprocessing.column_kinds import list_kinds
from bakeoff.pipeline.stages.preprocessing.date_parts import DateParts
from bakeoff.pipeline.stages.preprocessing.discretize import AsIntervals, EntropyDiscretizer
from bakeoff.pipeline.stages.preprocessing.join_steps import ColumnSteps, make_preprocessing, require_named_columns
from bakeoff.pipeline.stages.preprocessing.learner_input import LearnerInput, reads_nominal_columns
from bakeoff.pipeline.stages.preprocessing.order_codes import OrderCodes
from bakeoff.pipeline.stages.preprocessing.rare_values import GroupRareValues
from bakeoff.pipeline.stages.preprocessing.selection import make_selection
from bakeoff.pipeline.stages.preprocessing.text_columns import EncodeText

__all__ = [
    "AsIntervals",
    "AsNominal",
    "AutoPreprocessing",
    "ChosenPreprocessing",
    "ColumnSteps",
    "DateParts",
    "EncodeText",
    "EntropyDiscretizer",
    "GroupRareValues",
    "LearnerInput",
    "OrderCodes",
    "choose_preprocessing",
    "list_kinds",
    "make_preprocessing",
    "make_selection",
    "reads_nominal_columns",
    "require_named_columns",
]
