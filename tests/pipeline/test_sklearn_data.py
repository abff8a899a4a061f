"""Datasets of scikit-learn by name."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.utils import Bunch

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import load_bundled, load_sklearn, sklearn_data


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_what_is_bundled_as_well_is_the_same_table(name: str) -> None:
    loaded = load_sklearn(name)
    bundled = load_bundled(name)
    assert (loaded.task, loaded.target) == (bundled.task, bundled.target)
    assert loaded.y.astype(str).tolist() == bundled.y.astype(str).tolist()
    kept = list(loaded.X.columns)
    assert len(kept) >= 10 or name == "iris"
    assert np.array_equal(loaded.X.astype(float), bundled.X[kept])


def test_one_of_several_targets_is_chosen() -> None:
    with pytest.raises(UserError, match="scikit-learn names 3 targets: Weight, Waist, Pulse; choose a column"):
        load_sklearn("linnerud")
    weight = load_sklearn("linnerud", target="Weight", task="regression")
    bunch = datasets.load_linnerud(as_frame=True)
    assert np.array_equal(weight.y, bunch.target["Weight"])
    assert list(weight.X) == list(bunch.data)
    assert weight.notes[0] == "The other targets that scikit-learn names are left out: 'Waist', 'Pulse'."


def test_options_are_those_of_scikit_learns_function() -> None:
    assert load_sklearn("digits", options={"n_class": 5}).classes.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(UserError, match=r"dataset.options.n_clas is not an option of load_digits. Did you mean 'n_cl"):
        load_sklearn("digits", options={"n_clas": 5})


def test_a_folder_of_pickles_is_no_option(tmp_path: Path) -> None:
    leak = tmp_path / "leak"
    joblib.dump(Opening(str(leak)), tmp_path / "cal_housing_py3.pkz", compress=6)
    options = {"data_home": str(tmp_path), "download_if_missing": False}
    with pytest.raises(UserError, match=r"dataset.options.data_home=.* set the environment variable SCIKIT_LEARN_DATA"):
        load_sklearn("california_housing", options=options)
    assert not leak.exists()
    with suppress(Exception):
        datasets.fetch_california_housing(**options)
    assert leak.exists(), "the file would not have run code, so that the test shows nothing"


class Opening:
    """Makes a folder where its pickle is loaded."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def test_a_downloaded_dataset_is_read_from_the_cache_of_scikit_learn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    # As fetch_california_housing stores what it has downloaded; total rooms per household is 4th divided by 7th.
    rows = np.random.default_rng(0).uniform(1, 9, size=(30, 9))
    joblib.dump(rows, tmp_path / "cal_housing_py3.pkz", compress=6)
    housing = load_sklearn("california_housing", options={"download_if_missing": False})
    assert (housing.task, housing.target) == ("regression", "MedHouseVal")
    assert housing.y == pytest.approx(rows[:, 0] / 100_000)
    assert "MedInc" in housing.X


def test_what_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"cannot be read by sklearn.datasets.fetch_covtype: Data not found"):
        load_sklearn("covtype", options={"download_if_missing": False})
    with pytest.raises(UserError, match=r"'irs' is not a dataset of scikit-learn. Did you mean 'iris'"):
        load_sklearn("irs")
    with pytest.raises(UserError, match=r"'rcv1' of scikit-learn is not read as a table: it has 47236 columns"):
        load_sklearn("rcv1")


def test_texts_are_a_column_of_text_with_the_names_of_classes() -> None:
    posts = {"data": ["a b c", "d"], "target": np.array([1, 0]), "target_names": ["alt.atheism", "sci.space"]}
    frame, targets = sklearn_data._make_frame(posts)
    assert frame.to_dict("list") == {"text": ["a b c", "d"], "target": ["sci.space", "alt.atheism"]}
    assert targets == ["target"]


def test_words_in_bytes_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    # As fetch_kddcup99 returns them; the download of 18 MB is left out.
    frame = pd.DataFrame({"protocol": [b"tcp", b"udp"] * 4, "bytes": np.array([1, 2] * 4, dtype=object)})
    labels = pd.Series([b"normal.", b"smurf."] * 4, name="labels")

    def fetch(subset: str, as_frame: bool = False) -> Bunch:
        assert (subset, as_frame) == ("SA", True)
        return Bunch(data=frame, target=labels, target_names=["labels"])

    monkeypatch.setattr("sklearn.datasets.fetch_kddcup99", fetch)
    attacks = load_sklearn("kddcup99", options={"subset": "SA"})
    assert attacks.classes.tolist() == ["normal.", "smurf."]
    assert attacks.X["protocol"].tolist() == ["tcp", "udp"] * 4
    assert attacks.X["bytes"].tolist() == [1.0, 2.0] * 4


def test_every_loader_of_scikit_learn_is_read_or_has_a_reason() -> None:
    loaders = [name for name in datasets.__all__ if name.startswith(("load_", "fetch_"))]
    known = {f"load_{name}" for name in sklearn_data.LOADED} | {f"fetch_{name}" for name in sklearn_data.FETCHED}
    left = [name for name in loaders if name not in known]
    assert {name.split("_", 1)[1] for name in left} == set(sklearn_data.NOT_TABLES)
    assert known <= set(loaders)
