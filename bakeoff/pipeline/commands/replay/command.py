"""``bakeoff replay``: repeats stored runs, and compares every number to the last bit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from bakeoff.pipeline.config.requests import RefitRequest, Word
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text.wording import count_nouns, show_controls

EXIT_DIFFERENT = 1
EXIT_REFUSED = 2


@dataclass(frozen=True, kw_only=True)
class ReplayRequest(RefitRequest):
    """A run or a sweep to repeat.

    Attributes
    ----------
    sweep : str
        Instead of a run: the name of a sweep, or latest, whose runs are all repeated.
    dataset__folder : str or None
        The folder in which the files of the datasets are now, under their former names, if they were moved.
    """

    run: Annotated[str, Word(place="RUN")] = ""
    sweep: str = ""
    dataset__folder: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.run) == bool(self.sweep):
            raise UserError("select what to replay: RUN, or sweep=NAME.")
        if self.dataset__path and self.dataset__folder:
            raise UserError("dataset.path and dataset.folder both name the location of the files; give only one.")


def replay_stored_runs(request: ReplayRequest) -> Answer:
    """Repeat a run, or all runs of a sweep, and print whether every number is identical to the last bit.

    Returns
    -------
    Answer
        Its exit code is 0 if every run is identical, 1 if any run differs, 2 if nothing could be repeated.

    Raises
    ------
    UserError
        The run or sweep does not exist, the run cannot be repeated, or a key is invalid.
    """
    # This import precedes pandas, because skops searches all loaded modules for each function of scipy.special.
    import scipy.special  # noqa: F401

    from bakeoff.pipeline.commands.replay.replay import IDENTICAL, REFUSED, replay_runs

    reports = []
    for report in replay_runs(request, request.sweep, request.dataset__folder):
        reports.append(report)
        if request.sweep:
            print(" ".join(word for word in (report.run_id, report.name, report.summary) if word), flush=True)
        elif report.verdict == REFUSED:
            raise UserError(report.reason)
        else:
            print(show_controls("\n".join(report.to_lines())))
    verdicts = Counter(report.verdict for report in reports)
    if request.sweep:
        words = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        print(f"{count_nouns(verdicts.total(), 'run')}: {words}")
    kinds = set(verdicts)
    status = 0 if kinds == {IDENTICAL} else EXIT_REFUSED if kinds == {REFUSED} else EXIT_DIFFERENT
    return Answer("replay", lambda: {"runs": reports}, status)
