"""Splits: parts never overlap, classes keep their proportions, groups stay whole, and a seed determines the splits."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting import (
    GroupKFold,
    Holdout,
    KFold,
    LeaveOneOut,
    Split,
    SplitInput,
    Splits,
    Splitter,
    TimeSeries,
)

LABELS = SplitInput(np.array(list("aaaaaaaabb") * 10), is_classification=True)
VALUES = SplitInput(np.linspace(0.0, 1.0, 100), is_classification=False)
GROUPS = SplitInput(LABELS.y, is_classification=True, groups=np.arange(100) // 5)
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
]


def splits(splitter: Splitter, target: SplitInput, seed: int = 0) -> list[Split]:
    return list(splitter.make_splits(target, seed).folds)


def rows(split: Split) -> list[int]:
    return sorted([*split.train, *split.validation, *split.test])


def same(one: list[Split], other: list[Split]) -> bool:
    parts = [(getattr(a, part), getattr(b, part)) for a, b in zip(one, other, strict=True) for part in vars(a)]
    return all(np.array_equal(a, b) for a, b in parts)


# Properties of every splitter


@pytest.mark.parametrize(("splitter", "target", "count"), SPLITTERS)
def test_parts_never_overlap_and_training_and_test_have_rows(
    splitter: Splitter, target: SplitInput, count: int
) -> None:
    built = splits(splitter, target)
    assert len(built) == count
    for split in built:
        assert len(set(rows(split))) == len(rows(split))
        assert len(split.train) > 0
        assert len(split.test) > 0
        assert (len(split.validation) > 0) == (splitter.validation > 0)


@pytest.mark.parametrize(("splitter", "target", "count"), SPLITTERS)
def test_parts_cover_all_rows_except_those_still_in_the_future(
    splitter: Splitter, target: SplitInput, count: int
) -> None:
    for split in splits(splitter, target):
        seen = split.test.max() + 1 if isinstance(splitter, TimeSeries) else 100
        assert rows(split) == list(range(seen))


@pytest.mark.parametrize(("splitter", "target", "count"), SPLITTERS)
def test_the_same_seed_gives_the_same_splits(splitter: Splitter, target: SplitInput, count: int) -> None:
    assert same(splits(splitter, target, seed=3), splits(splitter, target, seed=3))
    shuffles = not isinstance(splitter, TimeSeries) and not (
        isinstance(splitter, LeaveOneOut) and splitter.validation == 0
    )
    assert same(splits(splitter, target, seed=3), splits(splitter, target, seed=4)) != shuffles


@pytest.mark.parametrize(
    ("splitter", "target"),
    [(splitter, target) for splitter, target, _ in SPLITTERS if not isinstance(splitter, Holdout | TimeSeries)],
)
def test_cross_validation_tests_each_row_once_a_repeat(splitter: Splitter, target: SplitInput) -> None:
    tested = Counter(row for split in splits(splitter, target) for row in split.test.tolist())
    assert set(tested) == set(range(100))
    assert set(tested.values()) == {getattr(splitter, "repeats", 1)}


@examples(40)
@given(
    counts=st.lists(st.integers(10, 40), min_size=2, max_size=4),
    test=st.floats(0.15, 0.4),
    validation=st.sampled_from([0.0, 0.15, 0.3]),
    seed=st.integers(0, 2**31),
)
def test_holdout_keeps_sizes_and_proportions(counts: list[int], test: float, validation: float, seed: int) -> None:
    y = np.repeat(np.arange(len(counts)), counts)
    (split,) = splits(Holdout(test=test, validation=validation), SplitInput(y, is_classification=True), seed)
    assert rows(split) == list(range(len(y)))
    assert (len(split.test), len(split.validation)) == (round(test * len(y)), round(validation * len(y)))
    for part in (split.train, split.test):
        share = np.bincount(y[part], minlength=len(counts)) / len(part)
        np.testing.assert_allclose(share, np.array(counts) / len(y), atol=2 / len(part))


# Proportions and fractions


def test_stratified_parts_hold_each_class_in_proportion() -> None:
    (split,) = splits(Holdout(), LABELS)
    assert [Counter(LABELS.y[part])["b"] for part in (split.train, split.validation, split.test)] == [12, 4, 4]
    for fold in splits(KFold(folds=5, validation=0.2), LABELS):
        assert [Counter(LABELS.y[part])["b"] for part in (fold.train, fold.validation, fold.test)] == [12, 4, 4]


def test_without_stratification_proportions_are_left_to_chance() -> None:
    shares = {Counter(LABELS.y[fold.test])["b"] for fold in splits(KFold(stratify=False), LABELS)}
    assert len(shares) > 1


def test_validation_is_a_fraction_of_all_rows() -> None:
    (split,) = splits(Holdout(test=0.25, validation=0.15), VALUES)
    assert [len(part) for part in (split.train, split.validation, split.test)] == [60, 15, 25]
    for fold in splits(KFold(folds=10, validation=0.2), VALUES):
        assert [len(part) for part in (fold.train, fold.validation, fold.test)] == [70, 20, 10]


def test_the_validation_part_does_not_move_the_test_part() -> None:
    without, with_it = splits(KFold(), LABELS), splits(KFold(validation=0.3), LABELS)
    assert all(np.array_equal(a.test, b.test) for a, b in zip(without, with_it, strict=True))


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


def test_repeats_are_fresh_shuffles_and_the_first_is_plain_k_fold() -> None:
    repeated, plain = splits(KFold(folds=5, repeats=2), LABELS), splits(KFold(folds=5), LABELS)
    assert same(repeated[:5], plain)
    assert not same(repeated[5:], plain)


def test_a_future_row_never_trains_and_validation_rows_are_the_latest_before_the_test() -> None:
    for split in splits(TimeSeries(folds=4, validation=0.25), VALUES):
        assert split.train.max() < split.validation.min()
        assert split.validation.max() < split.test.min()
        assert len(split.validation) == round(0.25 * (len(split.train) + len(split.validation)))


@pytest.mark.parametrize(
    "splitter", [Holdout(), GroupKFold(validation=0.2), GroupKFold(validation=0.2, stratify=False)]
)
def test_groups_are_never_torn(splitter: Splitter) -> None:
    assert GROUPS.groups is not None
    for split in splits(splitter, GROUPS):
        train, validation, test = (set(GROUPS.groups[part]) for part in (split.train, split.validation, split.test))
        assert not train & validation
        assert not (train | validation) & test


# The fit on all rows


def test_the_fit_on_all_rows_keeps_a_validation_part_and_tests_nothing() -> None:
    split = KFold(validation=0.2).make_splits(LABELS, 0).refit
    assert split is not None
    assert [len(part) for part in (split.train, split.validation, split.test)] == [80, 20, 0]
    plain = KFold().make_splits(LABELS, 0).refit
    assert plain is not None
    assert plain.train.tolist() == list(range(100))


def test_holdout_is_not_fitted_again() -> None:
    assert Holdout().make_splits(LABELS, 0).refit is None


def test_the_fit_on_all_rows_of_a_series_validates_on_the_latest() -> None:
    split = TimeSeries(validation=0.1).make_splits(VALUES, 0).refit
    assert split is not None
    assert split.validation.tolist() == list(range(90, 100))


# Errors


@pytest.mark.parametrize(
    ("splitter", "values", "message"),
    [
        (Holdout, {"test": 0}, "evaluation.test=0 must be a fraction above 0 and below 1"),
        (Holdout, {"test": 1.0}, "evaluation.test=1.0"),
        (Holdout, {"test": 20}, "evaluation.test=20"),
        (Holdout, {"test": "half"}, "evaluation.test='half'"),
        (Holdout, {"test": float("nan")}, "evaluation.test=nan"),
        (Holdout, {"validation": -0.1}, "evaluation.validation=-0.1 must be a fraction at least 0 and below 1"),
        (Holdout, {"validation": True}, "evaluation.validation=True"),
        (Holdout, {"test": 0.5, "validation": 0.5}, "leave no rows for training; their sum must be below 1"),
        (KFold, {"folds": 1}, "evaluation.folds=1 must be an integer of at least 2"),
        (KFold, {"folds": 2.5}, "evaluation.folds=2.5"),
        (KFold, {"folds": True}, "evaluation.folds=True"),
        (KFold, {"repeats": 0}, "evaluation.repeats=0 must be an integer of at least 1"),
        (GroupKFold, {"folds": 1}, "evaluation.folds=1"),
        (TimeSeries, {"folds": 1}, "evaluation.folds=1"),
    ],
)
def test_wrong_values_are_refused(splitter: type[Splitter], values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        splitter(**values)


def of(text: str, groups: list[int] | None = None) -> SplitInput:
    return SplitInput(np.array(list(text)), is_classification=True, groups=None if groups is None else np.array(groups))


@pytest.mark.parametrize(
    ("splitter", "target", "message"),
    [
        (Holdout(validation=0), of("ab"), "evaluation.test=0.2 is 0 of 2 rows; both parts need rows"),
        (Holdout(validation=0.01), of("ab" * 10), "evaluation.validation=0.01 is 0 of 20 rows"),
        (
            Holdout(),
            of("a" + "b" * 9),
            r"\(2 of 10 rows\) cannot hold every class in proportion: there are 2, and 'a' has 1 of the rows",
        ),
        (Holdout(), of("ababab", [1] * 6), r"evaluation.test is 1 of 6 rows, but they form too few groups \(1\)"),
        (Holdout(), of("abababab", [1] * 4 + [2] * 4), r"evaluation.validation .* too few groups \(1\)"),
        (
            KFold(folds=7),
            SplitInput(np.arange(6.0), is_classification=False),
            "evaluation.folds=7, but there are 6 rows",
        ),
        (KFold(folds=3), of("aaaaabb"), "class 'b' has 2 rows; use at most 2 folds, or evaluation.stratify=false"),
        (KFold(folds=2), of("aaab"), "class 'b' has 1 row; drop it, or set evaluation.stratify=false"),
        (KFold(folds=2, validation=0.5), of("abab"), "evaluation.validation=0.5 is 2 of 4 rows, and 2 remain"),
        (KFold(folds=2), of("aabb", [1, 2, 3, 4]), "would split groups; use evaluation=group_kfold"),
        (LeaveOneOut(), of("aabb", [1, 2, 3, 4]), "would split groups"),
        (TimeSeries(folds=2), of("aabb", [1, 2, 3, 4]), "would split groups"),
        (GroupKFold(folds=2), of("aabb"), "needs groups; name their column with dataset.groups=COLUMN"),
        (GroupKFold(folds=3), of("ababab", [1, 1, 1, 2, 2, 2]), "evaluation.folds=3, but there are 2 groups"),
        (GroupKFold(folds=3), of("aaaab", [1, 2, 3, 4, 5]), "class 'b' has 1 row; drop it"),
        (LeaveOneOut(), of("a"), "needs at least 2 rows"),
        (TimeSeries(folds=4), of("abab"), "evaluation.folds=4 needs more than 4 rows"),
        (TimeSeries(folds=3, validation=0.1), of("abab"), "evaluation.validation=0.1 is 0 of 1 rows"),
        (TimeSeries(folds=3, validation=0.9), of("abab"), "evaluation.validation=0.9 is 1 of 1 rows"),
    ],
)
def test_rows_that_do_not_suffice_are_refused(splitter: Splitter, target: SplitInput, message: str) -> None:
    with pytest.raises(UserError, match=message):
        splits(splitter, target)
