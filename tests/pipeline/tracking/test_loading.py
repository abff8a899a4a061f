"""Stored models, loaded from a real SQLite store: what a word names, whose code may run, and what cannot be read."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from doubles import experiment
from sklearn.dummy import DummyClassifier

from bakeoff.pipeline.config.requests import RunRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import fit_model
from bakeoff.pipeline.model.estimator_file import CODE_FOLDER, MODEL_FILE_NAME, MissingCode, compare_code, list_own_code
from bakeoff.pipeline.model.pyfunc import Model
from bakeoff.pipeline.model.training_record import TRAINING_FILE, make_training_record
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.tracking import provenance
from bakeoff.pipeline.tracking.models import add_run_model, load_model, save_model
from bakeoff.pipeline.tracking.names import parse_model_name, register_version
from bakeoff.pipeline.tracking.store import Store, open_store

IRIS = load_bundled("iris")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return an empty store, to which tests add runs of their own."""
    return open_store(f"sqlite:///{tmp_path_factory.mktemp('store')}/mlflow.db", "bakeoff")


def add_model(store: Store, learner: Any = None, trust: tuple[str, ...] = ()) -> tuple[str, Path]:
    """Store a run with a model; return its id and the folder of the model."""
    built = experiment(IRIS, learner or DummyClassifier())
    fitted = fit_model(built, built.make_splits().folds[0])
    run_id = str(store.client.create_run(store.experiment_id).info.run_id)
    record = make_training_record(built, fitted, run_id=run_id, versions=provenance.read_versions())
    model_id = add_run_model(store, run_id, partial(save_model, fitted.predictor, training=record, trust=trust))
    store.client.set_terminated(run_id)
    return run_id, Path(store.client.get_logged_model(model_id).artifact_location.removeprefix("file://"))


def model_of_run(store: Store, run_id: str) -> str:
    outputs = store.client.get_run(run_id).outputs
    assert outputs is not None
    return str(outputs.model_outputs[0].model_id)


def load(store: Store, word: str, *trust: str) -> Model:
    return load_model(RunRequest(run=word, tracking__uri=store.uri, trust=trust))


def test_a_version_has_its_own_model_and_not_that_of_its_run(store: Store) -> None:
    run_id, _ = add_model(store)
    other_id, _ = add_model(store, DummyClassifier(strategy="uniform", random_state=0))
    model_id = model_of_run(store, other_id)
    register_version(store, parse_model_name("shipped@champion", "as"), model_id, run_id)
    assert load(store, "shipped@champion").estimator[-1].strategy == "uniform"
    assert load(store, run_id).estimator[-1].strategy == "prior"


def test_a_registered_model_is_there_without_its_run_and_from_any_experiment(store: Store) -> None:
    run_id, _ = add_model(store)
    register_version(store, parse_model_name("lasting@champion", "as"), model_of_run(store, run_id), run_id)
    expected = load(store, run_id).predict(IRIS.X)
    store.client.delete_run(run_id)
    pd.testing.assert_frame_equal(load(store, "lasting@champion").predict(IRIS.X), expected)
    elsewhere = RunRequest(run="lasting", tracking__uri=store.uri, tracking__experiment="another experiment")
    assert load_model(elsewhere).record.run_id == run_id
    with pytest.raises(UserError, match="was deleted"):
        load(store, run_id)
    with pytest.raises(UserError, match="'another experiment' is not in"):
        load_model(replace(elsewhere, run="latest"))


def test_a_run_without_a_model_and_a_model_whose_files_are_gone_are_refused(store: Store) -> None:
    run_id = store.client.create_run(store.experiment_id).info.run_id
    with pytest.raises(UserError, match=r"has no model; run it again with tracking\.models=true"):
        load(store, run_id)
    gone_id, folder = add_model(store)
    (folder / MODEL_FILE_NAME).unlink()
    with pytest.raises(UserError, match=f"the model of run {gone_id} cannot be read: there is no model.skops"):
        load(store, gone_id)


def test_other_versions_are_said_and_corrections_are_not(store: Store) -> None:
    run_id, folder = add_model(store)
    assert load(store, run_id).notes == ()
    now = provenance.read_versions()["scikit-learn"]
    first, second = now.split(".")[:2]
    change_record(folder, versions={"scikit-learn": f"{first}.{second}.99", "numpy": "1.0"})
    assert load(store, run_id).notes == ()
    change_record(folder, versions={"scikit-learn": "0.24.1"})
    assert load(store, run_id).notes == (
        f"The model was fitted with scikit-learn 0.24.1, and this is {now}; predictions may differ.",
    )


def change_record(folder: Path, **values: Any) -> None:
    file = folder / TRAINING_FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def test_installed_packages_and_names_without_a_source_do_not_travel() -> None:
    assert list_own_code(["sklearn", "json", "bakeoff", "__main__", "no_such_package"]) == {}


# The code that is stored with a model


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Return the folder of the code of a model."""
    folder = tmp_path / "model" / CODE_FOLDER
    folder.mkdir(parents=True)
    return folder


def test_stored_code_is_not_run_where_the_package_is_not_here(stored: Path) -> None:
    (stored / "code_of_a_model.py").write_text("raise SystemExit\n")
    before = list(sys.path)
    with pytest.raises(MissingCode, match="needs the package 'code_of_a_model'"):
        compare_code(["code_of_a_model"], stored.parent)
    assert sys.path == before


def test_code_that_differs_from_the_stored_code_is_reported(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "changed_code.py").write_text("DIGITS = 1\n")
    (stored / "changed_code.py").write_text("DIGITS = 1\n")
    assert compare_code(["changed_code"], stored.parent) == []
    (stored / "changed_code.py").write_text("DIGITS = 2\n")
    (note,) = compare_code(["changed_code"], stored.parent)
    assert note.startswith("the installed code of changed_code differs")
