"""The steps of ``bakeoff compare`` after its words are sorted: select runs, compare them, and write the report."""

from __future__ import annotations

import gc
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bakeoff.pipeline.comparison.analysis.gate import check_gate
from bakeoff.pipeline.comparison.compare_runs import compare_runs
from bakeoff.pipeline.comparison.comparison import Comparison
from bakeoff.pipeline.comparison.grid import selection as select
from bakeoff.pipeline.comparison.grid.selection import Selection
from bakeoff.pipeline.comparison.predictions import add_predictions
from bakeoff.pipeline.comparison.reports import (
    render_csv,
    render_json,
    render_latex,
    render_markdown,
    render_terminal,
)
from bakeoff.pipeline.comparison.reports.terminal import print_terminal
from bakeoff.pipeline.comparison.request import ComparisonRequest
from bakeoff.pipeline.comparison.request_words import (
    DEFAULT_ALPHA,
    DEFAULT_ROPE,
    FORMATS,
    read_choice,
    read_fraction,
    read_list,
)
from bakeoff.pipeline.config.booleans import read_boolean
from bakeoff.pipeline.tables.csv import describe_escaped_names
from bakeoff.pipeline.tables.output_file import replace_file
from bakeoff.pipeline.text.given import expand_home
from bakeoff.pipeline.text.terminal import make_console, show_controls
from bakeoff.pipeline.tracking.comparison_run import SUFFIX, ComparisonRecord, keep_comparison
from bakeoff.pipeline.tracking.find_run import BEST, find_standard_run
from bakeoff.pipeline.tracking.store import Store, open_store

TERMINAL = FORMATS[0]
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


def run_comparison(
    runs: Sequence[str], values: Mapping[str, str], sweep: str, command: str, sweep_words: Sequence[str] | None
) -> bool:
    """Compare runs and write the report; return whether the gate found a configuration that is worse.

    Parameters
    ----------
    runs : sequence of str
        Words that name runs.
    values : mapping of str to str
        Of the keys of the comparison.
    sweep : str
        The name of a sweep that was just run; empty if none was.
    command : str
        The whole command.
    sweep_words : sequence of str or None
        The command line of that sweep.

    Raises
    ------
    UserError
        The runs cannot be compared, or the output cannot be written.
    """
    # Statsmodels collects garbage at each call, which takes half a second where so many modules are loaded.
    made = make_comparison(runs, values, sweep, command, sweep_words, when_ready=gc.freeze)
    to = read_choice(values, "to", FORMATS)
    keeps = read_boolean("compare: keep", values.get("keep", True))
    gate = check_gate(made.comparison) if values.get("fail_if") == "worse" else None
    if keeps or to == "html":
        made = replace(made, comparison=add_predictions(made.comparison, made.store))
    write_report(made.comparison, to, values.get("output"))
    if keeps and made.store.is_copy:
        print("the comparison is not kept, because the store cannot be written", file=sys.stderr)
    elif keeps:
        run_id = keep_reports(made)
        print(f"kept as run {run_id} of experiment {made.experiment}{SUFFIX}", file=sys.stderr)
    for sentence in gate.sentences if gate is not None else ():
        print(show_controls(sentence), file=sys.stderr)
    return gate is not None and gate.is_worse


@dataclass(frozen=True)
class MadeComparison:
    """A comparison, and where its runs are.

    Attributes
    ----------
    comparison : Comparison
        Without the predictions of single rows.
    store : Store
    experiment : str
        The name of the experiment of the runs.
    run_names : mapping of str to str
        Run id -> name, of the runs that were compared.
    """

    comparison: Comparison
    store: Store
    experiment: str
    run_names: Mapping[str, str]


