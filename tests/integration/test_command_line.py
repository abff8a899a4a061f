"""Small things of the command line: flags in any order, help, names of runs, and lines that are not cut."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command import Bakeoff

from bakeoff.learners import REGISTRY
from bakeoff.pipeline.cli.main import VERBS
from bakeoff.pipeline.config.options import CONF, GROUPS, read_options

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


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_a_word_in_another_encoding_is_refused_with_its_cure(bakeoff: Bakeoff, verb: str) -> None:
    words = [verb] if verb else ["dataset=file", "dataset.target=y"]
    answer = bakeoff(*words, "dataset.path=\udcc3\udcbcmlaut.csv")
    assert answer.status == 2
    assert r"refused: 'dataset.path=\udcc3\udcbcmlaut.csv' is not text in the encoding" in answer.err
    assert "set PYTHONUTF8=1" in answer.err


@pytest.mark.slow
@pytest.mark.parametrize("is_cured", [False, True])
def test_a_file_in_utf_8_is_read_in_the_locale_c_as_the_refusal_says(tmp_path: Path, is_cured: bool) -> None:
    (tmp_path / "ümlaut.csv").write_text("x,y\n" + "1,a\n2,b\n" * 20)
    words = ["dataset=file", "dataset.path=ümlaut.csv", "dataset.target=y", "learner=majority", "tracking=none"]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": str(int(is_cured))}
    done = subprocess.run(
        [sys.executable, "-m", "bakeoff", *words], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert done.returncode == (0 if is_cured else 2)
    assert (b"PYTHONUTF8=1" in done.stderr) is not is_cured


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


def test_the_help_fits_a_page_and_counts_the_options(bakeoff: Bakeoff) -> None:
    shown = bakeoff("--help").out
    verbs = shown.partition("bakeoff plan")[2].partition("\n\n")[0].splitlines()
    assert all("  " in line for line in verbs), "a usage touches its sentence"
    assert len(shown.splitlines()) < 45
    for group in GROUPS:
        assert f"{group} {len(read_options(group))}" in " ".join(shown.split())
    assert "_target_" not in shown
    assert bakeoff("help").out == bakeoff("learner=knn", "--help").out == shown


def test_help_describes_a_verb(bakeoff: Bakeoff) -> None:
    assert bakeoff("help", "ship").out == bakeoff("ship", "--help").out
    assert bakeoff("help", "help").out.startswith("bakeoff help [VERB ...]")


@pytest.mark.parametrize("words", [("learner", "knn"), ("learner=knn",)], ids=" ".join)
def test_the_keys_of_an_option_are_listed_with_defaults_and_comments(bakeoff: Bakeoff, words: tuple[str, ...]) -> None:
    shown = bakeoff("list", *words).out
    assert re.search(r"^  n_neighbors: 5 +# an integer from 1", shown, re.M)
    for key in REGISTRY["knn"]().get_params():
        assert re.search(rf"^  {key}: \S+ +# \S", shown, re.M), key


def test_the_keys_that_an_option_includes_are_listed_with_it(bakeoff: Bakeoff) -> None:
    shown = bakeoff("list", "dataset=file", "tuning", "learner", "ridge").out
    assert re.search(r"^  separator: null +# ", shown, re.M)
    assert re.search(r"^  drop: \[\] +# columns to leave out", shown, re.M)
    assert "tuning=\n  default" in shown
    assert "learner=ridge\n  # " in shown


def test_the_keys_of_an_own_option_are_listed(bakeoff: Bakeoff) -> None:
    folder = bakeoff.folder / "conf" / "learner"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("# Mine.\n_target_: mine.Mine\ndepth: 3  # from 1\n")
    assert "  depth: 3  # from 1" in bakeoff("list", "learner=mine").out


def test_every_key_of_a_learner_has_a_comment() -> None:
    silent = [
        f"{file.stem}: {line}"
        for file in (CONF / "learner").glob("*.yaml")
        for line in file.read_text().splitlines()
        if re.match(r"[a-z]\w*:", line) and "#" not in line
    ]
    assert silent == []


COMPLETING = """
eval "$(bakeoff -sc install=bash)"
COMP_LINE="bakeoff $1"
COMP_POINT=${#COMP_LINE}
COMP_WORDS=(bakeoff $1)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
hydra_bash_completion
echo "${COMPREPLY[@]}"
"""


COMPLETED = {
    "learner=kn": "learner=knn learner=knn_regressor",
    "plan dataset=wi": "dataset=wine",
    "pred": "predict",
    "help abl": "ablate",
    "compare fail_if=w": "fail_if=worse",
    "rm dry_run=": "dry_run=false dry_run=true",
    "ship latest a": "as=",
}
"""The beginning of a command line -> the completions of its last word."""


@pytest.mark.slow
def test_the_shell_completes_words(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    for words, completed in COMPLETED.items():
        command = ["bash", "-c", COMPLETING, "bash", words]
        answer = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env={"PATH": path, "HOME": str(tmp_path)}, check=True
        )
        assert answer.stdout.strip() == completed, answer.stderr


def test_a_guess_about_a_file_is_reported_by_its_first_run_only(bakeoff: Bakeoff) -> None:
    rows = "".join(f"{row},5;{'ab'[row % 2]}\n" for row in range(20))
    (bakeoff.folder / "my.csv").write_text(f"x;y\n{rows}")
    words = ("dataset=file", "dataset.path=my.csv", "dataset.target=y", "learner=majority")
    guesses = ("dataset.separator=semicolon confirms it", "dataset.decimal=comma confirms it")
    first = bakeoff(*words).err
    assert all(guess in first for guess in guesses)
    for answer in (
        bakeoff(*words, "seed=1"),
        bakeoff("-m", *words, "seed=2,3"),
        bakeoff("predict", "latest", "my.csv"),
    ):
        assert "confirms it" not in answer.err + answer.out
    assert all(guess in bakeoff("inspect", "my.csv", "target=y").out for guess in guesses)
    # Other rows are a file that no run has used.
    (bakeoff.folder / "my.csv").write_text(f"x;y\n{rows}8,5;a\n")
    changed = bakeoff("-m", *words, "seed=1,2").err
    assert all(guess in changed for guess in guesses)
