"""``bakeoff replay``: run stored runs again, and say whether every number is the same to the last bit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.replay.request import ReplayRequest
from bakeoff.pipeline.text.terminal import show_controls
from bakeoff.pipeline.text.words import count_nouns

if TYPE_CHECKING:
    from bakeoff.pipeline.replay.replay_report import ReplayReport

EXIT_IDENTICAL = 0
EXIT_DIFFERENT = 1
EXIT_REFUSED = 2


def replay_stored_runs(words: Sequence[str]) -> int:
    """Repeat a run, or all runs of a sweep, and print whether every number is the same.

    Returns
    -------
    int
        0 if every run is identical, 1 if one is not, 2 if nothing could be repeated.

    Raises
    ------
    UserError
        There is no such run or sweep, a key is not valid, or the output cannot be written.
    """
    request = read_request("replay", ReplayRequest, words)
    # Before pandas: skops searches all loaded modules for each function of scipy.special.
    import scipy.special  # noqa: F401

    from bakeoff.pipeline.replay.replay_sweep import replay_runs
    from bakeoff.pipeline.tables.output_file import replace_file

    reports = []
    for report in replay_runs(request):
        reports.append(report)
        if request.sweep:
            print(" ".join(word for word in (report.run_id, report.name, report.summary) if word), flush=True)
    if request.sweep:
        print(_summarize(reports))
    else:
        _print_report(reports[0])
    if request.output is not None:
        text = json.dumps([report.to_json() for report in reports], indent=2)
        with replace_file(request.output) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
    return _exit_code(reports)


def _print_report(report: ReplayReport) -> None:
    from bakeoff.pipeline.replay.replay_report import REFUSED

    if report.verdict == REFUSED:
        print(f"refused: replay: {show_controls(report.reason)}", file=sys.stderr)
        return
    print(show_controls("\n".join(report.to_lines())))


def _summarize(reports: Sequence[ReplayReport]) -> str:
    """Return the number of runs of each verdict."""
    counts: dict[str, int] = {}
    for report in reports:
        counts[report.verdict] = counts.get(report.verdict, 0) + 1
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"{count_nouns(len(reports), 'run')}: {words}"


def _exit_code(reports: Sequence[ReplayReport]) -> int:
    from bakeoff.pipeline.replay.replay_report import IDENTICAL, REFUSED

    verdicts = {report.verdict for report in reports}
    if verdicts == {IDENTICAL}:
        return EXIT_IDENTICAL
    return EXIT_REFUSED if verdicts == {REFUSED} else EXIT_DIFFERENT