def make_comparison(
    runs: Sequence[str],
    values: Mapping[str, str],
    sweep: str,
    command: str,
    sweep_words: Sequence[str] | None,
    when_ready: Callable[[], object] = lambda: None,
) -> MadeComparison:
    """Select runs and compare them.

    Parameters
    ----------
    runs, values, sweep, command, sweep_words
        As for `run_comparison`.
    when_ready : callable
        Called before the first test, when all modules are imported.

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    experiment = values.get("tracking.experiment", "bakeoff")
    store = open_store(values.get("tracking.uri"), experiment, create=False, read_only=True)
    selection = _select_runs(store, runs, values, sweep)
    base_run = _find_base_run(store, values.get("base", ""), selection)
    if base_run is not None:
        selection = select.add_base_run(store, selection, base_run)
    repeat = _list_repeats(selection, values, sweep_words)
    request = _make_request(selection, values, command, repeat, has_base_run=base_run is not None)
    when_ready()
    comparison = compare_runs(selection.facts, selection.missing, store, experiment, request)
    return MadeComparison(comparison, store, experiment, _name_runs(selection, comparison))


def _make_request(
    selection: Selection, values: Mapping[str, str], command: str, repeat: tuple[str, ...], *, has_base_run: bool
) -> ComparisonRequest:
    return ComparisonRequest(
        selection=selection.description,
        command=command,
        metrics=read_list(values, "metrics"),
        base=values.get("base", ""),
        has_base_run=has_base_run,
        alpha=read_fraction(values, "alpha", DEFAULT_ALPHA),
        rope=read_fraction(values, "rope", DEFAULT_ROPE, allows_zero=True),
        all_pairs=values.get("pairs") == "all",
        may_choose=values.get("choice") != "none",
        keeps_all=selection.is_by_id,
        repeat=repeat,
    )


def _name_runs(selection: Selection, comparison: Comparison) -> dict[str, str]:
    """Return the names of the runs that were compared, by their ids."""
    return {each.run.run_id: each.run.name for each in selection.facts if each.run.run_id in comparison.run_ids}


def write_report(comparison: Comparison, to: str, output: str | None) -> None:
    """Write a report to standard output, or into a file as a whole.

    Raises
    ------
    UserError
        The file cannot be written.
    """
    if output is None and to == TERMINAL:
        print_terminal(comparison, make_console())
        return
    text = render_report(comparison, to)
    sentence = describe_escaped_names(_list_names(comparison)) if to == "csv" else ""
    if sentence:
        print(f"compare: {show_controls(sentence)}", file=sys.stderr)
    if output is None:
        sys.stdout.write(text)
        return
    target = expand_home(output)
    with replace_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"the report is in {target}", file=sys.stderr)


def _list_names(comparison: Comparison) -> list[str]:
    """Return the names that a report shows."""
    datasets = [dataset.name for dataset in comparison.datasets]
    return [*datasets, *(configuration.name for configuration in comparison.configurations)]


def render_report(comparison: Comparison, to: str) -> str:
    """Return a report in one of `FORMATS`."""
    if to == "html":
        from bakeoff.pipeline.comparison.page.page import render_page

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
    """Keep a comparison as a run, with a report in each format and its pictures, and return the id of the run.

    Parameters
    ----------
    made : MadeComparison
        Its comparison has predictions.
    """
    from bakeoff.pipeline.comparison.page.pictures import write_picture_files

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
    return keep_comparison(made.store, made.experiment, record)


def _list_repeats(
    selection: Selection, values: Mapping[str, str], sweep_words: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the commands that run the jobs again: those of the sweep, or the verification of stored runs."""
    if sweep_words is not None:
        return (shlex.join(["bakeoff", *sweep_words]),)
    store_words = [f"{key}={values[key]}" for key in ("tracking.uri", "tracking.experiment") if key in values]
    if selection.sweep:
        return (shlex.join(["bakeoff", "replay", f"sweep={selection.sweep}", *store_words]),)
    run_ids = [each.run.run_id for each in selection.facts if each.run.is_finished]
    return tuple(shlex.join(["bakeoff", "replay", run_id, *store_words]) for run_id in run_ids[:MAX_REPEATS])


def _find_base_run(store: Store, word: str, selection: Selection) -> str | None:
    """Return the run that ``base`` names; None if it names a configuration, a learner, or nothing."""
    learners = {each.learner for each in selection.facts}
    is_configuration = not word or word == BEST or word.split()[0] in learners
    return None if is_configuration else find_standard_run(store, word)


def _select_runs(store: Store, runs: Sequence[str], values: Mapping[str, str], sweep: str) -> Selection:
    if runs:
        return select.select_by_ids(store, runs, values.get("dataset", ""))
    if "filter" in values:
        return select.select_by_filter(store, values["filter"])
    return select.select_sweep(store, sweep or values["sweep"])
