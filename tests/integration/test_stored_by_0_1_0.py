"""Runs that version 0.1.0 stored, whose modules had other names: listed, predicted from, repeated, and read from YAML.

``stored_by_0_1_0/store.zip`` holds a store of that version, with ``OUTPUTS`` for its folder: runs of every learner of
ours on small tables, one that failed, and under ``expected/`` the predictions that version 0.1.0 made of each model.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pandas as pd
import pytest
from command import Bakeoff

import bakeoff as bakeoff_package
from bakeoff import learners
from bakeoff.pipeline.config.targets.import_target import import_target
from bakeoff.pipeline.config.targets.renamed_targets import RENAMED_TARGETS
from bakeoff.pipeline.model.stored_names import RENAMED_ATTRIBUTES, RENAMED_CLASSES

ARCHIVE = Path(__file__).parent / "stored_by_0_1_0" / "store.zip"
ADDRESSES = (("runs", "artifact_uri"), ("logged_models", "artifact_location"), ("experiments", "artifact_location"))


def unpack(folder: Path) -> None:
    """Write the store into a folder, with addresses as if it had been made there."""
    outputs = folder / "outputs"
    with ZipFile(ARCHIVE) as archive:
        archive.extractall(outputs)
    for file in outputs.rglob("MLmodel"):
        file.write_text(file.read_text().replace("OUTPUTS", str(outputs)))
    with sqlite3.connect(outputs / "mlflow.db") as store:
        for table, column in ADDRESSES:
            store.execute(f"UPDATE {table} SET {column} = replace({column}, 'OUTPUTS', ?)", (str(outputs),))
    store.close()


def finished_runs() -> Iterator[tuple[str, str]]:
    """Yield the id and the table of each run that has predictions."""
    with ZipFile(ARCHIVE) as archive:
        names = [name for name in archive.namelist() if name.startswith("expected/")]
        for name in sorted(names):
            rows = len(archive.read(name).splitlines()) - 1
            yield Path(name).stem, {10: "mortgage.csv", 50: "cars.csv", 30: "iris.csv"}[rows]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the store, for tests that only read it."""
    folder = tmp_path_factory.mktemp("stored")
    unpack(folder)
    return folder


@pytest.mark.parametrize(("run", "table"), [*finished_runs()])
def test_a_stored_model_predicts_what_it_predicted_then(bakeoff: Bakeoff, stored: Path, run: str, table: str) -> None:
    store = f"tracking.uri=sqlite:///{stored}/outputs/mlflow.db"
    answer = bakeoff("predict", run, str(stored / "outputs" / table), "output=answers.csv", store)
    assert answer.status == 0, answer.err
    expected = pd.read_csv(stored / "outputs" / "expected" / f"{run}.csv")
    pd.testing.assert_frame_equal(pd.read_csv(bakeoff.folder / "answers.csv"), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "run", ["85f6869dc13d44a39d6f8a914c61d7ef", "79a49aa5c878474cafeceda604c93899"], ids=["mortgage", "iris"]
)
def test_a_tree_of_then_is_identical_to_its_replay(bakeoff: Bakeoff, stored: Path, run: str) -> None:
    answer = bakeoff("replay", run, f"tracking.uri=sqlite:///{stored}/outputs/mlflow.db")
    assert answer.status == 0, answer.out + answer.err
    assert "identical: " in answer.out
    # The version is that of the requirements of its model, because such a run has no tag of versions.
    assert f"bakeoff  0.1.0  → {bakeoff_package.__version__}" in answer.out
    assert "the run has not recorded: " in answer.out


def test_the_store_holds_every_learner_of_ours(stored: Path) -> None:
    types = set()
    for file in stored.rglob("model.skops"):
        types |= {name.rpartition(".")[2] for name in RENAMED_CLASSES if name in _classes(file)}
    assert {learner.__name__ for learner in learners.REGISTRY.values()} <= types


def _classes(model: Path) -> set[str]:
    """Return the dotted names of the classes in a skops file."""
    found: set[str] = set()

    def visit(node: object) -> None:
        if isinstance(node, dict):
            found.add(f"{node.get('__module__')}.{node.get('__class__')}")
            for child in node.values():
                visit(child)
        elif isinstance(node, list):
            for child in node:
                visit(child)

    visit(json.loads(ZipFile(model).read("schema.json")))
    return found


def test_a_sweep_of_then_is_run_again_and_beside_the_runs_of_then(bakeoff: Bakeoff) -> None:
    unpack(bakeoff.folder)
    words = ("-m", "learner=naive_bayes,majority", "dataset=mortgage", "evaluation=kfold", "evaluation.folds=2")
    assert "2 to run" in bakeoff("plan", *words).out
    answer = bakeoff(*words)
    assert answer.status == 0, answer.err
    assert "2 already done" in bakeoff("plan", *words).out
    scores = [run.data.metrics["test_accuracy"] for run in bakeoff.runs() if run.info.run_name == "majority mortgage"]
    assert len(scores) == 2
    assert scores[0] == scores[1]


def test_a_failed_run_of_then_is_repeated_though_its_overrides_have_old_names(bakeoff: Bakeoff) -> None:
    unpack(bakeoff.folder)
    with sqlite3.connect(bakeoff.folder / "outputs" / "mlflow.db") as store:  # its learner failed: take one that works
        store.execute("UPDATE tags SET value = replace(value, 'failing.Failing', 'learners.MajorityClassifier')")
        store.execute("UPDATE tags SET value = replace(value, '\"~learner.categorical_features\", ', '')")
    store.close()
    answer = bakeoff("rerun", "--failed")
    assert answer.status == 0, answer.err
    newest = bakeoff.runs()[0]
    assert newest.info.status == "FINISHED"
    assert "=learners.MajorityClassifier" in newest.data.tags["overrides"]
    assert "pipeline.figures.ConfusionMatrix" in newest.data.tags["overrides"]


def test_a_package_of_the_user_keeps_a_name_of_then_where_it_is_trusted(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "learners", ModuleType("learners"))  # the user's, and not the folder of that name
    answer = bakeoff("learner=majority", "learner._target_=learners.SVC", "trust=[learners]", "dataset=iris")
    assert answer.status == 2
    assert "learners.SVC" in answer.err
    assert "bakeoff.learners.SVC" not in answer.err


@pytest.mark.parametrize("name", sorted({*RENAMED_TARGETS.values(), *RENAMED_CLASSES.values()}))
def test_every_present_name_in_the_tables_exists(name: str) -> None:
    assert import_target(name, "any", ["bakeoff"]) is not None


def test_attributes_are_renamed_of_classes_in_the_table_only() -> None:
    assert set(RENAMED_ATTRIBUTES) <= set(RENAMED_CLASSES)


def test_a_run_of_0_1_0_is_shipped_with_the_remark_that_the_code_has_changed(bakeoff: Bakeoff) -> None:
    unpack(bakeoff.folder)
    answer = bakeoff("ship", "latest", "as=old@champion")
    assert answer.status == 0, answer.err
    assert "the code or the versions of packages have changed since run" in answer.err
