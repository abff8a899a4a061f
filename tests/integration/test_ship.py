"""``bakeoff ship``: the procedure of a run, fitted on all rows and registered, in a real store."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import Answer, Bakeoff, command_in

from bakeoff.pipeline.tracking import models, store_writer
from bakeoff.pipeline.tracking.names import RegisteredVersion, list_versions
from bakeoff.pipeline.tracking.store import open_store
from bakeoff.pipeline.tracking.store_writer import FileWriter

N_ROWS = 60
FILE = "points.csv"
WORDS = ("dataset=file", f"dataset.path={FILE}", "dataset.target=side", "preprocessing=none")
TUNED = ("learner=sklearn_knn", "tuning=grid", "tuning.folds=3", "space={n_neighbors: [1, 3, 9]}")


def write_points(file: Path, shift: float = 0.0) -> pd.DataFrame:
    """Write rows of two numbers and a side, and return them."""
    rows = range(N_ROWS)
    table = pd.DataFrame({"x": [i * 7 % 11 + 0.25 for i in rows], "y": [i * 5 % 13 + 0.5 for i in rows]})
    table["side"] = ["left" if x + shift < y else "right" for x, y in zip(table["x"], table["y"], strict=True)]
    table.to_csv(file, index=False)
    return table


def registry(bakeoff: Bakeoff) -> Any:
    from mlflow import MlflowClient

    uri = f"sqlite:///{bakeoff.folder}/outputs/mlflow.db"
    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def versions(bakeoff: Bakeoff, name: str = "") -> list[RegisteredVersion]:
    """Return the versions of a registered model, the oldest first."""
    return list_versions(open_store(f"sqlite:///{bakeoff.folder}/outputs/mlflow.db", "bakeoff"), name)


def find_everything(bakeoff: Bakeoff) -> list[Any]:
    """Return what shipping may change: registered models, versions, aliases, logged models, runs and files."""
    client = registry(bakeoff)
    names = [model.name for model in client.search_registered_models()]
    numbers = [(each.name, each.version, each.aliases) for each in versions(bakeoff)]
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    logged = sorted(model.model_id for model in client.search_logged_models(experiments))
    runs = sorted((run.info.run_id, run.info.end_time) for run in client.search_runs(experiments))
    files = sorted(str(path) for path in (bakeoff.folder / "outputs" / "artifacts").rglob("*"))
    return [names, numbers, logged, runs, files]


def run(bakeoff: Bakeoff, *words: str) -> str:
    """Run an experiment on the points, and return the id of the run."""
    answer = bakeoff(*WORDS, *words)
    assert answer.status == 0, answer.err
    return str(bakeoff.runs()[0].info.run_id)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bakeoff, dict[str, str]]:
    """Return the command in a folder whose store holds three runs on the points, and their ids."""
    folder = tmp_path_factory.mktemp("kept")
    write_points(folder / FILE)
    with command_in(folder) as bakeoff:
        ids = {
            "tuned": run(bakeoff, *TUNED),
            "pruned": run(bakeoff, "learner=decision_tree", "pruning=bottom_up"),
            "folds": run(bakeoff, "learner=naive_bayes", "evaluation=kfold"),
        }
    return bakeoff, ids


@pytest.fixture
def ids(kept: tuple[Bakeoff, dict[str, str]]) -> dict[str, str]:
    """Return the ids of the runs."""
    return kept[1]


@pytest.fixture
def there(kept: tuple[Bakeoff, dict[str, str]], bakeoff: Bakeoff) -> Bakeoff:
    """Return the command in the folder of the store; each test gives its models names of their own."""
    folder = kept[0].folder
    bakeoff.patch.chdir(folder)
    return Bakeoff(folder, bakeoff.capture, bakeoff.patch)


def predict(bakeoff: Bakeoff, word: str) -> pd.DataFrame:
    """Return what ``bakeoff predict`` writes for the training file."""
    answer = bakeoff("predict", word, FILE, "output=answers.csv")
    assert answer.status == 0, answer.err
    return pd.read_csv(bakeoff.folder / "answers.csv")


def ship(bakeoff: Bakeoff, word: str, name: str, *words: str) -> Answer:
    """Ship a model, and return what is printed."""
    answer = bakeoff("ship", word, f"as={name}", *words)
    assert answer.status == 0, answer.err
    return answer


def test_a_shipped_model_is_registered_with_its_run_rows_scores_and_digest(there: Bakeoff, ids: dict[str, str]) -> None:
    before = there.runs()
    ship(there, ids["folds"], "facts@champion")
    (version,) = versions(there, "facts")
    run = there.client().get_run(ids["folds"])
    model = there.client().get_logged_model(version.model_id)
    assert version.aliases == ("champion",)
    assert (version.run_id, model.source_run_id, model.name) == (ids["folds"], ids["folds"], "facts")
    assert model.experiment_id == run.info.experiment_id
    assert "fitted on all 60 rows" in there.client().get_model_version("facts", "1").description
    assert version.tags["dataset_digest"] == run.data.tags["dataset_digest"]
    assert version.tags["headline"] == "test_accuracy"
    assert float(version.tags["test_accuracy"]) == run.data.metrics["test_accuracy"]
    assert (version.tags["n_rows"], version.tags["n_train"], version.tags["n_test"]) == ("60", "60", "0")
    # There is no new run, and the run has the model that it had.
    assert [each.info.run_id for each in there.runs()] == [each.info.run_id for each in before]
    assert [each.model_id for each in run.outputs.model_outputs] != [version.model_id]


def test_the_same_alias_moves_to_the_new_version_and_it_is_said_from_which_one(
    there: Bakeoff, ids: dict[str, str]
) -> None:
    ship(there, ids["tuned"], "moved@champion")
    ship(there, ids["tuned"], "moved")
    answer = ship(there, ids["folds"], "moved@champion")
    assert "as moved@champion, version 3; version 1 was champion before" in answer.out
    expected = [(1, ()), (2, ()), (3, ("champion",))]
    assert [(each.version, each.aliases) for each in versions(there, "moved")] == expected
    unnamed = ship(there, ids["folds"], "moved").out
    assert "as moved/4, version 4" in unnamed
    assert predict(there, "moved/1").equals(predict(there, "moved/2"))


def test_a_shipped_model_stands_for_its_run_in_comparisons_and_when_it_is_shipped_again(
    there: Bakeoff, ids: dict[str, str]
) -> None:
    ship(there, ids["folds"], "base@champion")
    again = ship(there, "base@champion", "copy@champion")
    assert f"(run {ids['folds'][:8]}) as copy@champion" in again.out
    assert there(*WORDS, "learner=majority", "evaluation=kfold", "tracking.models=false").status == 0
    filter_of_folds = "filter=params.evaluation = 'kfold'"
    answer = there("compare", filter_of_folds, "base=base@champion", "metrics=accuracy")
    assert answer.status == 0, answer.err
    assert "naive_bayes" in answer.out


@pytest.mark.parametrize(("broken", "status"), [("register", 2), ("alias", 1), ("interrupt", 130)])
def test_a_failure_leaves_nothing_and_the_alias_where_it_was(
    there: Bakeoff, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch, broken: str, status: int
) -> None:
    ship(there, ids["folds"], f"{broken}@champion")
    before = find_everything(there)
    break_step(monkeypatch, broken)
    answer = there("ship", ids["folds"], f"as={broken}@champion")
    monkeypatch.undo()
    there.patch.chdir(there.folder)
    assert answer.status == status
    assert broken == "interrupt" or re.search("it.broke", answer.err)
    assert find_everything(there) == before


def break_step(patch: pytest.MonkeyPatch, step: str) -> None:
    """Let a step of storing a model fail, after it has done its work."""
    if step == "alias":
        patch.setattr(store_writer, "MOVE_ALIAS", "INSERT INTO it_broke VALUES (1)")
        return
    owner: Any
    owner, name = {"interrupt": (models, "save_model"), "register": (FileWriter, "register_version")}[step]
    work = getattr(owner, name)

    def fail(*arguments: Any, **options: Any) -> None:
        if step == "register":
            raise OSError("it broke")
        work(*arguments, **options)
        raise KeyboardInterrupt

    patch.setattr(owner, name, fail)


def test_a_file_that_has_changed_or_is_gone_is_refused_and_found_again_where_it_is(bakeoff: Bakeoff) -> None:
    file = bakeoff.folder / FILE
    table = write_points(file)
    run_id = run(bakeoff, "learner=naive_bayes", "tracking.models=false")
    before = find_everything(bakeoff)
    write_points(file, shift=1.0)
    changed = bakeoff("ship", run_id, "as=points@champion")
    assert changed.status == 2
    assert f"ship: the rows of dataset points are not those of run {run_id}" in changed.err
    file.unlink()
    gone = bakeoff("ship", run_id, "as=points@champion")
    assert gone.status == 2
    assert f"ship: the data of run {run_id} are missing" in gone.err
    assert "dataset.path=FILE" in gone.err
    assert find_everything(bakeoff) == before
    (bakeoff.folder / "moved").mkdir()
    table.to_csv(bakeoff.folder / "moved" / FILE, index=False)
    assert bakeoff("ship", run_id, "as=points@champion", f"dataset.path=moved/{FILE}").status == 0
    assert len(versions(bakeoff, "points")) == 1


def test_what_the_audit_found_and_code_that_has_changed_since_are_said(there: Bakeoff, ids: dict[str, str]) -> None:
    client = there.client()
    tags = client.get_run(ids["folds"]).data.tags
    assert "have changed since" not in ship(there, ids["folds"], "same@champion").err
    client.set_tag(ids["folds"], "config_hash", "of other code")
    client.set_tag(ids["folds"], "audit_warnings", '["column x reveals the target on its own"]')
    err = ship(there, ids["folds"], "same@champion").err
    client.set_tag(ids["folds"], "config_hash", tags["config_hash"])
    client.delete_tag(ids["folds"], "audit_warnings")
    assert f"ship: the code or the versions of packages have changed since run {ids['folds']}" in err
    assert "ship: the audit of the run found: column x reveals the target on its own" in err


OWN_LEARNER = """
from sklearn.neighbors import KNeighborsClassifier


