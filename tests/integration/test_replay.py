"""``bakeoff replay``: a stored run is repeated to the bit, and whatever is different is named."""

from __future__ import annotations

import itertools
import json
import sqlite3
from types import SimpleNamespace

import numpy as np
import pytest
from command import Bakeoff, command_in
from warm_process import OUTPUT, Start

from bakeoff.learners import REGISTRY
from bakeoff.pipeline.tracking.provenance import find_thread_pools

OWN_LEARNER = """
from sklearn.dummy import DummyClassifier


class Own(DummyClassifier):
    pass
"""
SHORT = ("evaluation=kfold", "evaluation.folds=2", "preprocessing=standardize")
CSV = "x,z,y\n" + "".join(f"{row},{row * row % 7},{'ab'[row % 3 == 0]}\n" for row in range(30))


OTHERS = ("sklearn_hist_gradient_boosting", "sklearn_mlp", "sklearn_random_forest")
"""Learners of scikit-learn that draw numbers or use threads, for all of them."""


@pytest.mark.slow
def test_every_learner_is_identical_in_another_process(bakeoff: Bakeoff, start: Start) -> None:
    learners = [*REGISTRY, *OTHERS]
    words = (f"learner={','.join(learners)}", "dataset=iris,cars", "preprocessing=standardize", "on_invalid=skip")
    assert bakeoff("-m", *words).status == 0
    runs = bakeoff.runs()
    assert sorted(run.data.params["learner"] for run in runs) == sorted(learners)
    replay = start(bakeoff.folder, ["replay", "sweep=latest"])
    assert replay.wait(300) == 0
    lines = (bakeoff.folder / OUTPUT).read_text().splitlines()
    assert [line for line in lines if " identical: " not in line] == [f"{len(runs)} runs: {len(runs)} identical"]


