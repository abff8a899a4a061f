"""The lectures' experiments: each runs by its name, stores its figures, and reproduces the numbers of the lecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff

from bakeoff.pipeline.config.options import read_options
from bakeoff.pipeline.config.requests import RunRequest
from bakeoff.pipeline.stages.dataset import Dataset, load_lecture_table
from bakeoff.pipeline.tracking.models import load_model

EXPERIMENTS = sorted(set(read_options("experiment")) - {"none"})
EVERYTHING = "experiment=glob(*,exclude=none)"
LECTURES = Path(__file__).parents[2] / "docs" / "lectures.md"


def name_store(bakeoff: Bakeoff) -> str:
    return f"sqlite:///{bakeoff.folder}/outputs/mlflow.db"


def run_and_load(bakeoff: Bakeoff, *words: str) -> Any:
    """Run an experiment and return the model of the run."""
    answer = bakeoff(*words)
    assert answer.status == 0, answer.err
    return load_model(RunRequest(run="latest", tracking__uri=name_store(bakeoff))).estimator


def make_query_rows(dataset: Dataset, *cells: list[str]) -> pd.DataFrame:
    """Return query rows with the columns and domains of a dataset."""
    table = pd.DataFrame(cells, columns=dataset.X.columns)
    return table.astype(dataset.X.dtypes.to_dict())


@pytest.mark.slow
def test_all_experiments_run_in_one_sweep_and_leave_their_figures_as_pictures(bakeoff: Bakeoff) -> None:
    answer = bakeoff("-m", EVERYTHING, "tracking.models=false")
    assert answer.status == 0, answer.err
    runs = {run.data.params["experiment"]: run for run in bakeoff.runs()}
    assert sorted(runs) == EXPERIMENTS
    for name, run in runs.items():
        assert run.info.run_name.startswith(name)
        artifacts = [file.path for file in bakeoff.client().list_artifacts(run.info.run_id)]
        pictures = [file for file in artifacts if file.endswith(".png")]
        assert pictures, name
        for picture in pictures:
            file = Path(bakeoff.client().download_artifacts(run.info.run_id, picture))
            assert file.read_bytes().startswith(b"\x89PNG"), name
            assert file.stat().st_size > 3000, name
            assert (LECTURES.parent / "figures" / f"{name}-{picture}").exists(), "run make figures"
    # The hashes differ, so a sweep that skips finished runs still runs each experiment.
    assert len({run.data.tags["config_hash"] for run in runs.values()}) == len(EXPERIMENTS)


@pytest.mark.parametrize(("k", "colour"), [(1, "Red"), (3, "Blue")])
def test_the_colours_query_is_red_at_1_and_blue_at_3(bakeoff: Bakeoff, k: int, colour: str) -> None:
    model = run_and_load(bakeoff, "experiment=knn_colours", "figures=[]", f"learner.n_neighbors={k}")
    assert model.predict(pd.DataFrame({"x1": [1.0], "x2": [2.0]})).tolist() == [colour]


def test_the_mortgage_model_has_the_tables_of_the_lecture_and_its_posterior(bakeoff: Bakeoff) -> None:
    model = run_and_load(bakeoff, "dataset=mortgage", "learner=naive_bayes", "evaluation=leave_one_out")
    table = [np.exp(log_prob) for log_prob in model[-1].feature_log_prob_]
    approve, reject = 0, 1
    assert table[0][:, 1] == pytest.approx([5 / 7, 3 / 7])  # job = true
    assert table[1][:, 1] == pytest.approx([4 / 7, 5 / 7])  # deposit = low
    assert table[2][approve] == pytest.approx([1 / 8, 3 / 8, 4 / 8])  # children, couple, single
    assert table[2][reject] == pytest.approx([3 / 8, 3 / 8, 2 / 8])
    assert model[-1].class_prior_ == pytest.approx([6 / 12, 6 / 12])
    client = make_query_rows(load_lecture_table("mortgage", "decision"), ["true", "high", "children"])
    assert np.exp(model[-1].predict_joint_log_proba(client)) == pytest.approx(np.array([[15 / 784, 18 / 784]]))
    assert model.predict_proba(client) == pytest.approx(np.array([[5 / 11, 6 / 11]]))


READING_WORDS = ("dataset=reading", "learner=decision_tree", "learner.criterion=entropy", "evaluation=leave_one_out")
NEW_ARTICLES = (["known", "new", "short", "work"], ["unknown", "new", "short", "work"])


def test_the_reading_tree_asks_for_length_alone_and_reads_both_new_articles(bakeoff: Bakeoff) -> None:
    model = run_and_load(bakeoff, *READING_WORDS)
    assert model[-1].fitted_tree_.n_leaves == 2
    assert model[-1].feature_names_in_[model[-1].fitted_tree_.feature[0]] == "length"
    assert model.predict(make_query_rows(load_lecture_table("reading", "action"), *NEW_ARTICLES)).tolist() == [
        "reads",
        "reads",
    ]


def test_gain_ratio_asks_first_what_information_gain_asks_second(bakeoff: Bakeoff) -> None:
    learner = run_and_load(bakeoff, "experiment=gain_ratio", "figures=[]")[-1]
    assert learner.feature_names_in_[learner.fitted_tree_.feature[0]] == "first"
