"""Every command of the documentation runs, or its block says why no test runs it as it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest
from command import Answer, Bakeoff
from page_commands import REASONS, Command, list_commands, list_pages, read_page, write_shown_files
from page_files import WRITERS, write_customers

RUN_ELSEWHERE: Mapping[str, str] = {
    "README.md": "test_readme.py",
    "docs/optuna.md": "test_optuna.py",
    "docs/own-parts.md": "test_own_parts_page.py",
    "docs/tutorial.md": "test_tutorial.py",
}
"""Pages whose commands another file of tests runs."""
REPEATED = ("evaluation=repeated_kfold", "evaluation.repeats=1", "evaluation.folds=3")
BEFORE: Mapping[str, Sequence[Sequence[str]]] = {
    "docs/comparison.md": [["dataset=blobs", "learner=majority", *REPEATED], ["ship", "latest", "as=churn@champion"]],
    "docs/paper.md": [
        ["-m", "dataset=iris,wine,blobs,moons,circles,breast_cancer", "learner=majority,naive_bayes,knn", *REPEATED],
    ],
    "docs/replay.md": [
        ["-m", "dataset=iris", "learner=majority,naive_bayes"],
        ["dataset=wine", "learner=knn", "evaluation=kfold"],
    ],
}
"""Pages whose commands read runs that readers have already."""
SHORTER: Mapping[str, Sequence[str]] = {
    REPEATED[0]: REPEATED[1:],
    "learner=knn,decision_tree,naive_bayes,logistic_regression,svm,perceptron": ["learner=knn,naive_bayes"],
    "learner=glob(*)": ["learner=glob(d*)", "tracking=none"],
    "learner=glob(sklearn_*)": ["learner=glob(sklearn_d*)", "tracking=none"],
    "evaluation=kfold": ["evaluation.folds=2"],
    "learner=random_forest": ["learner.n_estimators=10"],
    "figures=all": ["figures=[confusion_matrix,roc]"],
}
"""Words that take long -> words that are added. Other tests repeat folds, fit every learner and draw all figures."""
AT_LENGTH = ("docs/accept.md",)
"""Pages whose answers need all folds."""
NOT_STORED = "tracking=none"
WITHOUT_MODEL = "tracking.models=false"
STORED: Mapping[str, Sequence[str]] = {
    "docs/accept.md": [WITHOUT_MODEL],
    "docs/automation.md": [WITHOUT_MODEL],
    "docs/comparison.md": [WITHOUT_MODEL],
    "docs/diff.md": [],
    "docs/doctor.md": [WITHOUT_MODEL],
    "docs/figures.md": [WITHOUT_MODEL],
    "docs/lectures.md": [WITHOUT_MODEL],
    "docs/models.md": [],
    "docs/paper.md": [WITHOUT_MODEL],
    "docs/reference.md": [WITHOUT_MODEL],
    "docs/replay.md": [],
    "docs/report.md": [WITHOUT_MODEL],
    "docs/sweeps.md": [WITHOUT_MODEL],
    "docs/watch.md": [WITHOUT_MODEL],
}
"""Pages whose commands read runs, and what is added to the commands that make them. Other pages store nothing."""
PAGES = [page for page in list_pages() if list_commands(page)]
COMMANDS = [command for page in PAGES for command in list_commands(page)]
MARKED = [command for command in COMMANDS if command.reason]
RUN_HERE = [page for page in PAGES if page not in RUN_ELSEWHERE and not all(c.reason for c in list_commands(page))]


@pytest.mark.parametrize("command", MARKED, ids=str)
def test_a_command_that_is_not_run_says_why(command: Command) -> None:
    assert command.reason in REASONS


@pytest.mark.parametrize("page", sorted({*PAGES} - {"README.md"}))
def test_every_other_command_of_a_page_is_one_of_bakeoff(page: str) -> None:
    commands = [command for command in list_commands(page) if not command.reason]
    others = [str(command) for command in commands if not command.text.startswith("bakeoff ")]
    assert others == []


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN_HERE)
def test_every_command_of_the_page_runs(bakeoff: Bakeoff, page: str) -> None:
    WRITERS.get(page, write_customers)(bakeoff.folder)
    write_shown_files(page, bakeoff.folder)
    for words in BEFORE.get(page, ()):
        prepared = bakeoff(*words)
        assert prepared.status == 0, prepared.err
    for command in list_commands(page):
        if not command.reason and not is_run_by_the_sweep_of_experiments(command):
            answer = bakeoff(*command.words[1:], *shorten(command))
            check_answer(answer, command)


def is_run_by_the_sweep_of_experiments(command: Command) -> bool:
    """Return whether test_experiments.py runs this job, in one sweep with all other experiments."""
    (*others, last) = command.words[1:]
    return last.startswith("experiment=") and others in ([], ["-m"])


def shorten(command: Command) -> list[str]:
    """Return words that make a command of a page shorter, and keep what it shows."""
    is_run = "=" in command.words[1] or command.words[1].startswith("-")
    words = [added for word in command.words for added in SHORTER.get(word, ()) if command.page not in AT_LENGTH]
    if command.words[1] == "work":  # which takes a key once
        given = {word.partition("=")[0] for word in command.words}
        return [added for added in words if added.partition("=")[0] not in given]
    if not is_run or NOT_STORED in words:
        return words
    # Figures are artifacts of a run.
    needs_run = any(word.startswith("figures=") for word in command.words)
    return [*words, *STORED.get(command.page, [WITHOUT_MODEL] if needs_run else [NOT_STORED])]


def check_answer(answer: Answer, command: Command) -> None:
    """Assert that the command did what the page shows: its work, or the message with which it is refused."""
    shown = rf"^\$ {re.escape(command.text)}\n(refused: .*?)^(?:```|\$ )"
    refused = re.search(shown, read_page(command.page), re.DOTALL | re.MULTILINE)
    if refused is None:
        assert answer.status == 0, f"{command}\n{answer.err}"
    else:
        assert answer.status == 2, f"{command}\n{answer.out}"
        assert answer.err.split() == refused.group(1).split()
