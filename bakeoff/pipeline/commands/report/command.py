"""``bakeoff report``: a page about a run, which needs no other file and no network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text.wording import make_console, print_note, show_controls


@dataclass(frozen=True, kw_only=True)
class ReportRequest(RefitRequest):
    """A run to report.

    Attributes
    ----------
    output : Path or None
        The file to which the page is written; by default it is named after the run.
    """

    output: Path | None = None


def report_run(request: ReportRequest) -> Answer:
    """Write a page about a finished run, which is fitted again for its figures.

    Raises
    ------
    UserError
        The run does not exist, its dataset or a score has changed, or the page cannot be written.
    """
    from bakeoff.pipeline.commands.report.run_report import write_report
    from bakeoff.pipeline.sweep.run_screen import RunScreen
    from bakeoff.pipeline.tables.table import print_table

    with RunScreen().make_bar() as bar:
        report = write_report(request, request.output, bar.show_work, print_note)
    print_table(report.scores, make_console())
    print(f"\npage: {show_controls(str(report.page))}")
    return Answer("report", lambda: {key: value for key, value in vars(report).items() if key != "scores"})