def test_a_replay_tries_as_many_candidates_in_each_fold_as_a_run_with_a_budget(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("learner=sklearn_knn", "dataset=iris", "tuning=default", *SHORT)
    ticks = (1000.0 * call**1.5 for call in itertools.count())
    with monkeypatch.context() as patch:
        patch.setattr("bakeoff.pipeline.stages.tuning.grid.time", SimpleNamespace(monotonic=lambda: next(ticks)))
        answer = bakeoff(*words, "tuning.budget=10h")
    assert answer.status == 0, answer.err
    (run,) = bakeoff.runs()
    tried = json.loads(run.data.tags["tried_candidates"])
    assert len(set(tried)) == len(tried) == 3
    assert "tuning: at most 303 fits for 3 models, each chosen from 20 candidates in at most 10 h" in answer.out
    assert f"tuning.budget: {min(tried)} to {max(tried)} candidates tried for each model" in answer.out
    assert run.data.metrics["fits"] == np.mean([1 + 5 * each for each in tried[:2]])
    assert "identical" in bakeoff("replay", "latest").out
    again = bakeoff("compare", "-m", *words, "tuning.budget=36000,1h")
    assert len(bakeoff.runs()) == 2  # 36000 s are 10 h
    assert "different numbers of candidates were tried in a fold" in " ".join(again.out.split())


@pytest.mark.slow
def test_folds_that_two_processes_shared_are_identical_to_their_replay(bakeoff: Bakeoff) -> None:
    words = ("learner=random_forest", "dataset=iris", "n_jobs=2", "tuning=grid", "space.max_depth=[2,3]")
    assert bakeoff(*words, *SHORT).status == 0
    assert bakeoff("replay", "latest").out.splitlines()[1].startswith("identical: ")


def test_a_run_with_two_threads_is_identical_where_one_thread_is_the_default(bakeoff: Bakeoff) -> None:
    # Digits have enough rows and columns for OpenBLAS to share a product among threads.
    words = ("learner=sklearn_logistic_regression", "dataset=digits", "learner.max_iter=5")
    with find_thread_pools().limit(limits={"blas": 2, "openmp": 2}):
        assert bakeoff(*words).status == 0
    assert json.loads(bakeoff.runs()[0].data.tags["threads"]) == {"blas": 2, "openmp": 2}
    with find_thread_pools().limit(limits={"blas": 1, "openmp": 1}):
        answer = bakeoff("replay", "latest")
    assert answer.status == 0, answer.out
    assert "threads" not in answer.out


WORDS = (
    "dataset=file", "dataset.path=my.csv", "dataset.target=y", "learner=decision_tree", "pruning=bottom_up",
    "evaluation=kfold", "evaluation.folds=3",
)  # fmt: skip


@pytest.fixture
def changed(bakeoff: Bakeoff) -> Bakeoff:
    """Return the command in a folder with such a run, for tests that change its store or its file."""
    (bakeoff.folder / "my.csv").write_text(CSV)
    assert bakeoff(*WORDS).status == 0
    return bakeoff


def execute(bakeoff: Bakeoff, statement: str) -> None:
    """Change the database of the store."""
    with sqlite3.connect(bakeoff.folder / "outputs" / "mlflow.db") as database:
        assert database.execute(statement).rowcount > 0
    database.close()


def dump(bakeoff: Bakeoff) -> list[str]:
    """Return the content of the database, and of all artifacts."""
    outputs = bakeoff.folder / "outputs"
    with sqlite3.connect(outputs / "mlflow.db") as database:
        rows = [*database.iterdump()]
    database.close()
    files = [f"{file} {file.read_bytes()!r}" for file in sorted(outputs.glob("artifacts/**/*")) if file.is_file()]
    return rows + files


def test_a_replay_counts_what_it_compared_and_changes_nothing(changed: Bakeoff) -> None:
    before = dump(changed)
    run = changed.runs()[0]
    answer = changed("replay", run.info.run_id[:8])
    assert answer.status == 0
    (title, verdict) = answer.out.splitlines()
    assert title == f"replay of {run.info.run_name} (run {run.info.run_id})"
    names = [name for name in run.data.metrics if "time/" not in name]
    n_stored = sum(len(changed.client().get_metric_history(run.info.run_id, name)) for name in names)
    assert verdict.startswith(f"identical: {n_stored} scores, ")
    for part in ("cells of predictions.csv", "cells of pruning_path.csv", "60 outputs of its model"):
        assert part in verdict
    assert dump(changed) == before


def test_one_bit_of_one_fold_is_found(changed: Bakeoff) -> None:
    run = changed.runs()[0]
    history = changed.client().get_metric_history(run.info.run_id, "fold/train_accuracy")
    value = next(entry.value for entry in history if entry.step == 1)
    other = float(np.nextafter(value, 2.0))
    execute(changed, f"UPDATE metrics SET value = {other!r} WHERE key = 'fold/train_accuracy' AND step = 1")
    answer = changed("replay", "latest")
    assert answer.status == 1
    assert "differs: 1 of " in answer.out
    (line,) = [line for line in answer.out.splitlines() if "fold/train_accuracy" in line]
    assert " ".join(line.split()) == f"fold/train_accuracy fold 1 {other!r} → {value!r} (by {other - value:.3g})"
    assert "nothing recorded by the run has changed since" in answer.out


def test_another_prediction_is_found_by_line_and_column(changed: Bakeoff) -> None:
    (file,) = changed.folder.rglob("predictions.csv")
    lines = file.read_text().splitlines()
    cells = lines[4].split(",")
    cells[3] = {"a": "b", "b": "a"}[cells[3]]
    lines[4] = ",".join(cells)
    file.write_text("\n".join(lines) + "\n")
    answer = changed("replay", "latest")
    assert answer.status == 1
    (line,) = [line for line in answer.out.splitlines() if "predictions.csv predicted" in line]
    assert "line 5" in line


def test_versions_and_code_that_have_changed_are_named(changed: Bakeoff) -> None:
    versions = json.loads(changed.runs()[0].data.tags["versions"]) | {"numpy": "1.26.4"}
    execute(changed, f"UPDATE tags SET value = '{json.dumps(versions)}' WHERE key = 'versions'")
    execute(changed, "UPDATE tags SET value = '0123456789abcdef' WHERE key = 'code_hash'")
    answer = changed("replay", "latest")
    assert answer.status == 0
    assert f"1.26.4            → {np.__version__}" in answer.out
    assert "code of the learner and the pipeline    0123456789abcdef" in answer.out


def test_changed_data_are_named_and_not_run(changed: Bakeoff) -> None:
    (changed.folder / "my.csv").write_text(CSV.replace("4,2,b", "4,2,a"))
    answer = changed("replay", "latest")
    assert answer.status == 1
    assert "the data have changed since" in answer.out
    assert changed.runs()[0].data.tags["dataset_digest"] in answer.out


def test_a_table_that_was_deleted_is_named_and_the_scores_are_compared(changed: Bakeoff) -> None:
    (file,) = changed.folder.rglob("predictions.csv")
    file.unlink()
    answer = changed("replay", "latest")
    assert answer.status == 0
    assert "not compared: predictions.csv is no longer among the artifacts" in answer.out


def test_what_cannot_be_replayed_is_refused_in_a_sentence(changed: Bakeoff) -> None:
    assert "there is no run 'deadbeef'" in changed("replay", "deadbeef").err
    assert "no run in" in changed("replay", "sweep=never").err
    execute(changed, "UPDATE runs SET status = 'KILLED'")
    answer = changed("replay", changed.runs()[0].info.run_id)
    assert answer.status == 2
    assert "is KILLED: only a finished run can be fitted again" in answer.err


def test_code_that_the_store_alone_trusts_is_not_called(bakeoff: Bakeoff) -> None:
    words = ("dataset=iris", "learner=majority", "learner._target_=failing.Failing", "trust=[failing]")
    assert bakeoff(*words).status == 1
    execute(bakeoff, "UPDATE runs SET status = 'FINISHED'")
    answer = bakeoff("replay", bakeoff.runs()[0].info.run_id)
    assert answer.status == 2
    assert "add trust=[failing]" in answer.err


def test_a_model_that_predicts_otherwise_is_found(changed: Bakeoff) -> None:
    other = changed.folder / "other"
    other.mkdir()
    with command_in(changed.folder) as command:
        assert command(*WORDS, "learner.max_depth=1", "pruning=none").status == 0
    newest, oldest = changed.runs()
    models = {run.info.run_id: run.outputs.model_outputs[0].model_id for run in (newest, oldest)}
    files = {run_id: next(changed.folder.rglob(f"{model}/artifacts/model.skops")) for run_id, model in models.items()}
    files[oldest.info.run_id].write_bytes(files[newest.info.run_id].read_bytes())
    answer = changed("replay", oldest.info.run_id)
    assert answer.status == 1
    assert "of 60 outputs of its model" in answer.out
    assert "model.predict_proba" in answer.out


def test_a_sweep_is_replayed_run_by_run_with_a_total(bakeoff: Bakeoff) -> None:
    assert bakeoff("-m", "learner=majority,naive_bayes", "dataset=iris").status == 0
    name = bakeoff.runs()[0].data.tags["sweep"]
    first, second, total = bakeoff("replay", f"sweep={name}").out.splitlines()
    assert "majority iris identical: " in first
    assert "naive_bayes iris identical: " in second
    assert total == "2 runs: 2 identical"
    execute(bakeoff, "UPDATE latest_metrics SET value = 0.5 WHERE key = 'test_accuracy'")
    answer = bakeoff("replay", "sweep=latest")
    assert answer.status == 1
    assert answer.out.splitlines()[-1] == "2 runs: 2 differs"


def test_files_that_lie_elsewhere_are_found_and_only_the_runs_that_need_trust_ask_for_it(bakeoff: Bakeoff) -> None:
    (bakeoff.folder / "a.csv").write_text(CSV)
    (bakeoff.folder / "b.csv").write_text(CSV.replace("z", "w"))
    (bakeoff.folder / "mine.py").write_text(OWN_LEARNER)
    (bakeoff.folder / "conf" / "learner").mkdir(parents=True)
    (bakeoff.folder / "conf" / "learner" / "own.yaml").write_text("_target_: mine.Own\n")
    words = ("dataset=file", "dataset.path=a.csv,b.csv", "dataset.target=y", "learner=decision_tree,own")
    assert bakeoff("-m", *words, "trust=[mine]").status == 0
    (bakeoff.folder / "moved").mkdir()
    for name in ("a", "b"):
        (bakeoff.folder / f"{name}.csv").rename(bakeoff.folder / "moved" / f"{name}.csv")
    missing = bakeoff("replay", "sweep=latest")
    assert missing.status == 2
    assert missing.out.count("dataset.folder=FOLDER") == 4
    untrusted = bakeoff("replay", "sweep=latest", "dataset.folder=moved")
    assert untrusted.out.splitlines()[-1] == "4 runs: 2 identical, 2 refused"
    assert untrusted.out.count("add trust=[mine]") == 2
    trusted = bakeoff("replay", "sweep=latest", "dataset.folder=moved", "trust=[mine]")
    assert trusted.out.splitlines()[-1] == "4 runs: 4 identical"
    (bakeoff.folder / "moved" / "b.csv").unlink()
    incomplete = bakeoff("replay", "sweep=latest", "dataset.folder=moved", "trust=[mine]")
    assert incomplete.out.count("dataset.folder=moved does not contain b.csv, a file of the run") == 2
