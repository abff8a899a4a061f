"""Comparison of stored runs: select and compare them, and store the reports as a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bakeoff.pipeline.comparison import selection as select
from bakeoff.pipeline.comparison.compare_runs import compare_runs
from bakeoff.pipeline.comparison.comparison import Comparison
from bakeoff.pipeline.comparison.reports import (
    render_csv,
    render_json,
    render_latex,
    render_markdown,
    render_page,
    render_terminal,
    write_picture_files,
)
from bakeoff.pipeline.comparison.request import CompareRequest
from bakeoff.pipeline.comparison.selection import Selection
from bakeoff.pipeline.tracking.comparison_run import ComparisonRecord, keep_comparison
from bakeoff.pipeline.tracking.find_run import find_standard_run
from bakeoff.pipeline.tracking.registry import BEST
from bakeoff.pipeline.tracking.store import Store, open_store

TERMINAL = "terminal"
RENDERERS: dict[str, tuple[str, Callable[[Comparison], str]]] = {
    TERMINAL: ("comparison.txt", render_terminal),
    "csv": ("comparison.csv", render_csv),
    "json": ("comparison.json", render_json),
    "markdown": ("comparison.md", render_markdown),
    "latex": ("comparison.tex", render_latex),
    "html": ("comparison.html", render_page),
}
"""Format -> the name of the report among the artifacts of the run of a comparison, and its function."""


@dataclass(frozen=True)
class MadeComparison:
    """A comparison and the store of its runs.

    Attributes
    ----------
    comparison : Comparison
    store : Store
    run_names : mapping of str to str
        Run id -> name of the compared runs.
    """

    comparison: Comparison
    store: Store
    run_names: Mapping[str, str]


def make_comparison(request: CompareRequest, command: str = "") -> MadeComparison:
    """Select runs and compare them.

    Parameters
    ----------
    request : CompareRequest
    command : str
        The command line; by default it is derived from the request.

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    request.require_one_selection()
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    selection = _select_runs(store, request)
    base_run = _find_base_run(store, request.base, selection)
    if base_run is not None:
        selection = select.add_base_run(store, selection, base_run)
    comparison = compare_runs(store, selection, request, command or request.write_command())
    run_names = {each.run.run_id: each.run.name for each in selection.facts if each.run.run_id in comparison.run_ids}
    return MadeComparison(comparison, store, run_names)


def render_report(comparison: Comparison, to: str) -> str:
    """Return a report in a format of `RENDERERS`."""
    return RENDERERS[to][1](comparison)


def keep_reports(made: MadeComparison) -> str:
    """Store a comparison as a run, with a report in each format and its pictures, and return the id of the run.

    Parameters
    ----------
    made : MadeComparison
        A comparison with predictions.
    """
    comparison = made.comparison
    record = ComparisonRecord(
        name=comparison.question.partition(", and how sure")[0],
        params={
            "question": comparison.question,
            "metrics": ", ".join(metric.name for metric in comparison.metrics),
            "base": comparison.settings.base,
            "alpha": f"{comparison.settings.alpha:g}",
            "rope": f"{comparison.metrics[0].rope:g}",
            "datasets": ", ".join(dataset.name for dataset in comparison.datasets),
            "configurations": ", ".join(row.name for row in comparison.configurations),
        },
        tags={"command": comparison.command, "selection": comparison.selection},
        summary="\n\n".join([f"**{comparison.question}**", *comparison.verdict]),
        run_names=made.run_names,
        files={
            **{name: render(comparison) for name, render in RENDERERS.values()},
            **write_picture_files(comparison),
        },
    )
    return keep_comparison(made.store, comparison.experiment, record)


def _find_base_run(store: Store, word: str, selection: Selection) -> str | None:
    """Return the run that ``base`` names; None if it names a configuration, a learner, or nothing."""
    learners = {each.learner for each in selection.facts}
    is_configuration = not word or word == BEST or word.split()[0] in learners
    return None if is_configuration else find_standard_run(store, word)


def _select_runs(store: Store, request: CompareRequest) -> Selection:
    if request.runs:
        return select.select_by_ids(store, request.runs, request.dataset)
    if request.filter is not None:
        return select.select_by_filter(store, request.filter)
    return select.select_sweep(store, str(request.sweep))
