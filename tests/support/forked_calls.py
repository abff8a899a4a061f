"""Modules run as by ``python -m``, in processes forked from one that has imported packages that take long to import.

As a program, it reads calls as JSON, makes one after the other, and writes their exit codes and their output as JSON.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import traceback
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


END = "\0"
"""What is written after each line."""


class Call(NamedTuple):
    """A module to run in a process of its own.

    Attributes
    ----------
    module : str
        Its name.
    lines : list of list of str
        The words after it; the module runs with each of them, one after the other.
    folder : str
        The current folder.
    path : str
        Where modules are searched first.
    """

    module: str
    lines: list[list[str]]
    folder: str
    path: str


class Ended(NamedTuple):
    """The exit code of a line of a call, and what it wrote."""

    status: int
    output: str


def make_calls(calls: Sequence[Call]) -> list[Ended]:
    """Make calls in one process after the other, and return what each of their lines has said."""
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
    answers = [answer for call in calls for answer in make_call(call)]
    json.dump(answers, sys.stdout)


def make_call(call: Call) -> list[Ended]:
    """Run a module in a process of its own."""
    with TemporaryFile("w+") as file:
        child = os.fork()
        if child == 0:
            os.dup2(file.fileno(), sys.stdout.fileno())
            os.dup2(file.fileno(), sys.stderr.fileno())
            try:
                run_lines(call)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(0)
        os.waitpid(child, 0)
        file.seek(0)
        return read_answers(file.read(), len(call.lines))


def read_answers(written: str, n_lines: int) -> list[Ended]:
    """Return what each line has said; those after which the process ended have no exit code, but -1."""
    said = written.split(END)
    answers = [Ended(int(status), output) for output, status in zip(said[::2], said[1::2], strict=False)]
    return answers + [Ended(-1, said[-1])] * (n_lines - len(answers))


def run_lines(call: Call) -> None:
    """Do what ``python -m`` does with each line."""
    os.chdir(call.folder)
    os.environ["PYTHONPATH"] = call.path
    sys.path.insert(0, call.path)
    if call.module == "bakeoff":
        # The process does not end with a line whose store is still open.
        import_module("bakeoff.pipeline.cli.main").__dict__["leave"] = sys.exit
    for words in call.lines:
        sys.argv = [call.module, *words]
        try:
            runpy.run_module(call.module, run_name="__main__", alter_sys=True)
        except SystemExit as end:
            sys.stderr.flush()
            print(END, int(end.code or 0), END, sep="", end="", flush=True)


if __name__ == "__main__":
    main()
