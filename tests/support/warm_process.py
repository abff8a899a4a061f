"""The command in a process of its own that is there at once: forked from one that has imported everything.

Importing MLflow and SciPy takes a process three seconds.  This one has them, and is otherwise like one that a shell
starts: it leads a session, has workers of its own, and can be killed.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TypeVar

T = TypeVar("T")
Start = Callable[[Path, Sequence[str]], "Command"]
SUPPORT = Path(__file__).parent
PRELOAD = ["bakeoff.pipeline.sweep.worker_preload"]
OUTPUT = "output.txt"


@dataclass(frozen=True)
class Command:
    """A command that was started, with the methods of ``subprocess.Popen``."""

    process: ForkServerProcess

    @property
    def pid(self) -> int:
        """The process."""
        assert self.process.pid is not None
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self.process.exitcode

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self.process.exitcode

    def wait(self, seconds: float) -> int:
        """Wait for its end, and return the exit code; at most so long."""
        self.process.join(seconds)
        if self.process.exitcode is None:
            raise TimeoutError(f"it did not end within {seconds} seconds")
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to this process alone."""
        os.kill(self.pid, number)


@contextmanager
def starting() -> Iterator[Start]:
    """Give a way to start the command in a folder; what still runs at the end of the block is killed."""
    started: list[Command] = []

    def start(folder: Path, words: Sequence[str]) -> Command:
        started.append(start_command(folder, words))
        return started[-1]

    try:
        yield start
    finally:
        for command in started:
            if command.poll() is None:
                with suppress(ProcessLookupError):  # it may not lead a group yet
                    os.killpg(command.pid, signal.SIGKILL)
                command.process.kill()
            command.process.join()


def call(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a process that has called nothing before, with this process's ``sys.path``."""
    with ProcessPoolExecutor(1, mp_context=_context()) as pool:
        return pool.submit(function, *arguments).result()


def run_script(file: Path, *words: str) -> CompletedProcess[str]:
    """Run a script of this repository as ``python FILE WORDS`` does."""
    return call(_run_script, file, words)


def start_command(folder: Path, words: Sequence[str]) -> Command:
    """Start the command in a folder; its output is added to ``output.txt`` there."""
    process = _context().Process(target=_run, args=(folder, tuple(words), dict(os.environ)))
    process.start()
    return Command(process)


def _run_script(file: Path, words: Sequence[str]) -> CompletedProcess[str]:
    sys.argv = [str(file), *words]
    sys.path[:] = [str(file.parent), *(folder for folder in sys.path if Path(folder) != SUPPORT)]
    warnings.simplefilter("ignore")
    out, err = StringIO(), StringIO()
    status: str | int | None = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            runpy.run_path(str(file), run_name="__main__")
        except SystemExit as end:
            status = end.code
        if isinstance(status, str):
            print(status, file=err)
            status = 1
    return CompletedProcess(sys.argv, status or 0, out.getvalue(), err.getvalue())


def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    return context


def _run(folder: Path, words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Become what a shell would have started."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    process: Any = multiprocessing.process
    process.ORIGINAL_DIR = str(folder)  # where workers begin
    os.environ.clear()
    os.environ.update(environment)
    said = os.open(folder / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(said, sys.stdout.fileno())
    os.dup2(said, sys.stderr.fileno())
    warnings.simplefilter("ignore")
    sys.argv = ["bakeoff", *words]

    from bakeoff.pipeline.cli.main import main

    main()
