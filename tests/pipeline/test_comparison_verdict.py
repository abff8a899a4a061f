"""The verdict in plain words, on made-up tests and on runs in a real SQLite store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from written_runs import write_run

from bakeoff.pipeline.comparison import selection as select
from bakeoff.pipeline.comparison.compare_runs import compare_runs
from bakeoff.pipeline.comparison.comparison import Comparison
from bakeoff.pipeline.comparison.request import CompareRequest
from bakeoff.pipeline.comparison.verdict import Standing, write_standing
from bakeoff.pipeline.tracking.store import Store, open_store

ABC = ("a", "b", "c")


def judge(*p_values: float, order: tuple[str, ...] = ABC) -> str:
    """Return the sentence for the p-values of (a, b), (a, c), (b, c); those up to .05 are told apart."""
    pairs = [frozenset((first, second)) for i, first in enumerate(order) for second in order[i + 1 :]]
    return write_standing(Standing(order, {pair: (p <= 0.05, p) for pair, p in zip(pairs, p_values, strict=True)}))


@pytest.mark.parametrize(
    ("p_values", "sentence"),
    [
        ((0.41, 0.003, 0.003), "a and b are the best and not told apart, p = .41; both beat c, p = .0030."),
        ((0.01, 0.003, 0.5), "a is the best: it beats b and c, p ≤ .010."),
        ((0.3, 0.2, 0.9), "No two of the 3 configurations are told apart, p ≥ .20."),
        (
            (0.41, 0.04, 0.07),
            "a and b are the best and not told apart, p = .41; a beats c, p = .040, which is not significant",
        ),
        ((0.41, 0.2, 0.04), "a has the best mean; b and c are not told apart from it, p ≥ .20."),
    ],
)
def test_who_leads_and_whom_the_leaders_beat(p_values: tuple[float, ...], sentence: str) -> None:
    assert judge(*p_values).startswith(sentence)


def test_a_worse_mean_that_varies_much_is_not_called_the_best() -> None:
    assert judge(0.003, 0.3, 0.4) == (
        "a has the best mean and beats b, p = .0030; c is not told apart from it, p = .30."
    )


def test_two_configurations_have_one_p_value() -> None:
    assert judge(0.2, order=("a", "b")) == "a and b are not told apart, p = .20."
    assert judge(0.0004, order=("a", "b")) == "a is the best: it beats b, p < .001."


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path}/mlflow.db", "bakeoff")


def compare(store: Store) -> Comparison:
    selected = select.select_by_filter(store, "")
    return compare_runs(store, selected, CompareRequest())


def test_two_configurations_over_datasets_are_judged_by_wilcoxon(store: Store) -> None:
    rng = np.random.default_rng(1)
    for number in range(6):
        write_run(store, "svm", f"data {number}", (0.9 + rng.normal(0, 0.01, 5)).tolist())
        write_run(store, "knn", f"data {number}", (0.7 + 0.01 * number + rng.normal(0, 0.01, 5)).tolist())
    comparison = compare(store)
    overall = comparison.results[0].overall
    assert overall is not None
    assert overall.pairs[0].p_wilcoxon == pytest.approx(2 / 2**6)
    assert comparison.verdict == (
        "Over 6 datasets, svm is the best: it beats knn, p = .031 (Wilcoxon's signed-rank test).",
    )


def test_where_two_are_not_told_apart_the_verdict_says_what_it_would_take(store: Store) -> None:
    rng = np.random.default_rng(2)
    for learner in ("svm", "knn"):
        write_run(store, learner, "iris", (0.9 + rng.normal(0, 0.03, 10)).tolist())
    first, second = compare(store).verdict
    assert "are not told apart" in first
    assert "These folds could show a difference of about 0.0" in second
    assert "rows would" in second or "rows." in second


def test_configurations_within_the_rope_are_equivalent_in_practice(store: Store) -> None:
    rng = np.random.default_rng(3)
    scores = 0.9 + rng.normal(0, 0.03, 10)
    write_run(store, "svm", "iris", scores.tolist())
    write_run(store, "knn", "iris", (scores + rng.normal(0, 0.0005, 10)).tolist())
    said = compare(store).verdict[1]
    assert "are equivalent in practice: they differ by at most 0.0100 with probability > 99 %" in said
