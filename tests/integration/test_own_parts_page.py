"""docs/own-parts.md: its parts are short, nothing is wrong with them, and its commands run."""

from __future__ import annotations

import pytest
from command import Bakeoff
from own_parts_page import COMMANDS, write_project


@pytest.fixture
def project(bakeoff: Bakeoff) -> Bakeoff:
    """Return the command in the folder of the page."""
    write_project(bakeoff.folder)
    return bakeoff


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_commands_of_the_page_run(project: Bakeoff, words: list[str]) -> None:
    answer = project(*words)
    assert answer.status == 0, answer.out + answer.err
    if words[0] == "check":
        assert "  wrong " not in answer.out
        assert answer.out.count("0 wrong") == answer.out.count(".yaml\n")


@pytest.mark.slow
def test_a_run_of_own_parts_is_repeated_to_the_last_bit_and_predicts_where_they_are_trusted(project: Bakeoff) -> None:
    words = ["dataset=spirals", "learner=logistic_regression", "preprocessing=clip", "evaluation=every_nth"]
    answer = project(*words, "evaluation.metrics=[profit,accuracy]", "trust=[mine]")
    assert answer.status == 0, answer.err
    assert project("replay", "latest").status == 2
    replayed = project("replay", "latest", "trust=[mine]")
    assert replayed.status == 0, replayed.err
    assert "identical" in replayed.out
    (project.folder / "new.csv").write_text("x,y\n1.5,2.0\n-3.0,0.5\n")
    refused = project("predict", "latest", "new.csv", "output=answers.csv")
    assert (refused.status, "trust=[mine]" in refused.err) == (2, True)
    assert project("predict", "latest", "new.csv", "output=answers.csv", "trust=[mine]").status == 0
    assert len((project.folder / "answers.csv").read_text().splitlines()) == 3


def test_a_file_with_a_fault_ends_with_exit_code_1(project: Bakeoff) -> None:
    file = project.folder / "conf" / "metric" / "profit.yaml"
    file.write_text(file.read_text().replace("greater_is_better: true", "greater_is_better: false"))
    answer = project("check", "conf/metric/profit.yaml", "trust=[mine]")
    assert answer.status == 1
    assert "write greater_is_better: true" in answer.out
    assert "conf/metric/profit.yaml: 1 wrong" in answer.out
    file.write_text("a: [")
    answer = project("check", "conf/metric/profit.yaml")
    assert answer.status == 1
    assert "conf/metric/profit.yaml is not YAML" in answer.out
