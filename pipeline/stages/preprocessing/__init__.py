"""Preprocessing: ordered steps for the columns of each kind, fitted on training rows only.

The steps are scikit-learn's transformers, and a few of ours for what scikit-learn does not have. They are joined so
that tables go in and tables come out, and nominal columns remain nominal until a step encodes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.stages.preprocessing.choice import ChosenPreprocessing, choose_preprocessing, is_open
from bakeoff.pipeline.stages.preprocessing.column_kinds import list_kinds

if TYPE_CHECKING:
    from bakeoff.pipeline.stages.preprocessing.as_nominal import AsNominal
    from bakeoff.pipeline.stages.preprocessing.auto import AutoPreprocessing
    from bakeoff.pipeline.stages.preprocessing.date_parts import DateParts
    from bakeoff.pipeline.stages.preprocessing.discretize import AsIntervals, EntropyDiscretizer
    from bakeoff.pipeline.stages.preprocessing.join_steps import ColumnSteps, make_preprocessing, require_named_columns
    from bakeoff.pipeline.stages.preprocessing.learner_input import LearnerInput, reads_nominal_columns
    from bakeoff.pipeline.stages.preprocessing.order_codes import OrderCodes
    from bakeoff.pipeline.stages.preprocessing.rare_values import GroupRareValues
    from bakeoff.pipeline.stages.preprocessing.selection import make_selection
    from bakeoff.pipeline.stages.preprocessing.text_columns import EncodeText

MODULES: Mapping[str, str] = {
    "AsIntervals": "discretize",
    "AsNominal": "as_nominal",
    "AutoPreprocessing": "auto",
    "ColumnSteps": "join_steps",
    "DateParts": "date_parts",
    "EncodeText": "text_columns",
    "EntropyDiscretizer": "discretize",
    "GroupRareValues": "rare_values",
    "LearnerInput": "learner_input",
    "OrderCodes": "order_codes",
    "make_preprocessing": "join_steps",
    "make_selection": "selection",
    "reads_nominal_columns": "learner_input",
    "require_named_columns": "join_steps",
}
"""Name -> the module that has it, which is imported when the name is asked for: most runs need few."""

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
    "is_open",
    "list_kinds",
    "make_preprocessing",
    "make_selection",
    "reads_nominal_columns",
    "require_named_columns",
]


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
