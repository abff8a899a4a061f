"""``bakeoff watch``: whether the verdicts of a capsule still hold, and why not."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from bakeoff.pipeline.commands.watch.request import HISTORY, JSON, QUESTION, REPORT, WatchRequest
from bakeoff.pipeline.text.wording import count_nouns, format_score

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.watch.watch_capsule import Watch
    from bakeoff.pipeline.tables.report import Report

EXIT_FLIPPED = 1


def watch_verdicts(request: WatchRequest) -> int:
    """Run the jobs of a capsule with the data, the code and the versions of today, and compare the verdicts.

    Returns
    -------
    int
        1 if a verdict no longer holds, otherwise 0.

    Raises
    ------
    UserError
        The capsule cannot be used, needs trust or data, or the budget allows no job.
    """
    from bakeoff.pipeline.sweep.request import set_single_threads

    # NumPy reads the number of threads when it is loaded, and sweeps use one.
    set_single_threads()
    from bakeoff.pipeline.commands.compare.command import write_report
    from bakeoff.pipeline.commands.watch.watch_capsule import watch_capsule
    from bakeoff.pipeline.tables.output_file import require_output, write_whole

    if request.output is not None:
        require_output(request.output, REPORT, [request.capsule])
    history = require_output(request.history, HISTORY, [request.capsule])
    earlier = history.read_text(encoding="utf-8") if history.is_file() else ""
    watched = watch_capsule(request)
    since = json.loads(earlier.splitlines()[-1])["date"] if earlier else ""
    entry = {"date": datetime.now(UTC).date().isoformat(), **asdict(watched)}
    report = _write_report(request, watched, since)
    form = REPORT.find_format(request.output, request.to)
    write_report(report, form, request.output, partial(_render, report, watched, form))
    write_whole(history, f"{earlier}{json.dumps(entry)}\n")
    return EXIT_FLIPPED if watched.flips else 0


def _render(report: Report, watched: Watch, form: str) -> str:
    """Return a report in a format."""
    from bakeoff.pipeline.tables.report import render_document, render_page, render_text

    if form == JSON:
        return render_document("watch", asdict(watched))
    return render_text(report) if form not in ("html",) else render_page(report)


def _write_report(request: WatchRequest, watched: Watch, since: str) -> Report:
    """Return the report on a capsule."""
    from bakeoff.pipeline.tables.report import Report

    same = watched.n_verdicts - len(watched.flips)
    moved = f"{watched.n_moved} of {count_nouns(watched.n_scores, 'score')} moved"
    most = f", at most by {format_score(watched.largest)}" if watched.n_moved else ""
    return Report(
        question=QUESTION.format(request.capsule.name),
        selection=f"{watched.n_run} of {count_nouns(watched.n_jobs, 'job')} run again"
        + (f"; watched last on {since}" if since else ""),
        verdict=[
            *[flip.describe() for flip in watched.flips],
            f"The same: {same} of {count_nouns(watched.n_verdicts, 'verdict')}; {moved}{most}.",
        ],
        sections=[],
        notes=[f"Changed since the study: {change}." for change in watched.changes],
        command=f"bakeoff watch {request.capsule.name}",
    )
