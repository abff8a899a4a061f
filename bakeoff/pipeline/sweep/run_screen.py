"""The output of a single run: how much of it is done, a table of scores, and the command that opens the UI.

Work in progress on standard error: a bar on a terminal, and a line a minute elsewhere.
"""

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Event, Thread
from typing import Any, Self

from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

from bakeoff.pipeline.checks import FigureChoice
from bakeoff.pipeline.config.requests import DEFAULT_EXPERIMENT, list_store_words
from bakeoff.pipeline.identity.config_hash import describe_unidentified
from bakeoff.pipeline.stages.tuning import GridTuning
from bakeoff.pipeline.sweep.job_runner import JobResult, PreparedJob
from bakeoff.pipeline.sweep.jobs import Work
from bakeoff.pipeline.tables.table import print_table
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import count_nouns, escape, format_seconds, make_console
from bakeoff.pipeline.tracking import RunDescription, history, sqlite_file
from bakeoff.pipeline.tracking.card import describe_choices, summarize_folds, tabulate_means
from bakeoff.pipeline.tracking.store import Store

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


def write_store_command(setting: Mapping[str, Any], *words: str) -> str:
    """Return a command with the words that select a store, given the settings of the store."""
    of_store = list_store_words(setting.get("uri"), setting.get("experiment", DEFAULT_EXPERIMENT))
    return hide_secrets(shlex.join(["bakeoff", *words, *of_store]))


STORED_NOW = "This job had finished when its store was lost; its results are stored now, and it did not run again."


class RunScreen:
    """Prints scores to standard output, and progress and warnings to standard error.

    Parameters
    ----------
    quiet : bool
        Whether to print nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._out = make_console(quiet=quiet)
        self._err = make_console(stderr=True, quiet=quiet)

    def make_bar(self) -> WorkBar:
        """Return a context manager that shows how much of a run is done."""
        return WorkBar(self._err)

    def show_job(self, prepared: PreparedJob, store: Store | None) -> None:
        """Print the name of the run, its dataset, the effect of preprocessing=auto, and the findings of the audit."""
        experiment = prepared.experiment
        dataset = experiment.dataset
        self._out.print(f"[bold]{escape(prepared.description.name)}[/]\n{escape(dataset.describe())}")
        for line in dataset.describe_columns():
            self._out.print(f"  {escape(line)}")
        for remark in history.list_remarks(dataset, store):
            self._err.print(f"[yellow]dataset:[/] {escape(remark)}")
        if experiment.preprocessing_summary:
            self._out.print(f"preprocessing auto: {escape(experiment.preprocessing_summary)}")
        self._show_tuning(prepared)
        for note in describe_unidentified(prepared.spec):
            self._err.print(f"note: {escape(note)}")
        for warning in prepared.audit_verdict.warnings:
            self._err.print(f"[yellow]audit:[/] {escape(warning)}")

    def _show_tuning(self, prepared: PreparedJob) -> None:
        """Print the number of fits of a tuned run, which may take long."""
        experiment = prepared.experiment
        tuning = experiment.tuning
        if not isinstance(tuning, GridTuning) or not tuning.candidates:
            return
        n_models = len(prepared.splits.fitted)
        n_fits = n_models * experiment.fits_per_split
        limit = "" if tuning.budget is None else f" in at most {format_seconds(tuning.budget)}"
        candidates = f"{count_nouns(len(tuning.candidates), 'candidate')}{limit}"
        fits = f"{n_fits} fits" if tuning.race is tuning.budget is None else f"at most {n_fits} fits"
        self._out.print(f"tuning: {fits} for {count_nouns(n_models, 'model')}, each chosen from {candidates}")

    def show_result(self, result: JobResult, store: Store | None) -> None:
        """Print the scores of a run, its figures, and where it is stored."""
        prepared = result.prepared
        experiment = prepared.experiment
        means = summarize_folds(experiment, result.folds)
        print_table(tabulate_means(experiment, means), self._out)
        for sentence in describe_choices(experiment, result.folds, result.model, means):
            self._out.print(escape(sentence))
        warnings = {warning for fold in result.folds for warning in fold.model.warnings}
        for warning in sorted(warnings):
            self._err.print(f"[yellow]warning:[/] {escape(warning)}")
        self._show_figures(prepared.figure_choice, result.run_id, store)
        self._show_looks(prepared.description, store)
        self._show_run(result.run_id, store, prepared)

    def _show_looks(self, description: RunDescription, store: Store | None) -> None:
        """Print the number of configurations scored on the test rows of a run, unless it is the first one."""
        # A server would have to send all metrics of all these runs.
        if store is None or store.folder is None:
            return
        tags = description.tags
        looks = history.count_looks(store, tags["dataset_digest"], tags["splits_digest"], tags["config_hash"])
        if looks > 1:
            self._out.print(f"looks: {looks} configurations have been scored on these test rows, including this one")

    def show_kept_run(self, prepared: PreparedJob, run_id: str, store: Store | None) -> None:
        """Print that the result of an earlier run has now been stored."""
        self._out.print(f"[bold]{escape(prepared.description.name)}[/]\n{STORED_NOW}")
        self._show_run(run_id, store, prepared)

    def _show_run(self, run_id: str | None, store: Store | None, prepared: PreparedJob) -> None:
        """Print the id of the run and the command that opens its experiment, if the run is stored."""
        if run_id is None or store is None:
            return
        self._out.print(f"run {run_id}")
        self._out.print(f"open  {escape(write_store_command(prepared.spec['tracking'], 'ui'))}")

    def _show_figures(self, choice: FigureChoice, run_id: str | None, store: Store | None) -> None:
        """Print the paths of the figures of a stored run."""
        if choice.figures and run_id is not None and store is not None:
            folder = escape(sqlite_file.name_folder(store.client.get_run(run_id).info.artifact_uri))
            for figure in choice.figures:
                self._out.print(f"figure {folder}/{escape(figure.file)}")
        elif choice.figures:
            self._err.print(
                "[yellow]warning:[/] figures are artifacts of a stored run; with tracking=none, none are drawn"
            )
