"""Requests: one declaration of a field makes its parser, its check, its help and its completions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest

from bakeoff.pipeline.config.requests import (
    ANY_KEY,
    Bounds,
    Request,
    TrustRequest,
    Word,
    divide_words,
    format_arguments,
    format_usage,
    list_arguments,
    read_request,
    require_value,
)
from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True, kw_only=True)
class BakingRequest(TrustRequest):
    """What to bake.

    Attributes
    ----------
    cake : str
        The cake.
    extras : tuple of str
        What is added.
    share : float
        The share of sugar.
    oven__heat : int or None
        The heat.
    form : str
        The form.
    is_vegan : bool
        Whether there is no egg.
    recipe : Path
        The file of the recipe.
    keys : mapping of str to object
        How the oven differs.
    """

    cake: Annotated[str, Word(place="CAKE")]
    extras: Annotated[tuple[str, ...], Word(place="EXTRA")] = ()
    share: Annotated[float, Word(allowed=Bounds(0, 1, is_open=True))] = 0.5
    oven__heat: Annotated[int | None, Word(allowed=Bounds(100, 250))] = None
    form: Annotated[str, Word(key="as", allowed=("round", "square"))] = "round"
    is_vegan: bool = False
    recipe: Path = Path("recipe.txt")
    keys: Annotated[Mapping[str, Any], Word(kinds={"fan": bool, "light": str | None})] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OpenRequest(Request):
    """Any keys.

    Attributes
    ----------
    size : int
        The size.
    words : mapping of str to str
        All others.
    """

    size: int
    words: Annotated[Mapping[str, str], Word(kinds={ANY_KEY: str})] = field(default_factory=dict)


def read(*words: str) -> BakingRequest:
    """Return the request that the words of a command make."""
    return read_request("bake", BakingRequest, words)


def test_words_become_values_of_the_declared_types() -> None:
    words = ("nut", "./a=b.csv", "oven.heat=180", "as=square", "is_vegan=true", "fan=false", "light=null", "recipe=~/r")
    assert read(*words, "share=.25", "trust=[mine]") == BakingRequest(
        cake="nut",
        extras=("./a=b.csv",),
        share=0.25,
        oven__heat=180,
        form="square",
        is_vegan=True,
        recipe=Path("~/r").expanduser(),
        keys={"fan": False, "light": None},
        trust=("mine",),
    )
    assert read("nut", "oven.heat=null").oven__heat is None
    assert read_request("open", OpenRequest, ["size=1", "x=2", "a.b=c"]).words == {"x": "2", "a.b": "c"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], r"^no argument was given; usage: bakeoff bake CAKE \[EXTRA \.\.\.\] \[share=…\]"),
        (["nut", "--all"], r"^nut --all was given; usage: "),
        (["nut", "shar=1"], "^shar is not a key. Did you mean 'share'"),
        (["nut", "share=.1", "share=.2"], "^share= is given twice, the second time as share=.2; give it once"),
        (["nut", "oven.heat=hot"], "^oven.heat='hot' must be a whole number. The heat."),
        (["nut", "share=much"], "^share='much' must be a number. The share of sugar."),
        (["nut", "is_vegan=yes"], "^is_vegan='yes' must be true or false. Whether"),
        (["nut", "share=1"], "^share=1 must be above 0 and below 1. The share of sugar."),
        (["nut", "oven.heat=99"], "^oven.heat=99 must be at least 100 and at most 250. The heat."),
        (["nut", "as=sqare"], "^as=sqare: Did you mean 'square'"),
    ],
)
def test_a_word_that_is_not_declared_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(*words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x=2"], r"^size=… must be given\. The size\."),
        (
            ["size=1", "x={a:", "1}"],
            "^'1}' was given; the shell divides a value at its spaces: write 'KEY={NAME: VALUE}'",
        ),
        (["size=1", "x"], "^x was given; usage: bakeoff open size=…"),
    ],
)
def test_a_command_without_words_that_have_no_key(words: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_request("open", OpenRequest, words)


@pytest.mark.parametrize("value", [0.0, 1.0, float("nan"), float("inf")])
def test_values_from_python_are_checked_like_words(value: float) -> None:
    with pytest.raises(UserError, match="must be above 0 and below 1"):
        BakingRequest(cake="nut", share=value)
    with pytest.raises(UserError, match=r"^as=flat: Allowed: round, square"):
        require_value(BakingRequest, "form", "flat")
    assert float("inf") not in Bounds(0)


def test_the_help_has_types_allowed_values_and_defaults() -> None:
    assert format_usage("bake", BakingRequest).startswith(
        "bakeoff bake CAKE [EXTRA ...] [share=…] [oven.heat=…] [as=…]"
    )
    assert format_usage("open", OpenRequest) == "bakeoff open size=… [KEY=…]"
    lines = format_arguments(BakingRequest).splitlines()
    assert lines[:6] == [
        "CAKE                  The cake.",
        "EXTRA                 What is added.",
        "share=                The share of sugar. Allowed: above 0 and below 1. Default: 0.5.",
        "oven.heat=            The heat. Allowed: at least 100 and at most 250.",
        "as=                   The form. Allowed: round, square. Default: round.",
        "is_vegan=             Whether there is no egg. Default: false.",
    ]
    assert lines[7] == "fan=, light=          How the oven differs."
    assert lines[-1].startswith("trust=")


def test_completions_are_the_values_that_can_be_listed() -> None:
    choices = {argument.word: tuple(argument.choices) for argument in list_arguments(BakingRequest)}
    assert choices["as"] == ("round", "square")
    assert choices["is_vegan"] == choices["fan"] == ("false", "true")
    assert choices["share"] == choices["CAKE"] == ()


def test_words_of_a_request_are_split_from_others() -> None:
    words = ["nut", "as=round", "+share=1", "x=as=1", "trust=a"]
    assert divide_words(BakingRequest, words, ("trust",)) == (["as=round", "+share=1"], ["nut", "x=as=1", "trust=a"])
