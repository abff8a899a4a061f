"""Preprocessing: ordered steps for the columns of each kind, fitted on training rows only.

The steps are scikit-learn's transformers, and a few of bakeoff's own where scikit-learn has none. They are joined so
that both input and output are tables, and nominal columns remain nominal until a step encodes them.
"""

from bakeoff.pipeline.stages.preprocessing.auto import (
    AutoPreprocessing,
    get_max_nominal_values,
    reads_nominal_columns,
    warn_of_small_branches,
)
from bakeoff.pipeline.stages.preprocessing.discretize import AsIntervals, EntropyDiscretizer
from bakeoff.pipeline.stages.preprocessing.transformers import (
    AsNominal,
    DateParts,
    EncodeText,
    GroupRareValues,
    OrderCodes,
    choose_preprocessing,
    is_open,
    list_kinds,
    make_preprocessing,
    make_selection,
    require_named_columns,
)

__all__ = [
    "AsIntervals",
    "AsNominal",
    "AutoPreprocessing",
    "DateParts",
    "EncodeText",
    "EntropyDiscretizer",
    "GroupRareValues",
    "OrderCodes",
    "choose_preprocessing",
    "get_max_nominal_values",
    "is_open",
    "list_kinds",
    "make_preprocessing",
    "make_selection",
    "reads_nominal_columns",
    "require_named_columns",
    "warn_of_small_branches",
]
