"""The picture of importances: bars agree with the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.pipeline.figures.importances import draw_importances


def test_importances_have_bars_with_whiskers_the_first_on_top() -> None:
    (axes,) = draw_importances(["a", "b, c"], np.array([0.25, -0.5]), np.array([0.125, 0.0]), "fall").axes
    bars: list[Any] = list(axes.patches)
    assert [bar.get_width() for bar in bars] == [0.25, -0.5]
    whiskers: Any = axes.collections[0]
    assert whiskers.get_segments()[0][:, 0].tolist() == [0.125, 0.375]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b, c"]
    low, high = axes.get_ylim()
    assert low > high
