"""The drawing of trees as an object with settings, which a configuration can name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from bakeoff.learners.decision_tree.base import TreeLearner
from bakeoff.learners.decision_tree.export import Drawing, draw


@final
@dataclass(frozen=True, kw_only=True)
class TreeDrawer:
    """Returns the positions and labels of fitted trees, all with the same settings.

    Parameters
    ----------
    feature_names : sequence of d str, optional
        By default the columns' names in training, else x1, x2, ….
    decimals : int
        The decimals of thresholds and means; small ones are written with three digits.
    """

    feature_names: Sequence[str] | None = None
    decimals: int = 2

    def __call__(self, estimator: TreeLearner) -> Drawing:
        """Return the drawing of a fitted tree."""
        return draw(estimator, feature_names=self.feature_names, decimals=self.decimals)
