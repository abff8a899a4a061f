"""Configurations that students hand in: run without trust, with limits, and compared with a claim."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.pipeline.commands.grade.claims import judge_claim, read_exercise
from bakeoff.pipeline.commands.grade.command import grade_answers
from bakeoff.pipeline.commands.grade.request import GradeRequest

EXERCISE = """\
task: A tree of at most 3 leaves with an accuracy of at least 0.9 on iris
words: [learner=decision_tree, dataset=iris]
may: [learner.max_leaf_nodes, preprocessing]
at_least: {accuracy: 0.9}
at_most: {learner.max_leaf_nodes: 3}
"""


def write(tmp_path: Path, exercise: str, answer: str) -> tuple[Path, Path]:
    """Write an exercise and an answer."""
    (tmp_path / "exercise.yaml").write_text(exercise)
    (tmp_path / "ada.yaml").write_text(answer)
    return tmp_path / "exercise.yaml", tmp_path / "ada.yaml"


def test_a_claim_that_holds_has_a_point_for_each_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exercise, answer = write(tmp_path, EXERCISE, "{learner: {max_leaf_nodes: 3}}")
    output = tmp_path / "marks"
    of_bob = tmp_path / "bob" / "ada.yaml"
    of_bob.parent.mkdir()
    of_bob.write_text("seed: 1")
    assert grade_answers(GradeRequest(task=exercise, files=(str(answer), str(of_bob)), output=output)).status == 0
    ada, bob = map(str.strip, capsys.readouterr().out.strip().splitlines())
    assert ada.startswith("ada.yaml      2 of 2  accuracy = 0.9")
    assert bob.startswith("bob/ada.yaml  0 of 2  ada.yaml sets seed.")
    assert {file.name for file in output.iterdir()} == {"marks.csv", "class.html"}
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize(
    ("exercise", "answer", "reason"),
    [
        (EXERCISE, "dataset: wine", "ada.yaml sets dataset. Allowed: learner.max_leaf_nodes, preprocessing."),
        (EXERCISE, "trust: [os]", "ada.yaml sets trust."),
        (EXERCISE, "[1]", "ada.yaml is no configuration, such as {learner.max_leaf_nodes: VALUE}"),
        (EXERCISE, "{1", "ada.yaml is not YAML"),
        (EXERCISE.replace("preprocessing", "preprocessing, learner"), "learner._target_: os.system", "the run failed"),
        (EXERCISE + "seconds: 1\n", "learner.max_leaf_nodes: 3", "the run took more than 1 seconds"),
    ],
    ids=["other key", "trust", "list", "no YAML", "own code", "time"],
)
def test_an_answer_that_may_not_run_has_no_points_and_the_reason(
    tmp_path: Path, exercise: str, answer: str, reason: str
) -> None:
    found = judge_claim(read_exercise(write(tmp_path, exercise, answer)[0]), tmp_path / "ada.yaml")
    assert found["points"] == 0
    assert reason in found["reason"]
