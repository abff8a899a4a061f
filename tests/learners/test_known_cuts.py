"""With missing cells, gain ratio is that of C4.5: of the known rows, with a branch of missing cells in the divisor."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.learners import DecisionTreeClassifier
from bakeoff.learners.definitions.splits import ROUND_OFF, entropy, first_of_largest, gain, midpoints, parts_of

SEEDS = st.integers(0, 10**6)
OUTLOOK = [*["sunny"] * 5, None, *["overcast"] * 3, *["rain"] * 5]
PLAYS = [*[1, 0, 0, 0, 1], 1, *[1, 1, 1], *[0, 0, 1, 1, 1]]


def test_quinlans_example_of_a_missing_outlook_has_his_gain() -> None:
    # C4.5, chapter 3: 13/14 (0.961 - 0.747) = 0.199 bits, over a split information of 1.809.
    table = pd.DataFrame({"outlook": pd.Categorical(OUTLOOK)})
    tree = DecisionTreeClassifier(criterion="gain_ratio", max_depth=1).fit(table, PLAYS).fitted_tree_
    assert tree.gain[0] / 14 == pytest.approx(0.199, abs=5e-4)
    sizes = tree.n_node_samples[1:]
    assert sorted(sizes.tolist()) == [1, 3, 5, 5]


def ask(X: np.ndarray, y: np.ndarray, least: int = 1) -> tuple[int, float] | None:
    """Return the feature and threshold that C4.5 asks about rows X (n, d) with missing cells, by definition."""
    questions = []
    ratios = []
    for j, column in enumerate(X.T):
        is_known = ~np.isnan(column)
        known = column[is_known]
        labels = y[is_known]
        cuts = [s for s in midpoints(known) if least <= np.count_nonzero(known < s) <= len(known) - least]
        if not cuts:
            continue
        share = len(known) / len(y)
        gains = [share * float(gain(labels, parts_of(labels, known, s), entropy)) for s in cuts]
        best = first_of_largest(gains, ROUND_OFF)
        answers = np.where(is_known, np.where(column < cuts[best], "left", "right"), "missing")
        worth = gains[best] if gains[best] > ROUND_OFF else 0.0
        questions.append((j, cuts[best]))
        ratios.append(worth / float(entropy(answers)))
    return questions[first_of_largest(ratios, ROUND_OFF)] if questions else None


@examples(200)
@given(seed=SEEDS, n=st.sampled_from([8, 20, 60]), c=st.integers(2, 4), least=st.integers(1, 3))
def test_the_cut_of_a_column_with_missing_cells_is_that_of_largest_gain(seed: int, n: int, c: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 3)).astype(float)
    X[rng.random((n, 3)) < rng.choice([0.1, 0.5])] = np.nan
    y = rng.integers(0, c, n)
    tree = DecisionTreeClassifier(criterion="gain_ratio", max_depth=1, min_samples_leaf=least).fit(X, y).fitted_tree_
    asked = (tree.feature[0], tree.threshold[0]) if tree.node_count > 1 else None
    assert asked == (ask(X, y, least) if len(set(y)) > 1 else None)


def test_a_column_is_no_better_for_cells_that_are_missing() -> None:
    # Where the cell is missing tells the class exactly, but C4.5 asks about known values only.
    y = np.repeat([0, 1], 10)
    missing = np.where(y == 1, np.nan, np.arange(20.0) % 2)
    weak = np.arange(20.0) % 10 + 4 * y
    tree = DecisionTreeClassifier(criterion="gain_ratio", max_depth=1).fit(np.column_stack([missing, weak]), y)
    assert tree.fitted_tree_.feature[0] == 1