class Nearest(KNeighborsClassifier):
    pass
"""


def test_code_of_the_user_is_called_only_if_trusted_with_the_command_and_travels_with_the_model(
    bakeoff: Bakeoff,
) -> None:
    write_points(bakeoff.folder / FILE)
    package = bakeoff.folder / "shipped_nearest"
    package.mkdir()
    (package / "__init__.py").write_text(OWN_LEARNER)
    bakeoff.patch.syspath_prepend(str(bakeoff.folder))
    trust = "trust=[shipped_nearest]"
    run_id = run(bakeoff, "learner=sklearn_knn", "learner._target_=shipped_nearest.Nearest", trust)
    refused = bakeoff("ship", run_id, "as=own@champion")
    assert refused.status == 2
    assert "ship: learner._target_='shipped_nearest.Nearest' is outside the trusted packages" in refused.err
    assert "add trust=[shipped_nearest]" in refused.err
    answer = ship(bakeoff, run_id, "own@champion", trust)
    assert f"bakeoff predict own@champion FILE '{trust}'" in answer.out
    (version,) = versions(bakeoff, "own")
    address = bakeoff.client().get_logged_model(version.model_id).artifact_location
    location = Path(address.removeprefix("file://"))
    assert (location / "code" / "shipped_nearest" / "__init__.py").read_text() == OWN_LEARNER
    # Where the package is not, this is said, and not that a class does not exist.
    package.rename(bakeoff.folder / "renamed")
    sys.modules.pop("shipped_nearest")
    gone = bakeoff("ship", run_id, "as=own@champion", trust)
    assert gone.status == 2
    assert "cannot be imported: No module named 'shipped_nearest'" in gone.err
    assert len(versions(bakeoff, "own")) == 1
