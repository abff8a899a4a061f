"""Work in progress on standard error: a bar on a terminal, and a line a minute elsewhere."""

import time
from collections.abc import Callable, Iterator, Sequence
from threading import Event, Thread
from typing import Any, Self

from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

from bakeoff.pipeline.sweep.work import Work
from bakeoff.pipeline.text.wording import count_nouns, format_seconds

LINE_SECONDS = 60.0
"""The time between two lines."""
SILENT_SECONDS = 2.0
"""The time after which a check is announced."""
Announce = Callable[[str], object]
"""Prints a sentence."""


class WorkBar:
    """Shows how much is done: a bar on a terminal, and a line a minute elsewhere.

    Parameters
    ----------
    console : Console
    total : int
        The number of jobs.
    """

    def __init__(self, console: Console, total: int = 1) -> None:
        self._console = console
        columns = (*Progress.get_default_columns(), TimeElapsedColumn())
        self._bar = Progress(
            *columns, console=console, transient=True, disable=console.quiet or not console.is_terminal
        )
        self._task = self._bar.add_task("running", total=total)
        self._is_stopped = Event()

    def __enter__(self) -> Self:
        self._bar.start()
        if not self._console.is_terminal:
            # A single fit may take minutes, so the lines cannot wait for its end.
            Thread(target=self._print_lines, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_stopped.set()
        self._bar.stop()

    def show(self, n_done: float, text: str) -> None:
        """Show the number of finished jobs, with fractions for those that run, and a text."""
        self._bar.update(self._task, completed=n_done, description=text)

    def show_work(self, work: Work) -> None:
        """Show how much of a single job is done."""
        self.show(work.fits / work.n_fits, work.text)

    def _print_lines(self) -> None:
        while not self._is_stopped.wait(LINE_SECONDS):
            (task,) = self._bar.tasks
            self._console.print(f"{task.description}, {format_seconds(task.elapsed or 0, 2)}")


def announce_long(items: Sequence[Any], verb: str, announce: Announce) -> Iterator[Any]:
    """Yield an item for each job; announce after some seconds, and then once a minute, how many are done.

    Parameters
    ----------
    items : sequence
    verb : str
        What happens to the jobs, such as ``checking``.
    announce : callable
        Receives the sentences.
    """
    due = time.monotonic() + SILENT_SECONDS
    for n_done, item in enumerate(items):
        if time.monotonic() >= due:
            due = time.monotonic() + LINE_SECONDS
            announce(f"{verb} {count_nouns(len(items), 'job')}: {n_done} done")
        yield item
