"""Pictures of explanations: positions agree with the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.pipeline.commands.explain.explain_model import Dependence, Point
from bakeoff.pipeline.commands.explain.pictures import draw_dependence

OUTPUTS = ["_no", "yes"]
AGES = Dependence(
    "age",
    (Point(1, "1", 1.0, 3), Point(2, "2", 2.0, 40), Point(5, "5", 5.0, 5), Point(None, "missing", None, 10)),
    np.arange(8.0).reshape(4, 2),
    "",
    np.array([1.0, 2.0, 2.0]),
)
SEXES = Dependence(
    "sex",
    (Point("m", "m", None, 30), Point("f", "f", None, 12345)),
    np.array([[0.5, 7.0], [1.0, 2.0]]),
    "",
    np.empty(0),
)


def test_numbers_are_joined_at_their_distances_and_missing_cells_stand_on_the_right() -> None:
    figure = draw_dependence(AGES, OUTPUTS, (0.0, 8.0))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == OUTPUTS
    (axes,) = figure.axes
    lines: list[Any] = [line for line in axes.lines if line.get_linestyle() == "-" and line.get_marker() != "o"]
    assert [line.get_xdata().tolist() for line in lines] == [[1, 2, 5]] * 2
    assert [line.get_ydata().tolist() for line in lines] == [[0, 2, 4], [1, 3, 5]]
    dots: list[Any] = [line for line in axes.lines if line.get_marker() == "o"]
    assert all(line.get_xdata()[0] > 5 for line in dots)
    assert [line.get_ydata().tolist() for line in dots] == [[6], [7]]
    *numbers, last = [label.get_text() for label in axes.get_xticklabels()]
    assert last == "missing"
    assert all(number.isdigit() for number in numbers)


def test_each_row_of_the_rug_is_a_line_at_the_bottom() -> None:
    (axes,) = draw_dependence(AGES, OUTPUTS, (0.0, 8.0)).axes
    rug: Any = axes.collections[0]
    ends = np.array(rug.get_segments())  # (rows, 2, 2)
    assert ends[:, :, 0].tolist() == [[1, 1], [2, 2], [2, 2]]
    assert ends[:, 0, 1].tolist() == [0, 0, 0]
    assert 0 < ends[:, 1, 1].max() < 1


def test_values_stand_one_below_the_other_with_their_numbers_of_rows() -> None:
    (axes,) = draw_dependence(SEXES, OUTPUTS, (0.0, 8.0)).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["m (30)", "f (12,345)"]
    lines: list[Any] = list(axes.lines)
    assert [line.get_xdata().tolist() for line in lines] == [[0.5, 1], [7, 2]]
    low, high = axes.get_ylim()
    assert low > high
    assert axes.get_xlim() == (0, 8)
