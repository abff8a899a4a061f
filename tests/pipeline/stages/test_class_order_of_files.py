"""The order in which an ARFF file declares its classes decides equal votes of a run, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from doubles import composed

from bakeoff.learners import DecisionTreeClassifier
from bakeoff.pipeline.config.compose_job import resolve_config
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment
from bakeoff.pipeline.stages.dataset import read_table

ROWS = "0,no\n0,yes\n0,no\n0,yes\n1,no\n1,yes\n" * 2


def write(folder: Path, classes: str, name: str = "votes.arff", rows: str = ROWS) -> str:
    file = folder / name
    file.write_text(f"@relation votes\n@attribute x numeric\n@attribute y {{{classes}}}\n@data\n{rows}")
    return str(file)


def build(path: str, *words: str) -> Experiment:
    words = ("dataset=file", f"dataset.path={path}", "dataset.target=y", *words)
    return build_experiment(settle_config(resolve_config(composed(*words))), PartCache())


def test_only_an_order_that_is_not_sorted_is_kept(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, "yes,no"), "y").class_order == ("yes", "no")
    assert read_table(write(tmp_path, "no,yes"), "y").class_order is None
    assert read_table(write(tmp_path, "yes,maybe,no"), "y").class_order == ("yes", "no")
    numbers = ROWS.replace("no", "1").replace("yes", "2")
    data = read_table(write(tmp_path, "2,1", rows=numbers), "y", task="classification")
    assert data.class_order == (2, 1)
    assert data.y.tolist()[:2] == [1, 2]


def test_the_order_is_a_part_of_what_identifies_the_data(tmp_path: Path) -> None:
    digests = {read_table(write(tmp_path, classes, "votes.arff"), "y").digest() for classes in ("yes,no", "no,yes")}
    assert len(digests) == 2


@pytest.mark.parametrize(("classes", "winner"), [("yes,no", "yes"), ("no,yes", "no")])
@pytest.mark.parametrize("learner", ["decision_tree", "c45", "majority", "knn", "random_forest"])
def test_equal_votes_of_a_run_go_to_the_class_that_is_declared_first(
    learner: str, classes: str, winner: str, tmp_path: Path
) -> None:
    words = [f"learner={learner}"]
    if learner == "knn":
        words += ["learner.n_neighbors=8", "learner.ties=all"]
    if learner == "random_forest":
        words += ["learner.bootstrap=false", "learner.n_estimators=2"]
    experiment = build(write(tmp_path, classes), *words)
    assert experiment.dataset.classes.tolist() == ["no", "yes"]
    model = experiment.learner.fit(experiment.dataset.X, experiment.dataset.y)
    assert model.predict(experiment.dataset.X[:1]).tolist() == [winner]


def test_an_order_that_is_given_is_kept(tmp_path: Path) -> None:
    experiment = build(write(tmp_path, "yes,no"), "learner=decision_tree", "learner.class_order=[no,yes]")
    assert isinstance(experiment.learner, DecisionTreeClassifier)
    assert list(experiment.learner.class_order) == ["no", "yes"]


def test_learners_without_such_an_order_are_left_alone(tmp_path: Path) -> None:
    experiment = build(write(tmp_path, "yes,no"), "learner=sklearn_majority")
    assert "class_order" not in experiment.learner.get_params()
