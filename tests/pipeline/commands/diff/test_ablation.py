"""What an ablation takes out, and what it says about the effects."""

from __future__ import annotations

import pytest

from bakeoff.pipeline.commands.diff.ablation import _count_effects, read_groups
from bakeoff.pipeline.commands.diff.changes import Change
from bakeoff.pipeline.commands.diff.effects import Effect
from bakeoff.pipeline.errors import UserError


@pytest.mark.parametrize(
    ("text", "groups"),
    [("false", []), ("true", [("a",), ("b",)]), ("[b,[a]]", [("b",), ("a",)]), ("[[b,a]]", [("b", "a")])],
)
def test_columns_are_left_out_alone_or_in_groups(text: str, groups: list[tuple[str, ...]]) -> None:
    assert read_groups(text, ["a", "b"]) == groups


@pytest.mark.parametrize("text", ["[]", "[[]]", "a", "{a: 1}"])
def test_groups_of_columns_are_lists_of_names(text: str) -> None:
    with pytest.raises(UserError, match=r"must be true, or groups such as \[\[age,sex\],\[fare\]\]"):
        read_groups(text, ["a", "b"])


@pytest.mark.parametrize(
    ("p_values", "sentence"),
    [
        ([0.05, 0.2, 0.01], "2 of 3 effects can be told apart from 0: key 0 and key 2."),
        ([0.06], "No effect can be told apart from 0 (1 effect measured)."),
    ],
)
def test_effects_are_told_apart_up_to_the_significance_level(p_values: list[float], sentence: str) -> None:
    measured = [(Change(f"key {i}", "", ""), Effect(0.1, p_value=p)) for i, p in enumerate(p_values)]
    assert _count_effects(measured, 0.05) == sentence
