"""Splits: every way of evaluation generates (train, validation, test) rows, so that there is one loop.

scikit-learn's splitters choose the test rows; `Splitter` sets a validation part aside from the other rows.
"""

from bakeoff.pipeline.stages.splitting.splits import Split, SplitInput, Splits
from bakeoff.pipeline.stages.splitting.splitter import Splitter
from bakeoff.pipeline.stages.splitting.splitters import GroupKFold, Holdout, KFold, LeaveOneOut, TimeSeries

__all__ = ["GroupKFold", "Holdout", "KFold", "LeaveOneOut", "Split", "SplitInput", "Splits", "Splitter", "TimeSeries"]
