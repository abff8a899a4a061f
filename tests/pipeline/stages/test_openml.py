"""Datasets of OpenML, on the answers that scikit-learn's wheel stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from openml_server import serve_openml
from written_tables import titanic

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import Dataset, load_frame, load_openml

EMOTIONS = 40589


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scikit-learn not wait before it asks again for what is not there."""
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda seconds: None)


def load(folder: Path, patch: pytest.MonkeyPatch, number: int, **keys: Any) -> Dataset:
    serve_openml(patch, number)
    return load_openml(**{"id": number, "data_home": str(folder), **keys})


def test_titanic_is_the_same_dataset_as_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drop = ["boat", "body"]
    fetched = load(tmp_path, monkeypatch, 40945, drop=drop)
    given = load_frame(titanic(), "survived", drop=drop)
    assert (fetched.target, fetched.source) == ("survived", "OpenML: Titanic, version 1, id 40945")
    # The target is the last column at OpenML, and the second one in the file.
    assert fetched.X[given.X.columns].equals(given.X)
    assert fetched.y.astype(str).tolist() == given.y.astype(str).tolist()


def test_what_openml_warns_of_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any("Deep Blue is in the house" in note for note in load(tmp_path, monkeypatch, 3).notes)


def test_one_of_several_targets_is_chosen_and_the_others_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"OpenML names 6 targets: amazed.suprised, .*; choose a column with dataset.t"):
        load(tmp_path, monkeypatch, EMOTIONS)
    chosen = load(tmp_path, monkeypatch, EMOTIONS, target="sad.lonely")
    assert (chosen.target, chosen.X.shape) == ("sad.lonely", (13, 72))
    assert chosen.notes[0].startswith("The other targets in OpenML are left out: 'amazed.suprised'")


def test_a_sparse_dataset_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve_openml(monkeypatch, 292)
    with pytest.raises(UserError, match="the OpenML dataset 'Australian' is sparse; sparse datasets are not supported"):
        load_openml(id=292, data_home=str(tmp_path))


def test_a_wrong_id_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"dataset.id='glass2' cannot be read from OpenML: .* must be an int"):
        load(tmp_path, monkeypatch, 40675, id="glass2")


def test_without_a_network_the_cure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*words: Any, **keys: Any) -> None:
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", refuse)
    with pytest.raises(UserError, match=r"dataset.id=61 cannot be read from OpenML: .*no network.*dataset=file"):
        load_openml(id=61, data_home=str(tmp_path))
