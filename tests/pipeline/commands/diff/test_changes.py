"""The changes between two configurations, and the hybrids that contain some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bakeoff.pipeline.commands.diff.changes import Change, Mixture, Variant, find_changes, join_changes

PARTS = ("tuning", "pruning", "balance", "target", "calibration", "threshold")


def make_variant(words: tuple[str, ...] = (), choices: dict[str, str] | None = None, **parts: Any) -> Variant:
    spec: dict[str, Any] = {part: {"_target_": "none"} for part in PARTS}
    spec |= {
        "dataset": {"_target_": "read", "path": "a.csv", "drop": []},
        "preprocessing": {"_target_": "none"},
        "learner": {"_target_": "Knn", "n_neighbors": 5, "p": 2},
        "evaluation": {"_target_": "KFold", "folds": 5, "validation": 0},
    }
    return Variant({**spec, **parts}, {"learner": "knn", "preprocessing": "none", **(choices or {})}, words)


def mix(a: Variant, b: Variant, changes: Sequence[Change]) -> Variant:
    """Return the first configuration with all of some changes."""
    return Mixture(a, b, changes).make_hybrid(range(len(changes)))


def test_keys_of_one_option_are_changes_of_their_own() -> None:
    a = make_variant()
    b = make_variant(learner={"_target_": "Knn", "n_neighbors": 9, "p": 1})
    changes = find_changes(a, b)
    assert [(each.key, each.before, each.after) for each in changes] == [
        ("learner.n_neighbors", "5", "9"),
        ("learner.p", "2", "1"),
    ]
    hybrid = mix(a, b, changes[:1])
    assert hybrid.spec["learner"] == {"_target_": "Knn", "n_neighbors": 9, "p": 2}
    assert hybrid.overrides == ("learner.n_neighbors=9",)
    assert mix(a, b, changes).spec == b.spec
    assert mix(a, b, []) == a
    assert a.spec["learner"]["n_neighbors"] == 5


def test_another_option_is_one_change_with_its_keys() -> None:
    a = make_variant(("learner=knn", "seed=1"))
    b = make_variant(("learner=svm", "learner.C=3"), {"learner": "svm"}, learner={"_target_": "Svc", "C": 3})
    (change,) = find_changes(a, b)
    assert (change.key, change.before, change.after) == ("learner", "knn", "svm C=3")
    hybrid = mix(a, b, [change])
    assert (hybrid.spec["learner"], hybrid.choices["learner"]) == (b.spec["learner"], "svm")
    assert hybrid.overrides == ("seed=1", "learner=svm", "learner.C=3")


def test_a_key_that_only_one_side_has_is_added_or_removed() -> None:
    a = make_variant(
        ("+learner.metric=cosine",), learner={"_target_": "Knn", "n_neighbors": 5, "p": 2, "metric": "cosine"}
    )
    b = make_variant()
    (change,) = find_changes(a, b)
    assert (change.before, change.after) == ("cosine", "not set")
    without = mix(a, b, [change])
    assert "metric" not in without.spec["learner"]
    assert without.overrides == ()
    back = mix(b, a, find_changes(b, a))
    assert back.spec == a.spec
    assert back.overrides == ("+learner.metric=cosine",)
    # No word has added the key, so a word removes it.
    assert mix(make_variant((), learner=a.spec["learner"]), b, [change]).overrides == ("~learner.metric",)


@pytest.mark.parametrize(
    ("before", "key"),
    [({}, "tuning.space"), ({"space": None}, "tuning.space"), ({"space": {}}, "tuning.space.p")],
    ids=["one side lacks it", "one side has no mapping", "one side is empty"],
)
def test_a_mapping_is_compared_key_by_key_if_both_sides_have_one(before: dict[str, Any], key: str) -> None:
    a = make_variant(tuning={"_target_": "Grid", **before})
    b = make_variant(tuning={"_target_": "Grid", "space": {"p": [1, 2]}})
    changes = find_changes(a, b)
    assert [change.key for change in changes] == [key]
    assert mix(a, b, changes).spec == b.spec


def test_files_and_keys_of_a_dataset_are_changes_and_its_test_rows_are_not() -> None:
    b = make_variant(
        dataset={"_target_": "read", "path": "b.csv", "drop": ["id"]},
        evaluation={"_target_": "KFold", "folds": 10, "validation": 0.2},
    )
    keys = [each.key for each in find_changes(make_variant(), b)]
    assert keys == ["dataset.path", "dataset.drop", "evaluation.validation"]


def test_a_column_that_is_left_out_loses_its_other_roles() -> None:
    dataset = {"_target_": "read", "path": "a.csv", "drop": ["id"], "nominal": ["sex"], "units": {"age": "y", "n": "1"}}
    a = make_variant(("dataset=file", "dataset.drop=[id]"), dataset=dataset)
    mixed = mix(a, a, [Change("age", "", "", (), ("age",)), Change("sex", "", "", (), ("sex",))])
    assert mixed.spec["dataset"] == {
        "_target_": "read", "path": "a.csv", "drop": ["id", "age", "sex"], "nominal": [], "units": {"n": "1"},
    }  # fmt: skip
    assert mixed.overrides == ("dataset=file", "dataset.drop=[id,age,sex]")


def test_changes_that_need_the_learner_are_joined_with_it_in_its_place() -> None:
    a = make_variant()
    b = make_variant(
        (),
        {"learner": "tree", "pruning": "best", "preprocessing": "scale"},
        preprocessing={"_target_": "Scale"},
        learner={"_target_": "Tree"},
        tuning={"_target_": "none", "folds": 3},
        pruning={"_target_": "P"},
    )
    joined = join_changes(find_changes(a, b), {"learner", "pruning"})
    assert [(each.key, each.before, each.after) for each in joined] == [
        ("preprocessing", "none", "scale"),
        ("learner, pruning", "knn, none", "tree, best"),
        ("tuning.folds", "not set", "3"),
    ]
    assert mix(a, b, joined).spec == b.spec
