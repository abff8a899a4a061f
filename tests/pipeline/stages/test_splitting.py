"""Splits: parts never overlap, classes keep their proportions, groups stay whole, and a seed determines the splits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting import (
    Bootstrap,
    FixedFolds,
    FixedSplit,
    GroupKFold,
    GroupTimeHoldout,
    GroupTimeSeries,
    Holdout,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    Split,
    SplitInput,
    Splits,
    Splitter,
    TimeHoldout,
    TimeSeries,
)

LABELS = SplitInput(np.array(list("aaaaaaaabb") * 10), is_classification=True)
VALUES = SplitInput(np.linspace(0.0, 1.0, 100), is_classification=False)
GROUPS = SplitInput(LABELS.y, is_classification=True, groups=np.arange(100) // 5)
PARTS = SplitInput(
    LABELS.y, is_classification=True, parts=np.array(["train"] * 60 + ["test"] * 20 + ["validation"] * 20)
)
TWO_PARTS = SplitInput(LABELS.y, is_classification=True, parts=np.array(["train", "train", "train", "test"] * 25))
FOLDS = SplitInput(LABELS.y, is_classification=True, folds=np.arange(100) % 4)
# Two rows at each of fifty times, in no order.
TIMES = SplitInput(VALUES.y, is_classification=False, times=np.random.default_rng(0).permutation(np.arange(100) // 2))
SPLITTERS: list[tuple[Splitter, SplitInput, int]] = [
    (Holdout(), LABELS, 1),
    (Holdout(test=0.3, validation=0), VALUES, 1),
    (Holdout(stratify=False), LABELS, 1),
    (Holdout(), GROUPS, 1),
    (KFold(), LABELS, 5),
    (KFold(folds=4, validation=0.2), VALUES, 4),
    (KFold(folds=10, repeats=3, validation=0.1), LABELS, 30),
    (KFold(folds=3, stratify=False), LABELS, 3),
    (GroupKFold(validation=0.2), GROUPS, 5),
    (GroupKFold(folds=4, stratify=False), GROUPS, 4),
    (LeaveOneOut(), VALUES, 100),
    (LeaveOneOut(validation=0.2), LABELS, 100),
    (TimeSeries(validation=0.25), VALUES, 5),
    (TimeSeries(validation=0.25), TIMES, 5),
    (TimeHoldout(), TIMES, 1),
    (TimeHoldout(validation=0), VALUES, 1),
    (Holdout(repeats=4), LABELS, 4),
    (KFold(target_bins=5, validation=0.2), VALUES, 5),
    (Holdout(target_bins=5), VALUES, 1),
    (GroupKFold(folds=4, repeats=2), GROUPS, 8),
    (LeaveOneGroupOut(validation=0.2), GROUPS, 20),
    (FixedFolds(validation=0.2), FOLDS, 4),
    (FixedSplit(validation=0.2), TWO_PARTS, 1),
    (Bootstrap(repeats=7), LABELS, 7),
    (Bootstrap(repeats=7, stratify=True, validation=0.2), LABELS, 7),
]
# Ten groups with 24 rows each, at the times 0 to 23; a third of the groups begins at 10.
PANEL = SplitInput(
    np.tile(list("ab"), 120),
    is_classification=True,
    groups=np.repeat(np.arange(10), 24),
    times=np.concatenate([np.arange(24) if group % 3 else np.arange(10, 34) for group in range(10)]),
)
PLAIN = (TimeSeries, TimeHoldout, LeaveOneOut, LeaveOneGroupOut, FixedFolds, FixedSplit)
"""Splitters that shuffle validation rows at most, and those that are in the order of time none."""


def splits(splitter: Splitter, target: SplitInput, seed: int = 0) -> list[Split]:
    return list(splitter.make_splits(target, seed).folds)


def rows(split: Split) -> list[int]:
    """Return all rows of a split; a row that a bootstrap sample holds several times comes once."""
    return sorted([*np.unique(split.train), *split.validation, *split.test])


def same(one: list[Split], other: list[Split]) -> bool:
    parts = [(getattr(a, part), getattr(b, part)) for a, b in zip(one, other, strict=True) for part in vars(a)]
    return all(np.array_equal(a, b) for a, b in parts)


# Properties of every splitter


@pytest.mark.parametrize(("splitter", "target", "count"), SPLITTERS)
def test_parts_never_overlap_and_cover_all_rows_except_those_still_in_the_future(
    splitter: Splitter, target: SplitInput, count: int
) -> None:
    built = splits(splitter, target)
    assert len(built) == count
    times = target.time_codes
    for split in built:
        is_seen = times <= times[split.test].max() if splitter.keeps_order else np.full(100, True)
        assert rows(split) == np.flatnonzero(is_seen).tolist()
        assert len(split.train) > 0
        assert len(split.test) > 0
        assert (len(split.validation) > 0) == (splitter.validation > 0)
    assert same(built, splits(splitter, target))
    shuffles = not isinstance(splitter, PLAIN) or (splitter.validation > 0 and not splitter.keeps_order)
    assert same(built, splits(splitter, target, seed=4)) != shuffles


ONCE = (KFold, LeaveOneOut, LeaveOneGroupOut, FixedFolds)


@pytest.mark.parametrize(("splitter", "target", "count"), [each for each in SPLITTERS if isinstance(each[0], ONCE)])
def test_cross_validation_tests_each_row_once_a_repeat(splitter: Splitter, target: SplitInput, count: int) -> None:
    tested = Counter(row for split in splits(splitter, target) for row in split.test.tolist())
    assert set(tested) == set(range(100))
    assert set(tested.values()) == {getattr(splitter, "repeats", 1)}


def test_the_rows_of_a_part_are_a_rounded_fraction_of_all() -> None:
    (split,) = splits(Holdout(test=0.29, validation=0.15), SplitInput(VALUES.y[:97], is_classification=False))
    assert [len(part) for part in (split.train, split.validation, split.test)] == [54, 15, 28]
    for fold in splits(KFold(folds=10, validation=0.2), VALUES):
        assert [len(part) for part in (fold.train, fold.validation, fold.test)] == [70, 20, 10]


# Proportions and fractions


def test_stratified_parts_hold_each_class_in_proportion() -> None:
    (split,) = splits(Holdout(), LABELS)
    assert [Counter(LABELS.y[part])["b"] for part in (split.train, split.validation, split.test)] == [12, 4, 4]
    for fold in splits(KFold(folds=5, validation=0.2), LABELS):
        assert [Counter(LABELS.y[part])["b"] for part in (fold.train, fold.validation, fold.test)] == [12, 4, 4]


def test_without_stratification_proportions_are_left_to_chance() -> None:
    shares = {Counter(LABELS.y[fold.test])["b"] for fold in splits(KFold(stratify=False), LABELS)}
    assert len(shares) > 1


def test_the_digest_is_equal_if_and_only_if_every_fold_tests_the_same_rows_and_fits_on_the_same_others() -> None:
    splits = KFold().make_splits(LABELS, 0)
    assert splits.digest() == KFold(validation=0.2).make_splits(LABELS, 0).digest()
    first, second, *others = splits.folds
    # The last fold loses a row of its training part, as a series that starts later would.
    shorter = Split(second.train[1:], second.validation, second.test)
    different = [
        KFold().make_splits(LABELS, 1),
        KFold(folds=4).make_splits(LABELS, 0),
        KFold(repeats=2).make_splits(LABELS, 0),
        Splits((second, first, *others), None),
        Splits((first, shorter, *others), None),
        Splits((Split(first.test, first.validation, first.train), second, *others), None),
    ]
    assert len({splits.digest(), *(other.digest() for other in different)}) == 1 + len(different)


def test_the_mean_rows_of_each_part_are_those_of_the_folds() -> None:
    splits = KFold(folds=3, validation=0.2, stratify=False).make_splits(LABELS, 0)  # tests 34, 33 and 33 rows
    assert splits.mean_rows == {
        "train": pytest.approx(100 - 20 - 100 / 3),
        "validation": 20,
        "test": pytest.approx(100 / 3),
    }
    made = Bootstrap(repeats=3).make_splits(LABELS, 0)  # whose rows count once
    assert made.mean_rows["train"] == pytest.approx(np.mean([len(np.unique(split.train)) for split in made.folds]))


def test_repeats_are_fresh_shuffles_and_the_first_is_plain_k_fold() -> None:
    repeated, plain = splits(KFold(folds=5, repeats=2), LABELS), splits(KFold(folds=5), LABELS)
    assert same(repeated[:5], plain)
    assert not same(repeated[5:], plain)
    assert same(repeated[5:], splits(KFold(folds=5, first_repeat=1), LABELS))


@pytest.mark.parametrize("splitter", [splitter for splitter, target, _ in SPLITTERS if target is GROUPS])
def test_groups_are_never_torn(splitter: Splitter) -> None:
    assert GROUPS.groups is not None
    for split in splits(splitter, GROUPS):
        train, validation, test = (set(GROUPS.groups[part]) for part in (split.train, split.validation, split.test))
        assert not train & validation
        assert not (train | validation) & test


@pytest.mark.parametrize(
    ("n_rows", "splitter"), [((41, 4, 3), KFold()), ((4, 4, 4), KFold()), ((9, 1), KFold(folds=6))]
)
def test_a_class_with_fewer_rows_than_folds_has_at_most_one_row_in_each(
    n_rows: tuple[int, ...], splitter: KFold
) -> None:
    target = SplitInput(np.repeat(list("abc")[: len(n_rows)], n_rows), is_classification=True)
    folds = splits(splitter, target)
    assert sorted(row for fold in folds for row in fold.test) == list(range(sum(n_rows)))
    for label, n in zip("abc", n_rows, strict=False):
        held = sorted(int((target.y[fold.test] == label).sum()) for fold in folds)
        assert held[-1] == max(1, -(-n // len(folds))), label
        assert sum(held) == n


@pytest.mark.parametrize(
    "text", ["a" * 30 + "d" * 20 + rare for rare in ("b", "bc", "bcc")] + ["abcdefghijklmnopqrst", "aaab"]
)
def test_parts_are_stratified_by_the_classes_that_have_rows_for_both(text: str) -> None:
    target = of(text)
    for seed in range(5):
        (split,) = splits(Holdout(test=0.4, validation=0), target, seed)
        assert len(split.test) == round(0.4 * len(text))
        counts, all_counts = Counter(target.y[split.test]), Counter(text)
        frequent = [label for label, n in all_counts.items() if n > 2]
        assert all(abs(counts[label] - 0.4 * all_counts[label]) <= 1 for label in frequent)


# The reserve


RESERVING = [(replace(splitter, reserve=0.2), target) for splitter, target, _ in SPLITTERS if target.parts is None]


def reserve_of(splitter: Splitter, target: SplitInput) -> np.ndarray:
    """Return the rows of the reserve, which the final split tests."""
    final = splitter.make_splits(target, 0).final
    assert final is not None
    return final.test


@pytest.mark.parametrize(("splitter", "target"), RESERVING)
def test_no_split_has_a_row_of_the_reserve_and_only_the_final_one_tests_it(
    splitter: Splitter, target: SplitInput
) -> None:
    built = splitter.make_splits(target, 0)
    assert built.final is not None
    reserve = built.final.test
    assert len(reserve) == pytest.approx(20, abs=5)  # a given fold has 25 rows
    assert rows(built.final) == list(range(100))
    used = np.concatenate([rows(split) for split in built.fitted])
    assert sorted({*used, *reserve}) == list(range(100))
    assert not set(used) & set(reserve)
    assert all(np.array_equal(split.reserve, reserve) for split in built.fitted)
    # The run's model is the one that the reserve would score.
    assert built.refit is None or np.array_equal(built.refit.train, built.final.train)
    # Another seed gives other splits of the same rows, so that no run of a sweep over seeds trains on the reserve.
    assert np.array_equal(splitter.make_splits(target, 4).folds[0].reserve, reserve)
    # `ship` fits on every row.
    assert len(splitter.make_full_split(target, 0, with_validation=False).train) == 100


def test_the_reserve_is_stratified_and_its_own_seed_chooses_its_rows() -> None:
    seeds = [reserve_of(KFold(reserve=0.3, reserve_seed=seed), LABELS) for seed in range(4)]
    assert {Counter(LABELS.y[chosen])["b"] for chosen in seeds} == {6}
    assert len({tuple(chosen) for chosen in seeds}) == 4
    by_chance = [reserve_of(KFold(reserve=0.3, reserve_seed=seed, stratify=False), LABELS) for seed in range(4)]
    assert len({Counter(LABELS.y[chosen])["b"] for chosen in by_chance}) > 1
    chosen = reserve_of(KFold(reserve=0.2, target_bins=5), VALUES)
    assert np.histogram(VALUES.y[chosen], bins=5, range=(0, 1))[0].tolist() == [4, 4, 4, 4, 4]


@pytest.mark.parametrize("seed", range(4))
def test_the_reserve_has_whole_groups_and_whole_folds_that_are_tested(seed: int) -> None:
    assert GROUPS.groups is not None
    assert FOLDS.folds is not None
    for splitter in (GroupKFold(reserve=0.2, reserve_seed=seed), Holdout(reserve=0.2, reserve_seed=seed)):
        assert set(Counter(GROUPS.groups[reserve_of(splitter, GROUPS)]).values()) == {5}
    untested = replace(FOLDS, folds=np.where(FOLDS.folds == 0, -1, FOLDS.folds))
    chosen = reserve_of(FixedFolds(reserve=0.25, reserve_seed=seed), untested)
    (fold,) = set(FOLDS.folds[chosen])
    assert len(chosen) == 25
    assert fold > 0


def test_a_reserve_in_time_is_the_latest_rows_and_the_gap_before_it_belongs_to_no_part() -> None:
    for splitter in (TimeSeries(reserve=0.2, gap=3), TimeHoldout(reserve=0.2, gap=3, validation=0)):
        built = splitter.make_splits(TIMES, 0)
        assert built.final is not None
        times = TIMES.time_codes
        assert sorted(set(times[built.final.test])) == list(range(40, 50))
        assert max(times[split.test].max() for split in built.folds) == times[built.final.train].max() == 36


def test_the_digest_says_that_rows_are_reserved_and_is_as_before_without() -> None:
    before = "e4ebf99b03c266ac"  # of runs that were stored when there was no reserve
    assert KFold().make_splits(LABELS, 0).digest() == before
    others = {KFold(reserve=0.2, reserve_seed=seed).make_splits(LABELS, 0).digest() for seed in (0, 1)}
    assert len(others | {before}) == 3


# Intervals of a numeric target


def test_intervals_of_the_target_are_in_proportion_in_every_part_if_asked_for() -> None:
    shuffled = np.random.default_rng(1).permutation(VALUES.y)
    target = SplitInput(shuffled, is_classification=False)

    def spread(splitter: Splitter) -> set[tuple[int, ...]]:
        """Return how many targets of each fifth the parts hold."""
        return {
            tuple(np.histogram(shuffled[part], bins=5, range=(0, 1))[0].tolist())
            for split in splits(splitter, target)
            for part in (split.validation, split.test)
        }

    assert spread(KFold(target_bins=5, validation=0.2)) == {(4, 4, 4, 4, 4)}
    assert spread(Holdout(target_bins=5)) == {(4, 4, 4, 4, 4)}
    assert len(spread(KFold(validation=0.2))) > 1


def test_equal_targets_make_fewer_intervals() -> None:
    mostly_zero = SplitInput(np.array([0.0] * 60 + list(np.linspace(1, 2, 40))), is_classification=False)
    for split in splits(KFold(target_bins=10, folds=4), mostly_zero):
        assert (mostly_zero.y[split.test] == 0).sum() == 15


# Bootstrap


def test_bootstrap_samples_are_drawn_with_replacement_in_the_expected_proportion() -> None:
    target = SplitInput(np.linspace(0, 1, 1000), is_classification=False)
    samples = [split.train for split in splits(Bootstrap(repeats=100), target)]
    assert {len(sample) for sample in samples} == {1000}
    drawn = np.array([len(np.unique(sample)) for sample in samples])
    # 1 - (1 - 1/n)^n, with the standard error of a hundred samples.
    assert drawn.mean() / 1000 == pytest.approx(1 - (1 - 1 / 1000) ** 1000, abs=0.003)


def test_a_stratified_sample_draws_as_many_rows_of_each_class_as_it_has() -> None:
    for split in splits(Bootstrap(repeats=5, stratify=True), LABELS):
        assert Counter(LABELS.y[split.train]) == {"a": 80, "b": 20}
    assert len({Counter(LABELS.y[split.train])["b"] for split in splits(Bootstrap(repeats=5), LABELS)}) > 1


# Parts and folds that the user gives


def test_each_row_is_in_the_part_that_it_was_given() -> None:
    (split,) = splits(FixedSplit(validation=0.3), PARTS)
    assert split.train.tolist() == list(range(60))
    assert split.test.tolist() == list(range(60, 80))
    assert split.validation.tolist() == list(range(80, 100))
    assert FixedSplit().make_splits(PARTS, 0).refit is None


def test_each_given_fold_is_tested_once_and_a_negative_one_never() -> None:
    numbers = np.array([2, 2, 0, -1, 0, 7])
    made = splits(FixedFolds(), SplitInput(np.arange(6.0), is_classification=False, folds=numbers))
    assert [split.test.tolist() for split in made] == [[2, 4], [0, 1], [5]]
    assert all(3 in split.train for split in made)


# Time


def test_rows_of_one_time_are_never_divided_and_no_later_row_trains() -> None:
    times = TIMES.time_codes
    for splitter in (TimeSeries(folds=4, validation=0.25), TimeHoldout()):
        for split in splits(splitter, TIMES):
            assert times[split.train].max() < times[split.validation].min()
            assert times[split.validation].max() < times[split.test].min()
    for split in splits(TimeSeries(folds=4, validation=0.25), VALUES):
        assert len(split.validation) == round(0.25 * (len(split.train) + len(split.validation)))


def test_folds_gap_and_sizes_are_scikit_learns() -> None:
    oracle = TimeSeriesSplit(3, gap=4, max_train_size=30, test_size=10)
    made = splits(TimeSeries(folds=3, gap=4, max_train_size=30, test_size=10), VALUES)
    expected = [(train.tolist(), test.tolist()) for train, test in oracle.split(VALUES.y)]
    assert [(split.train.tolist(), split.test.tolist()) for split in made] == expected


def test_the_gap_also_lies_before_the_validation_part() -> None:
    for split in splits(TimeSeries(folds=3, gap=4, validation=0.25), VALUES):
        assert split.validation.min() - split.train.max() == 5
        assert split.test.min() - split.validation.max() == 5
    (split,) = splits(TimeHoldout(gap=3), VALUES)
    assert [part.tolist()[:1] + part.tolist()[-1:] for part in (split.train, split.validation, split.test)] == [
        [0, 53],
        [57, 76],
        [80, 99],
    ]


def test_the_fit_on_all_rows_is_limited_to_the_window() -> None:
    refit = TimeSeries(max_train_size=30, validation=0.2, gap=2).make_splits(VALUES, 0).refit
    assert refit is not None
    assert refit.validation.tolist() == list(range(94, 100))
    assert refit.train.tolist() == list(range(70, 92))


# Groups and time together


PANEL_SPLITTERS: list[GroupTimeSeries | GroupTimeHoldout] = [
    GroupTimeSeries(folds=3),
    GroupTimeSeries(folds=3, groups="new"),
    GroupTimeSeries(folds=3, test_size=4, groups="new", gap=1, validation=0.25, reserve=0.15),
    GroupTimeSeries(folds=3, test_size=4, gap=1, validation=0.25, reserve=0.15),
    GroupTimeHoldout(validation=0.2, gap=1),
    GroupTimeHoldout(validation=0.2, gap=1, groups="new"),
]


@pytest.mark.parametrize("splitter", PANEL_SPLITTERS)
def test_a_part_of_a_panel_has_later_rows_and_groups_that_are_as_asked_for(
    splitter: GroupTimeSeries | GroupTimeHoldout,
) -> None:
    groups, times = PANEL.groups, PANEL.time_codes
    assert groups is not None
    built = splitter.make_splits(PANEL, 0)

    def check(earlier: np.ndarray, later: np.ndarray) -> None:
        assert len(earlier) > 0
        assert len(later) > 0
        assert times[later].min() - times[earlier].max() > splitter.gap
        is_seen = np.isin(groups[later], groups[earlier])
        assert is_seen.all() if splitter.groups == "seen" else not is_seen.any()

    for split in [*built.folds, *([built.final] if built.final else [])]:
        fitted = np.concatenate([split.train, split.validation])
        check(fitted, split.test)
        if splitter.validation and splitter.groups == "new":
            check(split.train, split.validation)
        inner = splitter.make_inner_folds(PANEL, split.train, 2, seed=0)
        assert len(inner) == 2
        for fit, held_out in inner:
            check(split.train[fit], split.train[held_out])


def test_the_later_rows_of_seen_groups_are_all_rows_of_a_time_series_but_those_of_groups_that_begin_there() -> None:
    assert PANEL.groups is not None
    plain = TimeSeries(folds=3).make_splits(replace(PANEL, groups=None), 0).folds
    for split, whole in zip(splits(GroupTimeSeries(folds=3), PANEL), plain, strict=True):
        assert np.array_equal(split.train, whole.train)
        is_seen = np.isin(PANEL.groups[whole.test], PANEL.groups[whole.train])
        assert np.array_equal(split.test, whole.test[is_seen])


def test_new_groups_are_those_that_begin_later_and_another_fifth_of_the_others_for_each_fold() -> None:
    whole = replace(PANEL, times=np.tile(np.arange(24), 10))  # all groups from the beginning to the end
    assert whole.groups is not None
    tested = [set(whole.groups[split.test].tolist()) for split in splits(GroupTimeSeries(groups="new"), whole)]
    assert [len(fold) for fold in tested] == [2] * 5
    assert set.union(*tested) == set(range(10))
    # The proportions of the classes are kept among the groups that are held out.
    by_group = replace(whole, y=np.repeat(list("ababababab"), 24))
    for split in splits(GroupTimeSeries(groups="new"), by_group):
        assert Counter(by_group.y[split.test])["a"] == len(split.test) / 2


# The fit on all rows


@pytest.mark.parametrize(("splitter", "target", "count"), SPLITTERS)
def test_the_full_split_has_every_row_and_the_validation_part_that_each_split_has(
    splitter: Splitter, target: SplitInput, count: int
) -> None:
    plain = splitter.make_full_split(target, 0, with_validation=False)
    assert sorted(plain.train) == list(range(100))
    assert len(plain.validation) == len(plain.test) == 0
    full = splitter.make_full_split(target, 0, with_validation=True)
    assert rows(full) == list(range(100))
    assert len(full.test) == 0
    assert len(full.validation) == pytest.approx(100 * splitter.validation, abs=5)
    refit = splitter.make_splits(target, 0).refit
    assert refit is None or same([refit], [full])


def test_the_full_split_keeps_groups_proportions_order_and_given_validation_rows() -> None:
    full = Holdout().make_full_split(LABELS, 0, with_validation=True)
    assert [Counter(LABELS.y[part])["b"] for part in (full.train, full.validation)] == [16, 4]
    assert GROUPS.groups is not None
    grouped = Holdout().make_full_split(GROUPS, 0, with_validation=True)
    assert not set(GROUPS.groups[grouped.train]) & set(GROUPS.groups[grouped.validation])
    timed = TimeHoldout().make_full_split(TIMES, 0, with_validation=True)
    assert TIMES.time_codes[timed.train].max() < TIMES.time_codes[timed.validation].min()
    given = FixedSplit(validation=0.3).make_full_split(PARTS, 0, with_validation=True)
    assert given.validation.tolist() == list(range(80, 100))


# Inner folds


@pytest.mark.parametrize(
    ("splitter", "target"),
    [(GroupKFold(), GROUPS), (FixedFolds(), FOLDS), (Bootstrap(repeats=2), LABELS), (Holdout(), GROUPS)],
)
def test_inner_folds_keep_together_what_the_splits_keep_together(splitter: Splitter, target: SplitInput) -> None:
    for split in splits(splitter, target):
        known = target.folds if target.folds is not None else target.groups
        units = split.train if known is None else known[split.train]
        inner = splitter.make_inner_folds(target, split.train, 3, seed=0)
        assert sorted(position for _, held_out in inner for position in held_out) == list(range(len(split.train)))
        for fitted, held_out in inner:
            assert not set(units[fitted]) & set(units[held_out])


@pytest.mark.parametrize(("n_rare", "n_with_it"), [(1, {0, 1}), (3, {0, 1}), (10, {2})])
def test_inner_folds_keep_the_proportion_of_a_class_of_which_there_are_at_least_two(
    n_rare: int, n_with_it: set[int]
) -> None:
    target = SplitInput(np.repeat(["a", "b"], [40, n_rare]), is_classification=True)
    inner = KFold().make_inner_folds(target, np.arange(40 + n_rare), 5, seed=0)
    assert {int((target.y[held_out] == "b").sum()) for _, held_out in inner} == n_with_it


@pytest.mark.parametrize("target", [TIMES, VALUES])
def test_inner_folds_in_time_follow_the_rows_to_fit_on_after_the_gap(target: SplitInput) -> None:
    splitter = TimeSeries(folds=2, gap=2)
    for split in splits(splitter, target):
        times = target.time_codes[split.train]
        inner = splitter.make_inner_folds(target, split.train, 3, seed=0)
        assert len(inner) == 3
        for fitted, held_out in inner:
            assert times[held_out].min() - times[fitted].max() == 3
        assert inner[-1][1].max() == len(split.train) - 1


# Errors


@pytest.mark.parametrize(
    ("splitter", "values", "message"),
    [
        (Holdout, {"test": float("nan")}, "evaluation.test=nan"),
        (Holdout, {"validation": -0.1}, "evaluation.validation=-0.1 must be a fraction at least 0 and below 1"),
        (KFold, {"folds": True}, "evaluation.folds=True"),
        (KFold, {"target_bins": 1}, "evaluation.target_bins=1 must be an integer of at least 2"),
        (Bootstrap, {"repeats": 0}, "evaluation.repeats=0 must be an integer of at least 1"),
        (TimeSeries, {"gap": -1}, "evaluation.gap=-1 must be an integer of at least 0"),
        (TimeSeries, {"test_size": 0.2}, "evaluation.test_size=0.2 must be an integer of at least 1"),
    ],
)
def test_wrong_values_are_refused(splitter: type[Splitter], values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        splitter(**values)


def of(text: str, groups: list[int] | list[str] | None = None, **columns: list[Any]) -> SplitInput:
    given = columns if groups is None else {"groups": groups, **columns}
    arrays: dict[str, Any] = {name: np.array(values) for name, values in given.items()}
    return SplitInput(np.array(list(text)), is_classification=True, **arrays)


@pytest.mark.parametrize(
    ("splitter", "target", "message"),
    [
        (Holdout(test=0.5, validation=0.5), of("ab" * 5), "evaluation.validation=0.5 .* leaves no rows for training"),
        (KFold(folds=6), of("aabb"), "n_splits=6 .*; change evaluation.folds=6.$"),
        (Holdout(validation=0), of("abab", [1] * 4), "n_samples=1.*; change evaluation.test=0.2.$"),
        (TimeSeries(folds=3, validation=0.1), of("abab"), "evaluation.validation=0.1 .* leave no rows"),
        (TimeSeries(folds=3, validation=0.9), of("abab"), "evaluation.validation=0.9 .* leave no rows"),
        (TimeHoldout(gap=6), of("ab" * 5), "evaluation.validation=0.2 and evaluation.gap=6 leave no rows"),
        (GroupTimeHoldout(groups="new", validation=0), of("abab", [1] * 4), "groups=new leaves no rows .*groups=seen"),
        (TimeSeries(reserve=0.5, gap=5), of("ab" * 5), "reserve=0.5 and evaluation.gap=5 leave no rows for training"),
    ],
)
def test_rows_that_do_not_suffice_are_refused(splitter: Splitter, target: SplitInput, message: str) -> None:
    with pytest.raises(UserError, match=message):
        splits(splitter, target)


def test_a_splitter_without_end_is_stopped_at_the_limit() -> None:
    class Endless(Splitter):
        """Yields splits without end."""

        def iter_outer_splits(self, data, seed):  # type: ignore[no-untyped-def]
            while True:
                yield np.arange(90), np.arange(90, 100)

    with pytest.raises(UserError, match=r"evaluation would fit more than 50 folds, but max_folds=50"):
        Endless().make_splits(LABELS, seed=0, max_folds=50)


def test_row_numbers_that_take_too_much_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = LeaveOneOut().make_splits(LABELS, seed=0)
    n_bytes = sum(fold.n_bytes for fold in splits.folds)
    monkeypatch.setattr("bakeoff.pipeline.stages.splitting.splitter.MAX_BYTES", n_bytes - 1)
    with pytest.raises(UserError, match="the row numbers of all folds may use"):
        LeaveOneOut().make_splits(LABELS, seed=0)
