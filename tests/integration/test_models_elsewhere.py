"""Models in a fresh process in another folder, by MLflow's loaders and by ours, beside files of the user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff, command_in

ROOT = Path(__file__).parents[2]
N_ROWS = 60
LEARNER = '''
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from rounding import round_down


class Nearest(ClassifierMixin, BaseEstimator):
    """Predicts the class of the nearest class mean, of numbers that are rounded."""

    def __init__(self, digits=1):
        self.digits = digits

    def fit(self, X, y):
        numbers = round_down(np.asarray(X, dtype=float), self.digits)
        self.classes_ = np.unique(y)
        self.means_ = np.array([numbers[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict_proba(self, X):
        numbers = round_down(np.asarray(X, dtype=float), self.digits)
        near = np.exp(-((numbers[:, None, :] - self.means_[None]) ** 2).sum(axis=2))
        return near / near.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
'''
ROUNDING = """
import numpy as np


def round_down(numbers, digits):
    return np.floor(numbers * 10**digits) / 10**digits
"""
LOADERS = """
import json, sys
import mlflow, pandas as pd
import bakeoff
from bakeoff.pipeline.config.requests import RunRequest
from bakeoff.pipeline.tracking.models import load_model

uri, rows, table, *runs = sys.argv[1:]
mlflow.set_tracking_uri(uri)
typed = pd.read_parquet(rows)
# The codes 007 and 12 are read as the integers 7 and 12, and the target is one column more.
training = pd.read_csv(table)
assert str(training["code"].dtype) == str(training["count"].dtype) == "int64", training.dtypes
found = {}
for run in runs:
    function = mlflow.pyfunc.load_model(f"runs:/{run}/model")
    ours = load_model(RunRequest(run=run, tracking__uri=uri, trust=("own_learner",)))
    estimator = mlflow.sklearn.load_model(f"runs:/{run}/model")
    from bakeoff.pipeline.model.pyfunc import convert_rows
    X = convert_rows(ours.record, typed).frame
    found[run] = {
        "pyfunc": function.predict(typed).to_dict("list"),
        "pyfunc, training file": function.predict(training).to_dict("list"),
        "ours": ours.predict(typed).to_dict("list"),
        "sklearn": [estimator.predict(X).tolist(), estimator.predict_proba(X).tolist()],
        "rows": ours.record.describe_rows(),
        "metadata": function.metadata.metadata["rows"],
    }
import own_learner
found["code"] = own_learner.__file__
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Stored:
    """Two runs in a folder: one of a learner of ours, one of the user's own learner."""

    bakeoff: Bakeoff
    ours: str
    own: str

    @property
    def folder(self) -> Path:
        return self.bakeoff.folder

    @property
    def uri(self) -> str:
        return f"sqlite:///{self.folder}/outputs/mlflow.db"


def make_table() -> pd.DataFrame:
    """Return rows with integers, floats, Booleans, codes and text."""
    random = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    return pd.DataFrame({
        "count": random.integers(0, 5, N_ROWS) + 3 * y,
        "size": random.normal(size=N_ROWS) + y,
        "flag": random.random(N_ROWS) < 0.5 + 0.3 * y,
        "code": random.choice(["007", "12"], N_ROWS),
        "colour": random.choice(["red", "blue"], N_ROWS),
        "y": np.where(y, "yes", "no"),
    })  # fmt: skip


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """Run a learner of ours and one of the user's own in the folder that holds its code."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_learner.py").write_text(LEARNER)
    (folder / "rounding.py").write_text(ROUNDING)
    make_table().to_csv(folder / "table.csv", index=False)
    shared = ("dataset=file", "dataset.path=table.csv", "dataset.target=y", "dataset.nominal=[code]")
    ids = []
    with command_in(folder) as bakeoff:
        own = ("learner=mean", "learner._target_=own_learner.Nearest", "~learner.categorical_features")
        for words in (("learner=logistic_regression",), (*own, "trust=[own_learner]")):
            answer = bakeoff(*shared, *words, "preprocessing=auto")
            assert answer.status == 0, answer.err
            ids.append(bakeoff.runs()[0].info.run_id)
        for run in ids:
            answer = bakeoff("predict", run, "table.csv", f"output={run}.csv", "trust=[own_learner]")
            assert answer.status == 0, answer.err
    return Stored(bakeoff, *ids)


def run_elsewhere(folder: Path, *words: str) -> Any:
    """Run a fresh process in a folder whose files have the names of ours, and fail when imported."""
    (folder / "pipeline.py").write_text("raise ImportError('pipeline.py of the user was imported')\n")
    (folder / "learners").mkdir()
    (folder / "learners" / "__init__.py").write_text("raise ImportError('learners of the user was imported')\n")
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-W", "ignore", "-c", LOADERS, *words]
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def read_predictions(file: Path) -> dict[str, list[Any]]:
    """Return the columns of a file of predictions, with probabilities to the last digit."""
    text = pd.read_csv(file, dtype=str)
    is_number = text.columns.str.startswith("probability_")
    return {
        str(name): [float(cell) for cell in text[name]] if number else text[name].tolist()
        for name, number in zip(text.columns, is_number, strict=True)
    }


@pytest.mark.slow
def test_all_loaders_agree_in_a_fresh_process_elsewhere(stored: Stored, tmp_path: Path) -> None:
    make_table().astype({"colour": "category"}).drop(columns="y").to_parquet(tmp_path / "rows.parquet")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    files = (str(tmp_path / "rows.parquet"), str(stored.folder / "table.csv"))
    found = run_elsewhere(elsewhere, stored.uri, *files, stored.ours, stored.own)
    for run in (stored.ours, stored.own):
        written = read_predictions(stored.folder / f"{run}.csv")
        labels, probabilities = found[run]["sklearn"]
        assert found[run]["pyfunc"] == found[run]["ours"] == written
        assert found[run]["pyfunc, training file"] == written
        assert labels == written["prediction"]
        assert np.array(probabilities).T.tolist() == [written["probability_no"], written["probability_yes"]]
        assert (
            found[run]["rows"]
            == found[run]["metadata"]
            == "fitted on 36 of 60 rows (12 for validation, 12 for the test)"
        )
    # The code that travelled was used, and not that of the folder in which the run was made.
    assert Path(found["code"]).parent != stored.folder
