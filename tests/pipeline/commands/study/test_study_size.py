"""How large a study must be: predicted power against the tests themselves, and what `plan` and `compare` say of it."""

from __future__ import annotations

import json
import math
import shlex

import numpy as np
import pytest
from command import Bakeoff
from scipy import stats
from statsmodels.stats.power import TTestPower

from bakeoff.pipeline.commands.significance.datasets import compute_wilcoxon_p
from bakeoff.pipeline.commands.significance.folds import POWER, compute_corrected_t_test, estimate_requirement
from bakeoff.pipeline.commands.study.study_size import (
    Pairs,
    PilotItems,
    PlannedFolds,
    collect_numbers,
    describe_folds,
    find_least_wins,
    find_spread,
)

ONE_PAIR = Pairs(1, 0.05)
FOLDS = ("evaluation=repeated_kfold", "evaluation.folds=4")
MODELS = "tracking.models=false"


def test_folds_find_with_their_power_what_a_comparison_calls_detectable() -> None:
    differences = np.random.default_rng(0).normal(size=20)
    test = compute_corrected_t_test(differences, ratio=1 / 9)
    for n_pairs in (1, 6):
        pairs = Pairs(n_pairs, 0.05)
        detectable = estimate_requirement(test, 10, math.nan, pairs.level).smallest_difference
        planned = PlannedFolds(10, 2, test.standard_deviation, test.ratio)
        assert planned.compute_power(detectable, pairs) == pytest.approx(POWER, abs=1e-9)
        assert planned.compute_power(detectable / 2, pairs) < POWER / 2
        assert planned.compute_power(1e300, pairs) == 1
    assert PlannedFolds(1, 1, 0.1, 0.25).compute_power(1e300, ONE_PAIR) == 0


@pytest.mark.parametrize(("n_datasets", "n_pairs"), [(8, 1), (14, 3), (55, 1)])
def test_wilcoxons_test_finds_the_share_of_wins_four_times_of_five(n_datasets: int, n_pairs: int) -> None:
    pairs = Pairs(n_pairs, 0.05)
    least = find_least_wins(n_datasets, pairs)
    assert least is not None
    samples = np.random.default_rng(1).normal(stats.norm.ppf(least.share), size=(1000, n_datasets))
    found = [compute_wilcoxon_p(sample, np.zeros(n_datasets)) <= pairs.level for sample in samples]
    assert np.mean(found) == pytest.approx(POWER, abs=0.04)


@pytest.mark.parametrize(("n_datasets", "n_pairs"), [(5, 1), (6, 3), (8, 10)])
def test_too_few_datasets_find_nothing(n_datasets: int, n_pairs: int) -> None:
    assert find_least_wins(n_datasets, Pairs(n_pairs, 0.05)) is None


@pytest.mark.parametrize(
    ("disagreement", "difference", "n_pairs"), [(0.1, 0.02, 1), (0.3, 0.1, 15), (0.1, 0.05, 1), (0.5, 0.2, 3)]
)
def test_mcnemars_test_finds_the_difference_on_so_many_items(
    disagreement: float, difference: float, n_pairs: int
) -> None:
    pairs = Pairs(n_pairs, 0.05)
    pilot = PilotItems(math.sqrt(disagreement - difference**2), 10_000, 10_000, is_exact=True)
    n_items = pilot.count_items(difference, pairs)
    power = 0.0
    for n_differing in range(n_items + 1):
        weight = stats.binom.pmf(n_differing, n_items, disagreement)
        if weight > 1e-7:
            wins = np.arange(n_differing + 1)
            fewer = np.minimum(wins, n_differing - wins)
            found = 2 * stats.binom.cdf(fewer, n_differing, 0.5) <= pairs.level
            power += weight * stats.binom.pmf(wins, n_differing, (1 + difference / disagreement) / 2) @ found
    assert power == pytest.approx(POWER, abs=0.03)
    of_so_many = pilot._replace(n_items=n_items)
    assert of_so_many.find_difference(pairs) == pytest.approx(difference, rel=0.005)


def test_graded_items_are_those_of_statsmodels() -> None:
    n_items = PilotItems(1.0, 200, 200, is_exact=False).count_items(0.2, ONE_PAIR)
    assert n_items == math.ceil(TTestPower().solve_power(effect_size=0.2, alpha=0.05, power=POWER))


def test_there_are_enough_clusters_for_a_significant_result() -> None:
    pilot = PilotItems(0.1, 100, 5, is_exact=False)
    assert pilot.count_items(0.5, Pairs(3, 0.05)) == 7 * 20  # 2 / 2 ** 7 is below .05 / 3


