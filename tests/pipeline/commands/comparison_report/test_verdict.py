"""The verdict in plain words, on made-up tests."""

from __future__ import annotations

from itertools import combinations

import pytest

from bakeoff.pipeline.commands.comparison_report.verdict import Standing, write_standing


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
            "a and b are the best and do not differ significantly, p = .41; a beats c, p = .040; "
            "b does not differ significantly from c, p = .070.",
        ),
        (
            (0.41, 0.2, 0.04),
            "a has the best mean; b and c do not differ significantly from a, p ≥ .20; of these, b beats c.",
        ),
        (
            (0.003, 0.3, 0.4),
            "a has the best mean and beats b, p = .0030; c does not differ significantly from a, p = .30.",
        ),
        (
            # The smallest p-value of three leaders is that of the last two.
            (0.41, 0.3, 0.001, 0.06, 0.001, 0.001),
            "a, b and c are the best and do not differ significantly, p ≥ .060; all 3 beat d, p = .0010.",
        ),
        (
            (0.41, 0.03, 0.02, 0.2, 0.3, 0.9),
            "a and b are the best and do not differ significantly, p = .41; a beats c and d, p ≤ .030; "
            "b does not differ significantly from c and d, p ≥ .20.",
        ),
        (
            (0.41, 0.3, 0.04, 0.7, 0.2, 0.01),
            "a, b and c are the best and do not differ significantly, p ≥ .30; a and c beat d, p ≤ .040; "
            "b does not differ significantly from d, p = .20.",
        ),
        (
            (0.41, 0.03, 0.02, 0.01, 0.3, 0.9),
            "a and b are the best and do not differ significantly, p = .41; both beat c, p ≤ .030; "
            "a beats d, p = .020; b does not differ significantly from d, p = .30.",
        ),
        ((0.2,), "a and b do not differ significantly, p = .20."),
        ((0.0004,), "a is the best: it beats b, p < .001."),
    ],
)
def test_who_leads_and_whom_the_leaders_beat(p_values: tuple[float, ...], sentence: str) -> None:
    """The p-values are those of (a, b), (a, c), …, (b, c), …; those up to .05 are told apart."""
    order = ("a", "b", "c", "d")[: {1: 2, 3: 3, 6: 4}[len(p_values)]]
    pairs = map(frozenset, combinations(order, 2))
    tests = {pair: (p <= 0.05, p) for pair, p in zip(pairs, p_values, strict=True)}
    assert write_standing(Standing(order, tests)) == sentence


def test_a_sentence_on_many_groups_ends_with_where_the_others_are() -> None:
    # Each of d, e, … is not told apart from other leaders.
    order = "abcdefgh"
    told_apart = {"ad", "ae", "af", "ag", "ah", "bd", "be", "cf", "cd"}
    tests = {frozenset(pair): ("".join(pair) in told_apart, 0.01 if "".join(pair) in told_apart else 0.3)
             for pair in combinations(order, 2)}  # fmt: skip
    said = write_standing(Standing(tuple(order), tests))
    assert said == (
        "a, b and c are the best and do not differ significantly, p = .30; all 3 beat d, p = .010; a and b beat e, "
        "p = .010; c does not differ significantly from e, p = .30; a and c beat f, p = .010; b does not differ "
        "significantly from f, p = .30; pairs=all shows the others."
    )


@pytest.mark.parametrize(("n", "named"), [(5, "b, c, d, e and f"), (6, "b, c, d, e and 2 others")])
def test_up_to_five_names_are_enumerated(n: int, named: str) -> None:
    order = tuple("abcdefg"[: n + 1])
    tests = {frozenset(pair): (True, 0.01) for pair in combinations(order, 2)}
    assert write_standing(Standing(order, tests)) == f"a is the best: it beats {named}, p = .010."
