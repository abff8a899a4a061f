"""Pictures of explanations: positions agree with the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bakeoff.pipeline.figures.importances import Curve, draw_dependences, draw_importances

AGES = Curve("age", ["1", "2", "5", "missing"], [1.0, 2.0, 5.0, None], [3, 40, 5, 10], np.arange(8.0).reshape(4, 2))
SEXES = Curve("sex", ["m", "f"], [None, None], [30, 28], np.array([[0.5, 7.0], [1.0, 2.0]]))


def test_numbers_are_joined_at_their_distances_and_other_values_stand_alone() -> None:
    figure = draw_dependences([AGES, SEXES], ["_no", "yes"])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["_no", "yes"]
    ages, sexes = figure.axes
    lines: list[Any] = [line for line in ages.lines if line.get_linestyle() == "-"]
    assert [line.get_xdata().tolist() for line in lines] == [[1, 2, 5]] * 2
    assert [line.get_ydata().tolist() for line in lines] == [[0, 2, 4], [1, 3, 5]]
    dots: list[Any] = [line for line in ages.lines if line.get_marker() == "o"]
    assert all(line.get_xdata()[0] > 5 for line in dots)
    assert [line.get_ydata().tolist() for line in dots] == [[6], [7]]
    assert [label.get_text() for label in ages.get_xticklabels()] == ["1", "5", "missing"]
    assert [label.get_text() for label in sexes.get_xticklabels()] == ["m", "f"]


def test_the_bars_below_a_curve_are_as_high_as_their_rows_and_under_all_points() -> None:
    axes = draw_dependences([AGES, SEXES], ["no", "yes"]).axes[0]
    bars: list[Any] = list(axes.patches)
    heights = np.array([bar.get_height() for bar in bars])
    assert heights / heights.max() == pytest.approx(np.array(AGES.counts) / 40)
    assert max(bar.get_y() + bar.get_height() for bar in bars) < 0


def test_importances_have_bars_with_whiskers_the_first_on_top() -> None:
    (axes,) = draw_importances(["a", "b, c"], np.array([0.25, -0.5]), np.array([0.125, 0.0]), "fall").axes
    bars: list[Any] = list(axes.patches)
    assert [bar.get_width() for bar in bars] == [0.25, -0.5]
    whiskers: Any = axes.collections[0]
    assert whiskers.get_segments()[0][:, 0].tolist() == [0.125, 0.375]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b, c"]
    low, high = axes.get_ylim()
    assert low > high
