"""What a person sees: a bar over folds, a table of scores, and the command that opens the pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.report import format_mean, get_tuned_params, summarize_folds
from bakeoff.pipeline.tracking.store import Store


class Screen:
    """Scores go to standard output, progress and warnings to standard error."""

    def __init__(self) -> None:
        self._out = Console(highlight=False)
        self._err = Console(stderr=True, highlight=False)

    def watch(self, folds: Iterable[FoldResult], total: int, title: str) -> Iterator[FoldResult]:
        """Yield the folds while a bar moves; the bar shows on a terminal only, and leaves nothing behind."""
        count = MofNCompleteColumn()
        columns = (TextColumn("{task.description}"), BarColumn(), count, TextColumn("folds"), TimeRemainingColumn())
        with Progress(*columns, console=self._err, transient=True, disable=not self._err.is_terminal) as progress:
            task = progress.add_task(escape(title), total=total)
            for fold in folds:
                progress.advance(task)
                yield fold

    def experiment(self, name: str, experiment: Experiment) -> None:
        """Say what is about to run."""
        self._out.print(f"[bold]{escape(name)}[/]\n{escape(experiment.dataset.describe())}", soft_wrap=True)

    def scores(self, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
        """Show each metric on each part: mean ± standard deviation over folds."""
        values = summarize_folds(experiment, folds)
        parts = [part for part in ("train", "validation", "test") if f"{part}_{experiment.headline}" in values]
        table = Table("metric", *parts, box=None, pad_edge=False, header_style="bold")
        for column in table.columns[1:]:
            column.justify = "right"
        for name in experiment.metrics:
            table.add_row(name, *(format_mean(values, f"{part}_{name}") for part in parts))
        self._out.print(table)
        self._cut(values)
        chosen = ", ".join(f"{name.removeprefix('tuned.')}={value}" for name, value in get_tuned_params(model).items())
        if chosen:
            self._out.print(f"tuned: {escape(chosen)}")
        for warning in sorted({warning for fold in folds for warning in fold.model.warnings}):
            self._err.print(f"[yellow]warning:[/] {escape(warning)}")

    def _cut(self, values: dict[str, float]) -> None:
        if "pruning/leaves_before" in values:
            self._out.print(
                f"pruned: leaves {values['pruning/leaves_before']:g} → {values['pruning/leaves_after']:g}, "
                f"depth {values['pruning/depth_before']:g} → {values['pruning/depth_after']:g}"
            )

    def kept(self, run_id: str | None, store: Store | None) -> None:
        """Say where the run is and how to open the pages."""
        if run_id is None or store is None:
            return
        self._out.print(f"run {run_id}", soft_wrap=True)
        self._out.print(f"open  {open_command(store.uri)}", soft_wrap=True)

    def say(self, message: str) -> None:
        """Print a line as it is."""
        self._out.print(escape(message), soft_wrap=True)


def open_command(uri: str) -> str:
    """Return the one command that opens MLflow's pages on a store."""
    return f"bakeoff ui tracking.uri={uri}"
