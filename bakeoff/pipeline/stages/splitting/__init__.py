"""Splits: every way of evaluation generates (train, validation, test) rows, so that there is one loop.

scikit-learn's splitters choose the test rows; `Splitter` sets a validation part aside from the other rows.
"""

from bakeoff.pipeline.stages.splitting.splitter import DEFAULT_MAX_FOLDS, Split, SplitInput, Splits, Splitter
from bakeoff.pipeline.stages.splitting.splitters import (
    Bootstrap,
    FixedFolds,
    FixedSplit,
    GroupKFold,
    GroupTimeHoldout,
    GroupTimeSeries,
    Holdout,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    TimeHoldout,
    TimeSeries,
)

__all__ = [
    "DEFAULT_MAX_FOLDS",
    "Bootstrap",
    "FixedFolds",
    "FixedSplit",
    "GroupKFold",
    "GroupTimeHoldout",
    "GroupTimeSeries",
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