def test_the_spread_is_that_of_the_median_pair_that_differs() -> None:
    scores = np.random.default_rng(0).normal(size=(3, 10))
    spreads = [np.std(scores[i] - scores[j], ddof=1) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert find_spread(scores) == pytest.approx(np.median(spreads))
    assert find_spread(scores[[0, 0, 1]]) == pytest.approx(spreads[0])
    assert find_spread(scores[[0, 0]]) == find_spread(scores[:1]) == 0


def test_a_plan_and_a_comparison_say_what_a_study_would_find_by_the_runs_in_the_store(bakeoff: Bakeoff) -> None:
    study = ("plan", "-m", "learner=knn,naive_bayes", *FOLDS, "difference=0.001,0.9")
    refused = bakeoff(*study, "dataset=iris")
    assert refused.status == 2
    pilot = refused.err.partition("A pilot measures it: bakeoff ")[2]
    assert bakeoff(*shlex.split(pilot), MODELS).status == 0
    out = bakeoff(*study, "dataset=iris,wine").out
    assert "difference of 0.001 on 0 of 1 dataset and 0.9 on 1 (1 pair with Holm's correction, α = 0.05)" in out
    assert "With evaluation.repeats=10: 0.001 on 0 and 0.9 on 1." in out
    assert (
        "Over 2 datasets it would find nothing, because they are too few; with 20 datasets more, a learner that" in out
    )
    assert "0 from several stored repeats, 1 from one" in out
    assert "a pilot measures it: bakeoff -m learner=knn,naive_bayes dataset=wine" in out
    other_folds = bakeoff(*study[:-2], "evaluation.folds=5", study[-1], "dataset=iris")
    assert other_folds.status == 2, other_folds.out
    notes = read_notes(bakeoff, "sweep=latest", "plan=0.9", "keep=false")
    assert "difference of 0.9 on 1 of 1 dataset" in notes
    assert "With evaluation.repeats=3: 0.9 on 1." in notes
    assert "this study would find" not in read_notes(bakeoff, "sweep=latest", "keep=false")


def test_the_numbers_of_the_sentences_are_plain_values() -> None:
    folds = [PlannedFolds(10, 1, spread, 1 / 9) for spread in (0.01, 1.0)]
    numbers = collect_numbers(describe_folds(folds, 2, [0.1], ONE_PAIR))
    wins = numbers.pop("share_of_wins")
    assert numbers == {
        "datasets": 2,
        "datasets_with_difference": {"0.1": 1},
        "datasets_with_difference_in_3_repeats": {"0.1": 1},
    }
    assert wins["2"] is None
    assert 0.5 < wins["22"] < 1
    assert json.loads(json.dumps(wins)) == wins


@pytest.mark.parametrize("words", [(), ("cluster=group",)], ids=["items", "clusters"])
@pytest.mark.parametrize(("verb", "key"), [("plan", "difference"), ("compare", "plan")])
def test_items_that_are_needed_follow_from_a_pilot_table(
    bakeoff: Bakeoff, verb: str, key: str, words: tuple[str, ...]
) -> None:
    rows = [f"{i},g{i % 12},{i % 2},{int(i % 3 > 0)},{int(i % 5 > 1)}" for i in range(60)]
    (bakeoff.folder / "outcomes.csv").write_text("\n".join(["task,group,a,b,c", *rows]))
    answer = bakeoff(verb, "outcomes.csv", "item=task", *words, f"{key}=0.05,0.15")
    assert answer.status == 0, answer.err
    text = " ".join(answer.out.split())
    more, fewer = (int(text.partition(f" items for {size}")[0].rpartition(" ")[2]) for size in (0.05, 0.15))
    assert 8 < more / fewer < 9.1
    assert "3 pairs with Holm's correction" in text


def test_two_rates_and_their_agreement_give_a_number_of_items(bakeoff: Bakeoff) -> None:
    out = bakeoff("plan", "rates=0.62,0.60", "agreement=0.9").out
    assert out == (
        "Four times of five about 2054 items would show a difference of 0.02 (McNemar's exact test, α = 0.05).\n"
    )


def read_notes(bakeoff: Bakeoff, *words: str) -> str:
    """Return the notes of a comparison."""
    answer = bakeoff("compare", *words, "to=json")
    assert answer.status == 0, answer.err
    return " ".join(json.loads(answer.out)["notes"])
