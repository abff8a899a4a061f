"""The changes between two configurations, and the hybrids that contain some of them."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.pipeline.commands.diff.changes import Variant, find_changes, join_changes, mix_variants

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


def test_keys_of_one_option_are_changes_of_their_own() -> None:
    a = make_variant()
    b = make_variant(learner={"_target_": "Knn", "n_neighbors": 9, "p": 1})
    changes = find_changes(a, b)
    assert [(each.key, each.before, each.after) for each in changes] == [
        ("learner.n_neighbors", "5", "9"),
        ("learner.p", "2", "1"),
    ]
    hybrid = mix_variants(a, b, changes[:1])
    assert hybrid.spec["learner"] == {"_target_": "Knn", "n_neighbors": 9, "p": 2}
    assert hybrid.overrides == ("learner.n_neighbors=9",)
    assert mix_variants(a, b, changes).spec == b.spec
    assert mix_variants(a, b, []) == a
    assert a.spec["learner"]["n_neighbors"] == 5


def test_another_option_is_one_change_with_its_keys() -> None:
    a = make_variant(("learner=knn", "seed=1"))
    b = make_variant(("learner=svm", "learner.C=3"), {"learner": "svm"}, learner={"_target_": "Svc", "C": 3})
    (change,) = find_changes(a, b)
    assert (change.key, change.before, change.after) == ("learner", "knn", "svm C=3")
    hybrid = mix_variants(a, b, [change])
    assert (hybrid.spec["learner"], hybrid.choices["learner"]) == (b.spec["learner"], "svm")
    assert hybrid.overrides == ("seed=1", "learner=svm", "learner.C=3")


def test_a_key_that_only_one_side_has_is_added_or_removed() -> None:
    a = make_variant(
        ("+learner.metric=cosine",), learner={"_target_": "Knn", "n_neighbors": 5, "p": 2, "metric": "cosine"}
    )
    b = make_variant()
    (change,) = find_changes(a, b)
    assert (change.before, change.after) == ("cosine", "not set")
    assert "metric" not in mix_variants(a, b, [change]).spec["learner"]
    (back,) = find_changes(b, a)
    assert mix_variants(b, a, [back]).spec == a.spec
    assert mix_variants(a, b, [change]).overrides == ()
    assert mix_variants(b, a, [back]).overrides == ("+learner.metric=cosine",)


@pytest.mark.parametrize("before", [{"_target_": "Grid"}, {"_target_": "Grid", "space": None}])
def test_a_mapping_that_one_side_lacks_is_one_change(before: dict[str, Any]) -> None:
    a = make_variant(tuning=before)
    b = make_variant(tuning={"_target_": "Grid", "space": {"p": [1, 2], "C": [1]}})
    (change,) = find_changes(a, b)
    assert change.key == "tuning.space"
    assert mix_variants(a, b, [change]).spec == b.spec


def test_a_mapping_that_is_filled_counts_each_key_once() -> None:
    a = make_variant(tuning={"_target_": "Grid", "space": {}})
    b = make_variant(tuning={"_target_": "Grid", "space": {"p": [1, 2]}})
    changes = find_changes(a, b)
    assert [each.key for each in changes] == ["tuning.space.p"]
    assert mix_variants(a, b, changes).spec == b.spec


def test_files_and_keys_of_a_dataset_are_changes_and_its_test_rows_are_not() -> None:
    a = make_variant()
    b = make_variant(
        dataset={"_target_": "read", "path": "b.csv", "drop": ["id"]},
        evaluation={"_target_": "KFold", "folds": 10, "validation": 0.2},
    )
    assert [each.key for each in find_changes(a, b)] == ["dataset.path", "dataset.drop", "evaluation.validation"]


@pytest.mark.parametrize("columns", [("sex",), ("sex", "age")])
def test_a_column_that_is_left_out_loses_its_other_roles(columns: tuple[str, ...]) -> None:
    from bakeoff.pipeline.commands.diff.changes import Change

    dataset = {"_target_": "read", "path": "a.csv", "drop": ["id"], "nominal": ["sex"], "units": {"age": "y"}}
    a = make_variant(dataset=dataset)
    mixed = mix_variants(a, a, [Change("columns", "", "", (), columns)]).spec["dataset"]
    assert mixed["drop"] == ["id", *columns]
    assert mixed["nominal"] == []
    assert mixed["units"] == ({} if "age" in columns else {"age": "y"})


def test_changes_that_need_the_learner_are_joined_with_it() -> None:
    a = make_variant()
    b = make_variant(
        (), {"learner": "tree", "pruning": "best"}, learner={"_target_": "Tree"}, pruning={"_target_": "P"}
    )
    joined = join_changes(find_changes(a, b), {"learner", "pruning"})
    assert [(each.key, each.before, each.after) for each in joined] == [("learner, pruning", "knn, none", "tree, best")]
    assert mix_variants(a, b, joined).spec == b.spec
