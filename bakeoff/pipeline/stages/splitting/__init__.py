"""Splits: every way of evaluation generates (train, validation, test) rows, so that there is one loop.

scikit-learn's splitters choose the test rows; `Splitter` sets a validation part aside from the other rows.
"""

from bakeoff.pipeline.stages.splitting.chronological import TimeHoldout, TimeSeries
from bakeoff.pipeline.stages.splitting.splits import Split, SplitInput, Splits
from bakeoff.pipeline.stages.splitting.splitter import DEFAULT_MAX_FOLDS, Splitter
from bakeoff.pipeline.stages.splitting.splitters import (
    Bootstrap,
    FixedFolds,
    FixedSplit,
    GroupKFold,
    Holdout,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
)

__all__ = [
    "DEFAULT_MAX_FOLDS",
    "Bootstrap",
    "FixedFolds",
    "FixedSplit",
    "GroupKFold",
    "Holdout",
    "KFold",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "Split",
    "SplitInput",
    "Splits",
    "Splitter",
    "TimeHoldout",
    "TimeSeries",
]
