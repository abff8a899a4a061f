"""Small things of the command line: flags in any order, help, names of runs, and lines that are not cut."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command import Bakeoff

from bakeoff.pipeline.cli.arguments import VERBS

ROOT = Path(__file__).parents[2]
QUICK = ("learner=majority", "dataset=iris", "tracking=none")


@pytest.mark.parametrize("words", [["--version"], ["learner=knn", "--version"], ["predict", "--version"]], ids=" ".join)
def test_the_version_is_that_of_bakeoff(bakeoff: Bakeoff, words: list[str]) -> None:
    assert re.fullmatch(r"bakeoff \d+\.\d+\S*\n", bakeoff(*words).out)


def test_flags_stand_anywhere(bakeoff: Bakeoff) -> None:
    answer = bakeoff("learner=majority", "--cfg", "job", "dataset=iris", "-p", "dataset", "tracking=none")
    assert answer.status == 0, answer.err
    assert "name: iris" in answer.out
    answer = bakeoff("plan", "learner=majority", "-m", "dataset=iris,wine", "tracking=none")
    assert "2 jobs" in answer.out


def test_a_flag_that_is_none_is_refused_with_the_nearest(bakeoff: Bakeoff) -> None:
    for words in (["learner=majority", "--multirn", "dataset=iris"], ["learner=majority", "--multirn"]):
        answer = bakeoff(*words)
        assert answer.status == 2
        assert "refused: --multirn is not a flag. Did you mean '--multirun'?" in answer.err


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(bakeoff: Bakeoff, verb: str) -> None:
    answer = bakeoff(verb, "--help")
    assert answer.status == 0, answer.err
    assert f"bakeoff {verb}" in answer.out
    assert "``" not in answer.out
    assert len(answer.out.split()) > 15


def test_a_job_is_not_named_after_parameters_of_other_learners(bakeoff: Bakeoff) -> None:
    answer = bakeoff("plan", "search=random", "search.n=2", "learner=knn,naive_bayes,majority", *QUICK[1:])
    assert "None" not in answer.out
    assert re.search(r"#0 +knn n_neighbors=\d+", answer.out)
    assert re.search(r"#4 +majority iris", answer.out)
    # A parameter that the learner has may be None.
    own = bakeoff("plan", "learner=decision_tree", "learner.max_depth=null,3", *QUICK[1:])
    assert "max_depth=None decision_tree iris" in own.out


def test_lines_are_not_broken_in_a_pipe(tmp_path: Path) -> None:
    folder = tmp_path / ("a folder with a name that is longer than the width of most terminals, which has spaces " * 2)
    folder.mkdir()
    uri, experiment = f"sqlite:///{folder}/outputs/mlflow.db", "tracking.experiment=my thesis"
    words = [sys.executable, "-m", "bakeoff", "learner=majority", "dataset=iris", f"tracking.uri='{uri}'", experiment]
    answer = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}, check=True
    )
    (command,) = [line for line in answer.stdout.splitlines() if line.startswith("open ")]
    assert shlex.split(command)[1:] == ["bakeoff", "ui", f"tracking.uri={uri}", experiment]


def test_the_command_that_predicts_names_the_store(bakeoff: Bakeoff) -> None:
    store = f"tracking.uri={bakeoff.folder}/my store.db"
    assert bakeoff(*QUICK[:2], store).status == 0
    answer = bakeoff("ship", "latest", "as=flowers@champion", store)
    (command,) = re.findall(r"predict with it: (.*)", answer.out)
    assert shlex.split(command) == ["bakeoff", "predict", "flowers@champion", "FILE", store]
