"""Runs that are arranged for a comparison, and those that cannot be compared: each with its sentence."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from bakeoff.pipeline.commands.compare.run_grid import (
    RunFacts,
    arrange_runs,
    describe_absent_job,
    describe_run,
    name_configurations,
)
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.stored_runs import StoredRun

ROWS = '{"train": 90.0, "validation": 0.0, "test": 10.0}'


def make_run(
    learner: str = "knn",
    dataset: str = "iris",
    seed: str = "0",
    *,
    status: str = "FINISHED",
    started: int = 0,
    params: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
) -> RunFacts:
    name = f"{learner} {dataset} {seed} {started} {params}"
    own_params = {
        "dataset": dataset, "learner": learner, "evaluation": "kfold", "evaluation.folds": "10", "seed": seed,
        "learner.random_state": seed, "preprocessing": "none", "tuning": "none", "pruning": "none", **(params or {}),
    }  # fmt: skip
    own_tags = {
        "config_hash": name,
        "dataset_digest": f"rows of {dataset}",
        "splits_digest": f"splits of {dataset} {seed}",
        "rows_per_fold": ROWS,
        **(tags or {}),
    }
    run_id = hashlib.md5(name.encode()).hexdigest()
    return describe_run(StoredRun(run_id, name, status, False, started, own_params, own_tags, {"test_accuracy": 0.9}))


def refuse(facts: Sequence[RunFacts], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        arrange_runs(facts)


# Configurations


OF_A_DATASET = ("dataset.path", "tuned.n_neighbors", "preprocessing.chosen")


def test_a_configuration_is_everything_but_dataset_seed_and_evaluation() -> None:
    runs = [
        make_run("knn", dataset, seed, params=dict.fromkeys(OF_A_DATASET, dataset))
        for dataset in ("iris", "wine")
        for seed in ("0", "1")
    ]
    assert len({run.configuration for run in runs}) == 1
    assert make_run(params={"learner.n_neighbors": "3"}).configuration != runs[0].configuration
    assert make_run(params={"learner.random_state": "7"}).configuration != runs[0].configuration


def test_parameters_that_tuning_chooses_are_not_in_the_name() -> None:
    runs = [
        make_run("knn", params={"learner.n_neighbors": "3", "learner.p": "1"}),
        make_run("knn", params={"learner.n_neighbors": "5", "tuning": "grid", "tuning.space.n_neighbors": "[1, 5]"}),
    ]
    names = list(name_configurations([run.configuration for run in runs]).values())
    assert names == ["knn tuning=none n_neighbors=3 p=1", "knn grid"]


def test_two_configurations_never_have_one_name() -> None:
    long = "x" * 40
    runs = [make_run(params={"learner.feature_weights": f"{long}{end}"}) for end in "ab"]
    names = list(name_configurations([run.configuration for run in runs]).values())
    assert len(set(names)) == 2


# Pairing


def test_of_runs_of_one_job_the_newest_counts_and_this_is_said() -> None:
    old = make_run(started=1, tags={"config_hash": "a"})
    new = make_run(started=2, tags={"config_hash": "a"})
    grid, notes = arrange_runs([new, old, make_run("svm")])
    assert grid["knn", "iris"] == (new,)
    assert notes == ["Ignored: 1 older run of the same jobs; only the newest run of each job is compared."]


def test_runs_on_other_splits_are_refused_with_what_differs() -> None:
    other = make_run("svm", params={"evaluation.folds": "5"}, tags={"splits_digest": "other"})
    refuse([make_run(), other], r"on iris.*scored on different splits.*differ in evaluation\.folds \(10 and 5\)")


def test_validation_rows_do_not_make_other_splits() -> None:
    grid, _ = arrange_runs([make_run(), make_run("svm", params={"evaluation.validation": "0.2"})])
    assert not any(run.reason for cell in grid.values() for run in cell)


def test_other_seeds_are_refused_with_the_seeds() -> None:
    refuse(
        [make_run(seed="0"), make_run("svm", seed="0"), make_run("svm", seed="1")],
        "knn has no run with seed 1, which other configurations have",
    )
    refuse([make_run(seed="0"), make_run("svm", seed="1")], "different seeds give different splits")


def test_runs_without_a_digest_of_their_splits_are_refused_with_the_cure() -> None:
    refuse([make_run(tags={"splits_digest": ""}), make_run("svm")], "do not record their splits.*resume=false")
    refuse([make_run(tags={"rows_per_fold": "{}"}), make_run("svm")], "do not record their splits")


def test_one_configuration_that_was_evaluated_in_two_ways_is_refused() -> None:
    holdout = make_run(params={"evaluation": "holdout"}, started=1, tags={"splits_digest": "other"})
    refuse([make_run(), holdout, make_run("svm")], r"different splits.*evaluation \(kfold and holdout\)")


def test_two_versions_of_a_dataset_are_refused() -> None:
    old = {"dataset_digest": "aaaaaaaa", "splits_digest": "a"}
    new = {"dataset_digest": "bbbbbbbb", "splits_digest": "b"}
    refuse([make_run(tags=old), make_run("svm", tags=new)], "used several versions of its rows")


def test_one_run_and_one_configuration_are_refused() -> None:
    refuse([make_run()], "one run only")
    refuse([make_run(seed="0"), make_run(seed="1")], "2 runs of one configuration only")


def test_nothing_finished_is_refused_with_the_reasons() -> None:
    refuse(
        [make_run(status="FAILED", tags={"error": "ValueError: no"})],
        "none of the 1 selected runs finished.*ValueError: no",
    )


def test_runs_of_other_code_and_deleted_runs_are_refused() -> None:
    stored = make_run().run
    with pytest.raises(UserError, match="has no param 'learner'"):
        describe_run(replace(stored, params={"dataset": "iris"}))
    with pytest.raises(UserError, match="was deleted"):
        describe_run(replace(stored, is_deleted=True))


# Empty cells


def test_a_failed_run_whose_job_finished_later_does_not_count() -> None:
    failed = make_run("svm", status="FAILED")
    finished = make_run("svm")
    assert arrange_runs([make_run(), finished, failed])[0]["svm", "iris"] == (finished,)


def test_a_job_that_was_refused_is_an_empty_cell() -> None:
    refused = describe_absent_job("svm", "cars", "refused: none")
    grid, _ = arrange_runs([make_run(), make_run("svm"), make_run("knn", "cars"), refused])
    assert {key: run.reason for key, (run,) in grid.items() if run.reason} == {("svm", "cars"): "refused: none"}


def test_what_never_finished_is_left_out_and_this_is_said() -> None:
    failed = make_run("mlp", status="FAILED", tags={"error": "MemoryError"})
    _, notes = arrange_runs([make_run(), make_run("svm"), failed])
    assert notes == ["Left out, because none of its runs finished: mlp on iris: failed: MemoryError"]


@pytest.mark.parametrize(
    ("params", "is_free"),
    [
        ({}, True),
        ({"pruning": "best_first"}, False),
        ({"pruning": "cost_complexity"}, True),
        ({"tuning": "grid", "tuning.folds": "0"}, False),
        ({"tuning": "grid", "tuning.folds": "5"}, True),
    ],
)
def test_validation_rows_that_were_used_for_a_choice_are_not_free(params: Mapping[str, str], is_free: bool) -> None:
    rows = {"rows_per_fold": '{"train": 70.0, "validation": 20.0, "test": 10.0}'}
    assert make_run(params=params, tags=rows).has_free_validation_rows == is_free
    assert not make_run(params=params).has_free_validation_rows
