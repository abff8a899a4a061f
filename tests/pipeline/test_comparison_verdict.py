"""The verdict in plain words, on made-up tests."""

from __future__ import annotations

from itertools import combinations

import pytest

from bakeoff.pipeline.comparison.verdict import Standing, write_standing


@pytest.mark.parametrize(
    ("p_values", "sentence"),
    [
        (
            (0.41, 0.003, 0.003),
            "a and b are the best and do not differ significantly, p = .41; both beat c, p = .0030.",
        ),
        ((0.01, 0.003, 0.5), "a is the best: it beats b and c, p ≤ .010."),
        ((0.3, 0.2, 0.9), "No two of the 3 configurations differ significantly, p ≥ .20."),
        (
            (0.41, 0.04, 0.07),
            "a and b are the best and do not differ significantly, p = .41; a beats c, p = .040, which is not",
        ),
        ((0.41, 0.2, 0.04), "a has the best mean; b and c do not differ significantly from it, p ≥ .20."),
        (
            (0.003, 0.3, 0.4),
            "a has the best mean and beats b, p = .0030; c does not differ significantly from it, p = .30.",
        ),
        ((0.2,), "a and b do not differ significantly, p = .20."),
        ((0.0004,), "a is the best: it beats b, p < .001."),
    ],
)
def test_who_leads_and_whom_the_leaders_beat(p_values: tuple[float, ...], sentence: str) -> None:
    """The p-values are those of (a, b), (a, c) and (b, c); those up to .05 are told apart."""
    order = ("a", "b") if len(p_values) == 1 else ("a", "b", "c")
    pairs = map(frozenset, combinations(order, 2))
    tests = {pair: (p <= 0.05, p) for pair, p in zip(pairs, p_values, strict=True)}
    assert write_standing(Standing(order, tests)).startswith(sentence)
