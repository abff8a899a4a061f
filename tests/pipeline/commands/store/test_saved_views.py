"""The views of MLflow's pages, read from a real SQLite store by MLflow's own client."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from command import Bakeoff, command_in
from written_runs import write_run

from bakeoff.pipeline.commands.store import pages as views
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.store import Store, open_store

SINGLE = ["dataset=iris", "learner=naive_bayes", "tracking.models=false"]
FIRST_SWEEP = ["-m", "dataset=iris,wine", "learner=majority", "evaluation=kfold", "tracking.models=false"]
SECOND_SWEEP = [
    "-m", "dataset=iris,wine", "learner=majority,knn", "evaluation=kfold", "preprocessing=none,standardize",
    "evaluation.metrics=[log_loss,accuracy]", "seed=0", "tracking.models=false",
]  # fmt: skip
MAX_TAG_LETTERS = 5000
"""The shortest limit of the versions of MLflow that read the views: that of 3.15."""


@pytest.fixture(scope="module")
def bakeoff_with_sweep(tmp_path_factory: pytest.TempPathFactory) -> Bakeoff:
    """Return the command in a folder with a single run, a sweep, and a sweep by another metric, lower is better."""
    with command_in(tmp_path_factory.mktemp("sweeps")) as bakeoff:
        for words in (SINGLE, FIRST_SWEEP, SECOND_SWEEP):
            answer = bakeoff(*words)
            assert answer.status == 0, answer.err
    return bakeoff


@pytest.fixture(scope="module")
def store(bakeoff_with_sweep: Bakeoff) -> Store:
    return open_store(f"{bakeoff_with_sweep.folder}/outputs/mlflow.db", "bakeoff", create=False)


def read_views(store: Store) -> dict[str, dict[str, Any]]:
    """Return the state of each view by its name in the menu, as MLflow's pages decode it, in the order of the menu."""
    tags = store.client.get_experiment(store.experiment_id).tags
    found = {}
    for key, value in tags.items():
        if key.startswith("mlflow.sharedViewState."):
            assert len(value) <= MAX_TAG_LETTERS
            envelope = json.loads(value)
            assert envelope["state"].startswith("deflate;")
            state = zlib.decompress(base64.b64decode(envelope["state"].removeprefix("deflate;")))
            found[envelope["name"]] = (envelope["createdAt"], json.loads(state))
    newest_first = sorted(found, key=lambda name: -found[name][0])
    return {name: found[name][1] for name in newest_first}


def find_runs(store: Store, state: dict[str, Any]) -> list[Any]:
    """Return the runs that a view shows, in its order, by MLflow's own search."""
    order = f"{state['orderByKey']} {'ASC' if state['orderByAsc'] else 'DESC'}"
    return list(store.client.search_runs([store.experiment_id], state["searchFilter"], order_by=[order]))


def test_views_are_replaced_and_not_multiplied_and_those_of_the_user_stay(store: Store) -> None:
    mine = json.dumps(
        {"name": "mine", "createdAt": 1, "state": "deflate;" + base64.b64encode(zlib.compress(b"{}")).decode()}
    )
    store.client.set_experiment_tag(store.experiment_id, "mlflow.sharedViewState.abc", mine)
    for _ in range(2):
        assert views.write_views(store) == ""
        assert list(read_views(store)) == ["Leaderboard", "Last sweep", "mine"]
    store.client.delete_experiment_tag(store.experiment_id, "mlflow.sharedViewState.abc")
    tags = store.client.get_experiment(store.experiment_id).tags
    assert tags["mlflow.experimentKind"] == "custom_model_development"


COLUMNS = [
    "metrics.`test_log_loss`", "params.`learner`", "params.`dataset`", "params.`preprocessing`",
    "metrics.`test_log_loss_std`", "metrics.`time/fit`",
]  # fmt: skip
"""The headline, what tells runs apart, what varies, the deviation of the headline and the time of the fit."""


def test_a_column_of_the_leaderboard_never_says_what_the_others_say(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/mlflow.db", "bakeoff")
    for name in ("a", "b"):
        for scaled in ("none", "standardize"):
            params = {"dataset.path": f"{name}.csv", "preprocessing": scaled, "seed": "0"}
            words = json.dumps([f"dataset.path={name}.csv", "learner=knn", f"preprocessing={scaled}", "seed=0"])
            write_run(store, "knn", name, [0.9, 0.8], params=params, tags={"overrides": words})
    views.write_views(store)
    columns = read_views(store)["Leaderboard"]["columnOrder"]
    assert columns[:4] == ["metrics.`test_accuracy`", "params.`learner`", "params.`dataset`", "params.`preprocessing`"]
    assert not {"params.`dataset.path`", "params.`seed`"} & set(columns)


def test_the_leaderboard_is_sorted_from_the_best_whichever_way_the_metric_points(store: Store) -> None:
    views.write_views(store)
    leaderboard = read_views(store)["Leaderboard"]
    assert leaderboard["selectedColumns"] == COLUMNS
    lower = find_runs(store, leaderboard)
    scores = [run.data.metrics["test_log_loss"] for run in lower]
    assert len(scores) == 11  # every run has a log loss, whatever its headline is
    assert scores == sorted(scores)

    (first,) = {run.data.tags["sweep"] for run in lower if run.data.params["evaluation.metrics"] == "null"
                and "sweep" in run.data.tags}  # fmt: skip
    views.write_views(store, first)
    higher = read_views(store)["Leaderboard"]
    assert (higher["orderByKey"], higher["orderByAsc"]) == ("metrics.`test_accuracy`", False)


def test_failed_runs_are_in_the_last_sweep_and_not_on_the_leaderboard(bakeoff: Bakeoff) -> None:
    words = ["-m", "dataset=iris", "learner=majority,knn", "evaluation=kfold", "tracking.models=false"]
    assert bakeoff(*words).status == 0
    store = open_store(f"{bakeoff.folder}/outputs/mlflow.db", "bakeoff", create=False)
    # Its scores stay, as those of a run that failed after some folds do.
    newest = bakeoff.runs()[0].info.run_id
    store.client.set_terminated(newest, "FAILED")
    views.write_views(store)
    states = read_views(store)
    assert newest not in {run.info.run_id for run in find_runs(store, states["Leaderboard"])}
    assert newest in {run.info.run_id for run in find_runs(store, states["Last sweep"])}


def test_runs_that_were_done_before_the_sweep_are_among_its_runs(bakeoff: Bakeoff) -> None:
    shared = ["dataset=iris", "evaluation=kfold", "tracking.models=false"]
    assert bakeoff("-m", "learner=majority", *shared).status == 0
    assert bakeoff("-m", "learner=majority,knn", *shared).status == 0
    store = open_store(f"{bakeoff.folder}/outputs/mlflow.db", "bakeoff", create=False)
    bakeoff.patch.setattr(views, "MAX_LOADED_RUNS", 2)
    views.write_views(store)
    runs = find_runs(store, read_views(store)["Last sweep"])
    assert sorted(run.info.run_name for run in runs) == ["knn iris", "majority iris"]
    assert len({run.data.tags["sweep"] for run in runs}) == 2


def test_without_a_score_nothing_is_written_and_a_sweep_that_is_not_there_is_refused(bakeoff: Bakeoff) -> None:
    store = open_store(f"{bakeoff.folder}/outputs/mlflow.db", "bakeoff")
    assert "No run of the experiment has a score yet" in views.write_views(store)
    assert read_views(store) == {}
    with pytest.raises(UserError, match=r"no run in .* belongs to a sweep of this name"):
        views.write_views(store, "nothing")
