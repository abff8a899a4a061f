"""Points of a space are drawn and looked up by arithmetic, as if all of them were listed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import ParameterGrid

from bakeoff.pipeline.stages.tuning import GridTuning
from bakeoff.pipeline.stages.tuning.candidates import draw_positions, find_point

VALUES = st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True)
GRIDS = st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), min_size=1, max_size=3)


def list_positions(grids: list[dict[str, Any]], largest: dict[str, int], n: int | None, seed: int) -> list[int]:
    """Return the same as `draw_positions`, by listing all points."""
    points = list(ParameterGrid(grids))
    possible = [
        i for i, point in enumerate(points) if all(point.get(name, 0) <= most for name, most in largest.items())
    ]
    if n is None or n >= len(possible):
        return possible
    drawn = np.random.default_rng(seed).choice(len(possible), size=n, replace=False)
    return [possible[index] for index in np.sort(drawn)]


@examples(60)
@given(GRIDS, st.dictionaries(st.sampled_from("abc"), st.integers(0, 5)), st.none() | st.integers(1, 9))
def test_points_are_drawn_as_from_a_list(grids: Any, largest: dict[str, int], n: int | None) -> None:
    positions = draw_positions(grids, largest, n, seed=7)
    assert positions == list_positions(grids, largest, n, seed=7)
    points = list(ParameterGrid(grids))
    assert [find_point(grids, position) for position in positions] == [points[position] for position in positions]


def test_twenty_candidates_are_drawn_from_a_thousand_million_million() -> None:
    space = {name: list(range(1000)) for name in "abcde"}
    tuning = GridTuning(space, folds=2, n=20)
    assert len({tuple(point.items()) for point in tuning.candidates}) == 20


def test_a_position_behind_the_last_point_is_none() -> None:
    with pytest.raises(IndexError):
        find_point([{"a": [1, 2]}], 2)
