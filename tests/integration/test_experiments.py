"""The lectures' experiments: each runs by its name, stores its figures, and reproduces the numbers of the lecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import Bakeoff

from bakeoff.pipeline.config.options import read_options
from bakeoff.pipeline.config.requests import RunRequest
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
