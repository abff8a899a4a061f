"""``bakeoff compare``: which configuration is better, and how certain that is."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING

from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.comparison_report.delivery import require_report_output, write_report
from bakeoff.pipeline.config.flags import MULTIRUN_FLAGS
from bakeoff.pipeline.config.requests import divide_words, read_request
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.request import find_status, run_sweep
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.tables.output_file import COMPARISON, DIAGRAM
from bakeoff.pipeline.text.wording import print_note

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
    from bakeoff.pipeline.sweep.engine import SweepReport

SELECTION_KEYS = ("sweep", "filter", "dataset", "trust")
"""Next to ``-m``, these are keys of the sweep, or are refused."""
STORE_PREFIX = "tracking."
EXIT_WORSE = 1


def compare_stored_runs(words: Sequence[str]) -> int | Answer:
    """Compare runs or the scores of a file, fold by fold, and print which configuration is better and how certainly.

    The command line of a sweep may follow -m: its missing jobs run first, and then all of its jobs are compared.

    Raises
    ------
    UserError
        The runs cannot be compared, or a key is invalid.
    """
    own_words, sweep_words = split_words(words)
    request = read_request("compare", CompareRequest, own_words)
    if sweep_words is None and request.table is None:
        request.require_one_selection()
    require_report_output(request.output, COMPARISON, request.tracking__uri, request.table)
    status = 0
    if sweep_words is not None:
        # The output of the sweep goes to standard error, because standard output is reserved for the report.
        with redirect_stdout(sys.stderr):
            name, status = _run_jobs(request, sweep_words)
        if not name or status not in (0, 1):
            return status
        request = replace(request, sweep=name)
    comparison, is_worse = _compare(request, shlex.join(["bakeoff", "compare", *words]))
    return Answer("comparison", lambda: vars(comparison), EXIT_WORSE if is_worse else status)


def _run_jobs(request: CompareRequest, words: Sequence[str]) -> tuple[str, int]:
    """Run the missing jobs of a sweep, or of its repeats, and return its name and its exit code."""
    plan = run_sweep([*words, "dry_run=true"], quiet=True) if request.is_until_sure else None
    if plan is None or plan.is_refused:
        report = run_sweep(words)
        # A sweep with the same jobs as an earlier one continues it under the same name.
        return ("" if report is None else report.name), find_status(report)
    from bakeoff.pipeline.commands.compare.added_repeats import add_repeats, require_repeatable

    def run_repeat(own_words: Sequence[str], jobs: Sequence[Sequence[str]]) -> SweepReport:
        report = run_sweep([*words, *own_words], jobs)
        assert report is not None  # there is no report only if help was requested
        return report

    require_repeatable(words, plan.plan.jobs)
    return add_repeats(request, plan.plan.jobs, run_repeat)


def split_words(words: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Return the arguments of the comparison and those of the sweep after ``-m``, or None if there is no ``-m``.

    Raises
    ------
    UserError
        A word is a key of a sweep that leaves nothing to compare.
    """
    if not any(word in MULTIRUN_FLAGS for word in words):
        return list(words), None
    _require_sweep_alone(words)
    own, others = divide_words(CompareRequest, words, SELECTION_KEYS)
    return own, [*others, *(word for word in own if word.startswith(STORE_PREFIX))]


def _compare(request: CompareRequest, command: str) -> tuple[Comparison, bool]:
    """Compare runs, write the report, and return the comparison, and whether the gate found a worse configuration."""
    # NumPy is loaded after the sweep has set the number of threads, which may affect the last bits of scores.
    from bakeoff.pipeline.commands.compare.stored_comparison import keep_reports, make_comparison
    from bakeoff.pipeline.commands.comparison_report.kept_report import SUFFIX
    from bakeoff.pipeline.commands.comparison_report.reports import make_report, render_report
    from bakeoff.pipeline.commands.comparison_report.verdict import find_worse

    comparison = make_comparison(request, command)

    def render() -> str | bytes:
        if request.form != DIAGRAM or request.output is None:
            return render_report(comparison, request.form)
        from bakeoff.pipeline.commands.comparison_report.pictures import write_diagram

        return write_diagram(comparison, request.output.suffix.lower())

    write_report(make_report(comparison), request.form, request.output, render)
    if request.table is not None and not request.item:
        print_note("nothing is stored, because the scores of a table belong to no runs")
    elif request.keep:
        run_id = keep_reports(comparison, request)
        print_note(f"kept as run {run_id} of experiment {comparison.experiment}{SUFFIX}")
    if request.fail_if == "never":
        return comparison, False
    worse = find_worse(comparison)
    settings = comparison.settings
    for sentence in worse or [f"Nothing is worse than the base {settings.base} (α = {settings.alpha:g})."]:
        print_note(sentence)
    return comparison, bool(worse)


def _require_sweep_alone(words: Sequence[str]) -> None:
    """Reject keys of a sweep that leave nothing to compare."""
    for word in words:
        key, _, value = word.partition("=")
        if (key, value) in (("tracking", "none"), ("dry_run", "true"), ("hydra/sweeper", "optuna")):
            raise UserError(f"{word} stores no runs that could be compared; leave it out.")
        if key == "hydra.sweep.dir":
            raise UserError("compare sets the name of the sweep; leave out hydra.sweep.dir.")
