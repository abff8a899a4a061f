"""Modules run as by ``python -m``, in processes forked from one that has imported packages that take long to import.

As a program, it reads calls as JSON, makes one after the other, and writes their exit codes and their output as JSON.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from tempfile import TemporaryFile
from typing import NamedTuple

PACKAGES = (
    "hydra",
    "matplotlib.figure",
    "mlflow.pyfunc",
    "mlflow.sklearn",
    "pandas",
    "pytest",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.inspection",
    "skops.io",
)


class Call(NamedTuple):
    """A module to run.

    Attributes
    ----------
    module : str
        Its name.
    words : list of str
        The words after it.
    folder : str
        The current folder.
    path : str
        Where modules are searched first.
    """

    module: str
    words: list[str]
    folder: str
    path: str


class Ended(NamedTuple):
    """The exit code of a call, and what it wrote."""

    status: int
    output: str


def make_calls(calls: Sequence[Call]) -> list[Ended]:
    """Make calls in one process after the other."""
    program = [sys.executable, "-P", __file__]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        program, input=json.dumps(calls), env=environment, stdout=subprocess.PIPE, check=True, text=True
    )
    return [Ended(*answer) for answer in json.loads(ended.stdout)]


def main() -> None:
    """Make the calls of standard input."""
    calls = [Call(*call) for call in json.load(sys.stdin)]
    for package in PACKAGES:
        import_module(package)
    answers = [make_call(call) for call in calls]
    json.dump(answers, sys.stdout)


def make_call(call: Call) -> Ended:
    """Run a module in a process of its own."""
    with TemporaryFile("w+") as file:
        child = os.fork()
        if child == 0:
            os.dup2(file.fileno(), sys.stdout.fileno())
            os.dup2(file.fileno(), sys.stderr.fileno())
            run_module(call)
            sys.exit()
        _, status = os.waitpid(child, 0)
        file.seek(0)
        return Ended(os.waitstatus_to_exitcode(status), file.read())


def run_module(call: Call) -> None:
    """Do what ``python -m`` does."""
    os.chdir(call.folder)
    os.environ["PYTHONPATH"] = call.path
    sys.path.insert(0, call.path)
    sys.argv = [call.module, *call.words]
    runpy.run_module(call.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
