"""The card of a run: what MLflow's page shows of it first."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command import Bakeoff, command_in
from doubles import experiment

from bakeoff.pipeline.text.wording import format_mean
from bakeoff.pipeline.tracking.card import MAX_CARD_LETTERS, write_card

NOTE = "mlflow.note.content"
WORDS = ["dataset=wine", "learner=decision_tree", "evaluation=kfold", "evaluation.folds=3", "tracking.models=false",
         "tuning=grid", "space.max_depth=[2,3]", "space.min_samples_leaf=[1]", "space.criterion=[gini]"]  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Bakeoff:
    """Return the command in a folder whose store holds the run of a tuned tree over three folds."""
    with command_in(tmp_path_factory.mktemp("tree")) as bakeoff:
        answer = bakeoff(*WORDS)
    assert answer.status == 0, answer.err
    return bakeoff


def read_code(card: str) -> list[str]:
    """Return the lines of the last block of code."""
    return re.findall(r"^```\n(.*?)\n```$", card, flags=re.DOTALL | re.MULTILINE)[-1].splitlines()


def test_it_has_the_headline_score_and_what_was_chosen(tree: Bakeoff) -> None:
    run = tree.runs()[0]
    card = run.data.tags[NOTE]
    score = format_mean(run.data.metrics["test_accuracy"], run.data.metrics["test_accuracy_std"])
    assert f"- accuracy on test rows: {score}" in card
    assert "- tuned on all rows: " in card
    assert f"max_depth={run.data.params['tuned.max_depth']}" in card


def test_its_command_repeats_the_run(tree: Bakeoff) -> None:
    run = tree.runs()[0]
    replay, command = read_code(run.data.tags[NOTE])
    assert replay == f"bakeoff replay {run.info.run_id}"
    program, *words = shlex.split(command)
    assert program == "bakeoff"
    assert words == WORDS
    with command_in(tree.folder) as bakeoff:
        assert bakeoff(*words).status == 0
    newest = tree.runs()[0]
    assert newest.info.run_id != run.info.run_id
    assert newest.data.tags["config_hash"] == run.data.tags["config_hash"]
    assert newest.data.metrics["test_accuracy"] == run.data.metrics["test_accuracy"]


def test_a_run_that_fails_says_what_failed_and_how_to_repeat_it(bakeoff: Bakeoff, conf_of_failing: list[str]) -> None:
    words = ["learner=failing", "trust=[failing]", "dataset=iris", "tracking.models=false"]
    assert bakeoff(*conf_of_failing, *words).status == 1
    card = bakeoff.runs()[0].data.tags[NOTE]
    assert card.startswith("iris: 150 rows")
    assert "**The run did not finish.**" in card
    assert "RuntimeError: the cure is unknown" in card
    assert read_code(card) == ["bakeoff 'trust=[failing]' learner=failing dataset=iris tracking.models=false"]


@pytest.fixture
def conf_of_failing(tmp_path: Path) -> list[str]:
    """Return the flag that adds a learner that fails."""
    folder = tmp_path / "conf"
    (folder / "learner").mkdir(parents=True)
    (folder / "learner" / "failing.yaml").write_text("_target_: failing.Failing\n")
    return ["--config-dir", str(folder)]


def write(*commands: str, lines: tuple[str, ...] = (), ending: str = "") -> str:
    """Return a card of a run without folds."""
    return write_card(experiment(metrics=["accuracy"]), lines, commands, ending)


def test_a_card_is_never_longer_than_a_tag_may_be() -> None:
    assert len(write("x" * 20_000, ending="E: " + "y" * 20_000)) == MAX_CARD_LETTERS


def test_lines_are_shown_as_they_are() -> None:
    assert "a_note with &lt;angles&gt;" in write(lines=("a_note with <angles>",))


def test_an_error_cannot_leave_its_block_of_code() -> None:
    assert write(ending="E: ```\n# not a heading").count("```") == 4
