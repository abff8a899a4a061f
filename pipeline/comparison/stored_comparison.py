"""Comparison of stored runs: select and compare them, and store the reports as a run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.pipeline.comparison import selection as select
from bakeoff.pipeline.comparison.compare_runs import compare_runs
from bakeoff.pipeline.comparison.comparison import Comparison
from bakeoff.pipeline.comparison.reports import (
    render_csv,
    render_json,
    render_latex,
    render_markdown,
    render_terminal,
)
from bakeoff.pipeline.comparison.request import FORMATS, CompareRequest
from bakeoff.pipeline.comparison.selection import Selection
from bakeoff.pipeline.tables.table_formats import describe_escaped_names
from bakeoff.pipeline.tracking.comparison_run import ComparisonRecord, keep_comparison
from bakeoff.pipeline.tracking.find_run import find_standard_run
from bakeoff.pipeline.tracking.registry import BEST
from bakeoff.pipeline.tracking.store import Store, open_store

TERMINAL = FORMATS[0]
HTML = "html"
MAX_REPEATS = 5
"""Commands that repeat single runs; the artifacts of the comparison list all runs."""
FILES = {
    TERMINAL: "comparison.txt",
    "csv": "comparison.csv",
    "json": "comparison.json",
    "markdown": "comparison.md",
    "latex": "comparison.tex",
    "html": "comparison.html",
}
"""The names of the reports among the artifacts of the run of a comparison."""


@dataclass(frozen=True)
class MadeComparison:
    """A comparison and the store of its runs.

    Attributes
    ----------
    comparison : Comparison
        The comparison, with predictions of single rows if the request stores it or requests a page.
    store : Store
    run_names : mapping of str to str
        Run id -> name of the compared runs.
    """

    comparison: Comparison
    store: Store
    run_names: Mapping[str, str]


def make_comparison(
    request: CompareRequest,
    command: str = "",
    sweep_words: Sequence[str] | None = None,
) -> MadeComparison:
    """Select runs and compare them.

    Parameters
    ----------
    request : CompareRequest
    command : str
        The command line; by default it is derived from the request.
    sweep_words : sequence of str or None
        The command line of the sweep, if its missing jobs were just run.

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    request.require_one_selection()
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False, read_only=True)
    selection = _select_runs(store, request)
    base_run = _find_base_run(store, request.base, selection)
    if base_run is not None:
        selection = select.add_base_run(store, selection, base_run)
    repeat = _list_repeats(selection, request, sweep_words)
    comparison = compare_runs(store, selection, request, command or request.write_command(), repeat)
    run_names = {each.run.run_id: each.run.name for each in selection.facts if each.run.run_id in comparison.run_ids}
    return MadeComparison(comparison, store, run_names)


def describe_report(comparison: Comparison, to: str) -> str:
    """Return a sentence about names that are written differently in a format; empty if there are none."""
    datasets = [dataset.name for dataset in comparison.datasets]
    names = [*datasets, *(configuration.name for configuration in comparison.configurations)]
    return describe_escaped_names(names) if to == "csv" else ""


def render_report(comparison: Comparison, to: str) -> str:
    """Return a report in a format of `FORMATS`."""
    if to == "html":
        from bakeoff.pipeline.comparison.page import render_page

        return render_page(comparison)
    renderers = {
        TERMINAL: render_terminal,
        "csv": render_csv,
        "json": render_json,
        "markdown": render_markdown,
        "latex": render_latex,
    }
    return renderers[to](comparison)


def keep_reports(made: MadeComparison) -> str:
    """Store a comparison as a run, with a report in each format and its pictures, and return the id of the run.

    Parameters
    ----------
    made : MadeComparison
        A comparison with predictions.
    """
    from bakeoff.pipeline.comparison.page import write_picture_files

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
            **{name: render_report(comparison, to) for to, name in FILES.items()},
            **write_picture_files(comparison),
        },
    )
    return keep_comparison(made.store, comparison.experiment, record)


def _list_repeats(selection: Selection, request: CompareRequest, sweep_words: Sequence[str] | None) -> tuple[str, ...]:
    """Return the commands that run the jobs again: those of the sweep, or the verification of stored runs."""
    if sweep_words is not None:
        return (shlex.join(["bakeoff", *sweep_words]),)
    store_words = request.list_store_words()
    if selection.sweep:
        return (shlex.join(["bakeoff", "replay", f"sweep={selection.sweep}", *store_words]),)
    run_ids = [each.run.run_id for each in selection.facts if each.run.is_finished]
    return tuple(shlex.join(["bakeoff", "replay", run_id, *store_words]) for run_id in run_ids[:MAX_REPEATS])


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
