"""``bakeoff init``: make a project folder for parts of one's own."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.parts.project import ProjectRequest, make_project

NEXT_STEPS = (
    ("make test", "the tests of its code"),
    ("make check", "what bakeoff finds wrong with its parts"),
    ("make run", "one experiment"),
    ("make compare", "its learner and three others"),
)


def start_project(words: Sequence[str]) -> int:
    """Make a project folder with a dataset, a learner, a metric and their tests, and print what can be done in it.

    Raises
    ------
    UserError
        The folder holds files, cannot be written, or has a name that no package can have.
    """
    folder = read_request("init", ProjectRequest, words).folder
    files = make_project(folder)
    print(f"{folder} holds a dataset, a learner, a metric and their tests:")
    for file in files:
        print(f"  {file}")
    print(f"cd {shlex.quote(str(folder))}")
    width = max(len(command) for command, _ in NEXT_STEPS)
    for command, meaning in NEXT_STEPS:
        print(f"{command:<{width}}  # {meaning}")
    return 0
