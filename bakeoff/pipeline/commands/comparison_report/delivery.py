"""Where a report goes: to standard output or into a file, which is checked before any job runs.

Nothing here loads NumPy, because commands import it before a sweep has set the number of threads.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from bakeoff.pipeline.tables.output_file import (
    REPORT_FORMATS,
    TERMINAL,
    OutputKind,
    require_output,
    write_whole,
)
from bakeoff.pipeline.tables.report import Report
from bakeoff.pipeline.text.wording import print_note

FORMATS = tuple(REPORT_FORMATS.values())


def require_report_output(output: Path | None, kind: OutputKind, uri: str | None, table: Path | None = None) -> None:
    """Reject a file for a report that cannot be written, or that is part of the input or store, before any job runs."""
    if output is None:
        return
    from bakeoff.pipeline.tracking.store import list_store_paths

    require_output(output, kind, [] if table is None else [table], list_store_paths(uri))


def write_report(report: Report, to: str, output: Path | None, render: Callable[[], str | bytes]) -> None:
    """Write a report to standard output, or completely to a file."""
    from bakeoff.pipeline.tables.report import print_report
    from bakeoff.pipeline.text.wording import make_console

    if output is None and to == TERMINAL:
        print_report(report, make_console())
        return
    content = render()
    if output is None:
        sys.stdout.write(str(content))
        return
    write_whole(output, content)
    print_note(f"the report is in {output}")
