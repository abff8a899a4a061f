"""``bakeoff watch``: whether the verdicts of a capsule still hold, and why not."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.commands.watch.request import HISTORY, JSON, QUESTION, REPORT, WatchRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.document import Answer, render_document
from bakeoff.pipeline.tables.output_file import TERMINAL
from bakeoff.pipeline.text.wording import count_nouns, format_score

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.watch.watch_capsule import Watch
    from bakeoff.pipeline.tables.report import Report

EXIT_FLIPPED = 1


def watch_verdicts(request: WatchRequest) -> Answer:
    """Run the jobs of a capsule with the data, the code and the versions of today, and compare the verdicts.

    Returns
    -------
    Answer
        Its exit code is 1 if a verdict no longer holds, otherwise 0.

    Raises
    ------
    UserError
        The capsule cannot be used, needs trust or data, or the budget allows no job.
    """
    from bakeoff.pipeline.sweep.request import set_single_threads

    # NumPy reads the number of threads when it is loaded, and sweeps use one.
    set_single_threads()
    from bakeoff.pipeline.commands.comparison_report.delivery import require_report_output, write_report
    from bakeoff.pipeline.commands.watch.watch_capsule import watch_capsule
    from bakeoff.pipeline.tables.output_file import require_output, write_whole

    require_report_output(request.output, REPORT, None, request.capsule)
    history = require_output(request.history, HISTORY)
    since = _read_last_date(history)
    watched = watch_capsule(request)
    report = _write_report(request, watched, since)
    form = REPORT.find_format(request.output, request.to)
    write_report(report, form, request.output, partial(_render, report, watched, form))
    date = datetime.now(UTC).date().isoformat()
    line = json.dumps({"date": date, **asdict(watched), "moves": len(watched.moves)})
    # Another process may have written a line since the jobs were started.
    write_whole(history, f"{_read_history(history)}{line}\n")
    return Answer("watch", lambda: asdict(watched), EXIT_FLIPPED if watched.flips else 0)


def _read_history(history: Path) -> str:
    """Return the text of a history, which may not exist yet."""
    return history.read_text(encoding="utf-8") if history.is_file() else ""


def _read_last_date(history: Path) -> str:
    """Return the date of the last line of a history; empty if there is none."""
    lines = _read_history(history).splitlines()
    try:
        return str(json.loads(lines[-1])["date"]) if lines else ""
    except (LookupError, TypeError, ValueError):
        raise UserError(
            f"the last line of {history}, line {len(lines)}, was not written by bakeoff watch; remove it."
        ) from None


def _write_report(request: WatchRequest, watched: Watch, since: str) -> Report:
    """Return the report on a capsule, which was watched before on a day or not."""
    from bakeoff.pipeline.tables.report import Report

    n_same = watched.n_verdicts - len(watched.flips)
    moves = f"{len(watched.moves)} of {count_nouns(watched.n_scores, 'score')} moved"
    sizes = [move.size for move in watched.moves if math.isfinite(move.size)]
    largest = f", by {format_score(max(sizes))} at most" if sizes else ""
    n_undefined = len(watched.moves) - len(sizes)
    undefined = f", {n_undefined} are undefined on one side" if n_undefined else ""
    return Report(
        question=QUESTION.format(request.capsule.name),
        selection=f"{watched.n_run} of {watched.n_jobs} jobs ran again" + f"; watched before on {since}" * bool(since),
        verdict=[
            *[flip.describe() for flip in watched.flips],
            f"The same: {n_same} of {count_nouns(watched.n_verdicts, 'verdict')}; {moves}{largest}{undefined}.",
        ],
        sections=[],
        notes=[f"Since the study: {change}." for change in watched.changes.values()],
        command=f"bakeoff watch {request.capsule.name}",
    )


def _render(report: Report, watched: Watch, form: str) -> str:
    """Return a report in a format."""
    from bakeoff.pipeline.tables.report import TEXT_FORMATS, render_page

    if form == JSON:
        return render_document("watch", asdict(watched))
    return TEXT_FORMATS[form](report) if form == TERMINAL else render_page(report)
