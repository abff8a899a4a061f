"""``bakeoff replay``: run stored runs again, and say whether every number is the same to the last bit."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.cli.output_file import list_dataset_files, replace_file, require_output
from bakeoff.pipeline.config.trust.trusted_packages import read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.paths import expand_home
from bakeoff.pipeline.text.terminal import show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.replay import ReplayReport
    from bakeoff.pipeline.tracking.store import Store

KEYS = ("sweep", "workers", "trust", "dataset", "dataset.path", "output", "tracking.uri", "tracking.experiment")
EXIT_IDENTICAL = 0
EXIT_DIFFERENT = 1
EXIT_REFUSED = 2


def replay_stored_runs(words: Sequence[str]) -> int:
    """Replay a run, or all runs of a sweep, and return the exit code.

    Parameters
    ----------
    words : sequence of str
        ``RUN`` or ``sweep=NAME``, and optionally ``workers=2``, ``trust=[PACKAGE]``, ``dataset=NAME``,
        ``dataset.path=FILE``, ``output=FILE.json``, ``tracking.uri=URI`` and ``tracking.experiment=NAME``.

    Returns
    -------
    int
        0 if every run is identical, 1 if one is not, 2 if nothing could be repeated.

    Raises
    ------
    UserError
        There is no such run or sweep, a key is not valid, or the output cannot be written.
    """
    has_sweep = any(word.startswith("sweep=") for word in words)
    arguments, values = parse_arguments("replay", words, [] if has_sweep else ["RUN"], KEYS)
    workers = _read_workers(values)
    if "output" in values:
        files = [expand_home(values["dataset.path"])] if "dataset.path" in values else []
        require_output("replay", values["output"], files, values.get("tracking.uri"))
    # Before pandas: skops searches all loaded modules for each function of scipy.special.
    import scipy.special  # noqa: F401

    from bakeoff.pipeline.replay import ReplayRequest, StoreAddress, replay_runs
    from bakeoff.pipeline.tracking.store import open_store

    experiment = values.get("tracking.experiment", "bakeoff")
    store = open_store(values.get("tracking.uri"), experiment, create=False, read_only=True)
    run_ids = _find_run_ids(store, arguments, values)
    if "output" in values:
        _require_no_dataset(store, run_ids, values["output"])
    request = ReplayRequest(read_trust(values.get("trust", "")), values.get("dataset.path"))
    reports = []
    for report in replay_runs(StoreAddress(store.uri, experiment), run_ids, request, workers):
        reports.append(report)
        if has_sweep:
            print(" ".join(word for word in (report.run_id, report.name, report.summary) if word), flush=True)
    if has_sweep:
        print(_summarize(reports))
    else:
        _print_report(reports[0])
    if "output" in values:
        _write_reports(expand_home(values["output"]), reports)
    return _exit_code(reports)


def _require_no_dataset(store: Store, run_ids: Sequence[str], output: str) -> None:
    """Reject an output that is a file of the data of the runs."""
    from bakeoff.pipeline.tracking.reading.stored_config import read_stored_config

    # Most outputs are new files, for which no configuration needs to be read.
    if not expand_home(output).exists():
        return
    for run_id in run_ids:
        files: list[Path] = []
        with suppress(UserError):
            files = list_dataset_files(read_stored_config(store, run_id)["dataset"])
        require_output("replay", output, files)


def _find_run_ids(store: Store, arguments: Sequence[str], values: Mapping[str, str]) -> list[str]:
    from bakeoff.pipeline.tracking.find_run import find_run_id
    from bakeoff.pipeline.tracking.run_record import find_runs_of_jobs

    if not arguments:
        return find_runs_of_jobs(store, values["sweep"])
    return [find_run_id(store, arguments[0], "replay", values.get("dataset", ""))]


def _read_workers(values: Mapping[str, str]) -> int:
    given = values.get("workers", "1")
    if not given.isdigit() or given == "0":
        raise UserError(f"replay: workers={given!r} must be a number of processes, such as 2.")
    return int(given)


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
    plural = "" if len(reports) == 1 else "s"
    return f"{len(reports)} run{plural}: {words}"


def _write_reports(file: Path, reports: Sequence[ReplayReport]) -> None:
    """Write all reports into a JSON file, with every difference."""
    text = json.dumps([report.to_json() for report in reports], indent=2)
    with replace_file("replay", file) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def _exit_code(reports: Sequence[ReplayReport]) -> int:
    from bakeoff.pipeline.replay.replay_report import IDENTICAL, REFUSED

    verdicts = {report.verdict for report in reports}
    if verdicts == {IDENTICAL}:
        return EXIT_IDENTICAL
    return EXIT_REFUSED if verdicts == {REFUSED} else EXIT_DIFFERENT
