"""``bakeoff diff`` of unlike runs: changes that need each other, other test rows, other tasks."""

from __future__ import annotations

import json

import pytest
from command import Bakeoff

FOLDS = ("dataset=wine", "evaluation=kfold", "tracking.models=false")
HELD = "evaluation.validation=0.2"
TUNING = ("tuning=grid", "+tuning.space={n_neighbors:[1,9]}")


def run(bakeoff: Bakeoff, *words: str) -> str:
    """Run a configuration and return its id."""
    assert bakeoff(*FOLDS, *words).status == 0
    return str(bakeoff.runs()[0].info.run_id)


@pytest.mark.parametrize(
    ("before", "after", "key", "values"),
    [
        (("learner=knn",), ("learner=knn", *TUNING), "tuning, evaluation.validation", ()),
        (
            ("learner=decision_tree",),
            ("learner=decision_tree", "pruning=bottom_up"),
            "pruning, evaluation.validation",
            (),
        ),
        (
            ("learner=decision_tree", "pruning=best_first", HELD),
            ("learner=knn", "pruning=none", HELD),
            "learner, pruning",
            ("decision_tree, best_first", "knn, none"),
        ),
    ],
    ids=["tuning", "pruning", "learner"],
)
def test_changes_that_are_invalid_without_each_other_are_one(
    bakeoff: Bakeoff, before: tuple[str, ...], after: tuple[str, ...], key: str, values: tuple[str, ...]
) -> None:
    answer = bakeoff("diff", run(bakeoff, *before), run(bakeoff, *after), "to=json")
    assert answer.status == 0, answer.err
    found = json.loads(answer.out)
    (change,) = found["changes"]
    assert change["key"] == key
    assert change["effect"] == pytest.approx(found["difference"], abs=1e-12)
    assert values in ((), (change["before"], change["after"]))


def test_several_folds_are_not_called_one_split_because_the_runs_have_other_ones(bakeoff: Bakeoff) -> None:
    a, b = run(bakeoff, "learner=knn"), run(bakeoff, "learner=knn", "learner.n_neighbors=9", "seed=1")
    text = " ".join(bakeoff("diff", a, b).out.split())
    assert "The runs have other test rows, so their scores are not paired" in text
    assert "The rows are compared on the test rows of the second run" in text
    assert "With one split" not in text


def test_rows_that_are_gone_belong_to_the_rest(bakeoff: Bakeoff) -> None:
    ids = []
    for n_rows in (60, 50):
        cells = [f"{i},{i % 7},{'up' if i % 3 else 'down'}" for i in range(n_rows)]
        (bakeoff.folder / "t.csv").write_text("\n".join(["x,z,y", *cells]))
        words = ("dataset=file", "dataset.path=t.csv", "dataset.target=y", "learner=knn", "evaluation=kfold")
        assert bakeoff(*words, "tracking.models=false").status == 0
        ids.append(bakeoff.runs()[0].info.run_id)
    found = json.loads(bakeoff("diff", *ids, "to=json").out)
    assert [row["key"] for row in found["changes"]] == ["the rest"]
    assert found["changes"][0]["effect"] == pytest.approx(found["difference"], abs=1e-12) != 0


def test_data_that_a_change_explains_are_not_called_separate(bakeoff: Bakeoff) -> None:
    (bakeoff.folder / "t.csv").write_text(
        "\n".join(["x,z,y", *(f"{i * 5 % 61},{i % 7},{'ab'[i % 2]}" for i in range(60))])
    )
    ids = []
    for dropped in ("[]", "[z]"):
        words = ("dataset=file", "dataset.path=t.csv", "dataset.target=y", "learner=knn", "evaluation=kfold")
        assert bakeoff(*words, f"dataset.drop={dropped}", "tracking.models=false").status == 0
        ids.append(bakeoff.runs()[0].info.run_id)
    text = bakeoff("diff", *ids).out
    assert "dataset.drop" in text
    assert "other differences" not in text
