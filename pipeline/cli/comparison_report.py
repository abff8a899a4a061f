"""The steps of ``bakeoff compare`` after its words are sorted: select runs, compare them, and write the report."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from rich.console import Console

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
from bakeoff.pipeline.comparison.reports.terminal import print_terminal
from bakeoff.pipeline.comparison.request import ComparisonRequest
from bakeoff.pipeline.comparison.request_words import FORMATS, read_choice, read_fraction, read_list
from bakeoff.pipeline.comparison.selection import Selection
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.store import Store, open_store

DEFAULT_ALPHA = 0.05
DEFAULT_ROPE = 0.01
TERMINAL = FORMATS[0]


def check_output(values: Mapping[str, str]) -> None:
    """Reject wrong values of keys before anything runs.

    Raises
    ------
    UserError
        A value is not allowed, or the output cannot be written.
    """
    read_choice(values, "to", FORMATS)
    read_choice(values, "pairs", ("closest", "all"))
    read_choice(values, "choice", ("auto", "none"))
    read_choice(values, "keep", ("true", "false"))
    read_choice(values, "fail_if", ("never", "worse"))
    read_fraction(values, "alpha", DEFAULT_ALPHA)
    read_fraction(values, "rope", DEFAULT_ROPE, allows_zero=True)
    read_list(values, "metrics")
    if values.get("fail_if") == "worse" and "base" not in values:
        raise UserError("compare: fail_if=worse needs base=, the run, model or configuration that is the standard.")
    if "output" in values:
        _require_writable(Path(values["output"]).expanduser())


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
    experiment = values.get("tracking.experiment", "bakeoff")
    store = open_store(values.get("tracking.uri"), experiment, create=False)
    selection = _select_runs(store, runs, values, sweep)
    repeat = () if sweep_words is None else (shlex.join(["bakeoff", *sweep_words]),)
    request = ComparisonRequest(
        selection=selection.description,
        command=command,
        metrics=read_list(values, "metrics"),
        base=values.get("base", ""),
        alpha=read_fraction(values, "alpha", DEFAULT_ALPHA),
        rope=read_fraction(values, "rope", DEFAULT_ROPE, allows_zero=True),
        all_pairs=values.get("pairs") == "all",
        may_choose=values.get("choice") != "none",
        keeps_all=selection.is_by_id,
        repeat=repeat,
    )
    comparison = compare_runs(selection.facts, selection.missing, store, experiment, request)
    write_report(comparison, read_choice(values, "to", FORMATS), values.get("output"))
    return False


def write_report(comparison: Comparison, to: str, output: str | None) -> None:
    """Write a report to standard output, or into a file as a whole.

    Raises
    ------
    UserError
        The file cannot be written.
    """
    if output is None and to == TERMINAL:
        print_terminal(comparison, Console(highlight=False))
        return
    text = render_report(comparison, to)
    if output is None:
        sys.stdout.write(text)
        return
    target = Path(output).expanduser()
    try:
        # The file appears complete or not at all, so that a reader never finds half a report.
        with NamedTemporaryFile("w", dir=target.parent, prefix=f".{target.name}-", delete=False) as file:
            file.write(text)
        os.replace(file.name, target)
    except OSError as error:
        raise UserError(f"compare: output={output!r} cannot be written: {error}") from error
    print(f"the report is in {target}", file=sys.stderr)


def render_report(comparison: Comparison, to: str) -> str:
    """Return a report in one of `FORMATS`."""
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


def _select_runs(store: Store, runs: Sequence[str], values: Mapping[str, str], sweep: str) -> Selection:
    if runs:
        return select.select_by_ids(store, runs, values.get("dataset", ""))
    if "filter" in values:
        return select.select_by_filter(store, values["filter"])
    return select.select_sweep(store, sweep or values["sweep"])


def _require_writable(target: Path) -> None:
    folder = target.parent
    if target.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(
            f"compare: output={str(target)!r} cannot be written; name a file in a folder that you can write."
        )
