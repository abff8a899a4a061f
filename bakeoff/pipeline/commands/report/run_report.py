"""The report of a stored run: what it scored, with intervals, and the page that shows it."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.pipeline.audit import describe_audit
from bakeoff.pipeline.checks import choose_figures
from bakeoff.pipeline.commands.figures.draw_figures import find_space
from bakeoff.pipeline.commands.repetition.refit import load_run, refit_run
from bakeoff.pipeline.commands.significance.folds import BOUNDED, compute_corrected_t_test
from bakeoff.pipeline.config.options import ALL, FIGURES, settle_figures
from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.sweep.jobs import ShowWork
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.output_file import PAGE, PAGES, OutputKind, name_file, require_output, write_whole
from bakeoff.pipeline.tables.table import Table
from bakeoff.pipeline.text.wording import ABSENT, format_score, shorten_id
from bakeoff.pipeline.tracking import card
from bakeoff.pipeline.tracking.store import list_store_paths

TEMPLATE = Path(__file__).with_name("page.html")
RUN_REPORT = OutputKind(PAGES, rf"{PAGE}Report of run ")
LEVEL = 0.95
"""The probability that an interval contains the mean."""


@dataclass(frozen=True)
class RunReport:
    """What was found about a run.

    Attributes
    ----------
    run_id : str
    means : mapping of str to float
        The means over the folds, as `summarize_folds` returns them.
    scores : Table
        The scores with their intervals.
    figures : tuple of str
        The names of the figures on the page.
    left_out : mapping of str to str
        Figure -> the reason why it cannot show the run.
    page : Path
    """

    run_id: str
    means: Mapping[str, float]
    scores: Table
    figures: tuple[str, ...]
    left_out: Mapping[str, str]
    page: Path


def write_report(
    request: RefitRequest, output: Path | None, show_work: ShowWork, announce: Callable[[str], None]
) -> RunReport:
    """Fit a run again, and write its page.

    Parameters
    ----------
    request : RefitRequest
    output : Path or None
        The file of the page; by default it is named after the run.
    show_work : callable
        Shows how much of the fit is done.
    announce : callable
        Receives a sentence before the fit, which may take long.

    Raises
    ------
    UserError
        The run does not exist, its dataset or a score has changed, or the page cannot be written.
    """
    # A file that cannot be written is refused before anything is fitted.
    store_paths = list_store_paths(request.tracking__uri)
    page = None if output is None else require_output(output, RUN_REPORT, store=store_paths)
    _, run = load_run(request)
    stored, experiment = run.stored, run.experiment
    page = page or require_output(f"{name_file(shorten_id(stored.run_id))}.report.html", RUN_REPORT, store=store_paths)
    nodes = settle_figures([ALL], find_space(run), request.trust)
    choice = choose_figures(nodes, experiment, run.splits, request.trust)
    announce(f"fitting run {stored.run_id} ({stored.name}) again, and drawing {len(choice.figures)} figures")
    folds, model = refit_run(run, show_work)
    means = card.summarize_folds(experiment, folds)
    scores = tabulate_scores(experiment, folds, means)
    choices = card.describe_choices(experiment, folds, model, means)
    pictures = draw_pictures(choice.figures, experiment, folds, model)
    values = {
        "run": stored,
        "dataset": experiment.dataset.describe(),
        "headline": f"{experiment.headline} on test rows: {card.format_mean(means, f'test_{experiment.headline}')}",
        "interval": scores.rows[0][2].text.strip(ABSENT) if len(folds) > 1 else "",
        "scores": scores,
        "sentences": [*choices, *describe_audit(stored.tags)],
        "pictures": pictures,
        "left_out": choice.left_out,
        "command": shlex.join(["bakeoff", *json.loads(stored.tags.get("overrides", "[]"))]),
    }
    write_whole(page, render_template(TEMPLATE, values))
    return RunReport(stored.run_id, means, scores, tuple(pictures), choice.left_out, page)


def tabulate_scores(experiment: Experiment, folds: Sequence[FoldResult], means: Mapping[str, float]) -> Table:
    """Return the mean scores of a run, with an interval for those on test rows if there are several folds.

    Training parts of folds overlap, for which the variance is corrected by the share of test rows.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
    """
    table = card.tabulate_means(experiment, means)
    n_folds = len(folds)
    if n_folds == 1:
        return replace(table, footnote="One split has no interval; evaluation=kfold gives one.")
    share = np.mean([len(fold.split.test) / len(fold.split.train) for fold in folds])
    rows = []
    for (name, metric), row in zip(experiment.metrics.items(), table.rows, strict=True):
        scores = np.array([fold.scores[f"test_{name}"] for fold in folds])  # (J,)
        ends = compute_corrected_t_test(scores, float(share), LEVEL).bound_interval(metric.bounds)
        interval = ABSENT if math.isnan(ends[0]) else " to ".join(map(format_score, ends))
        rows.append((*row, replace(row[-1], text=interval)))
    heading = replace(table.columns[-1], text=f"{100 * LEVEL:g} % interval")
    test = "the corrected resampled t-test, unless all folds score the same"
    note = f"Mean ± standard deviation over {n_folds} folds; intervals by {test}. {BOUNDED}"
    table = replace(table, columns=(*table.columns, heading), rows=tuple(rows), footnote=note)
    # Test rows come first, because a phone shows no more without scrolling.
    return table.choose_columns([0, -2, -1, *range(1, len(table.columns) - 2)])


def draw_pictures(
    figures: Sequence[Any], experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel
) -> dict[str, tuple[str, str]]:
    """Return the elements of figures by name, each with its description."""
    from bakeoff.pipeline.commands.figures.run_figure import FinishedRun

    run = FinishedRun(experiment, folds, model)
    pictures = {}
    for figure in figures:
        name = Path(figure.file).stem
        # A user-defined figure is described by the name of its file.
        _, description = FIGURES.get(name, ("", name))
        pictures[name] = figure.render(run, f"{run.title}: {description}"), description
    return pictures
