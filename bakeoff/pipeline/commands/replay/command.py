"""``bakeoff replay``: repeats stored runs, and compares every number to the last bit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bakeoff.pipeline.text.wording import count_nouns, print_note, show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.replay.request import ReplayRequest


EXIT_DIFFERENT = 1
EXIT_REFUSED = 2


def replay_stored_runs(request: ReplayRequest) -> int:
    """Repeat a run, or all runs of a sweep, and print whether every number is identical to the last bit.

    Returns
    -------
    int
        0 if every run is identical, 1 if any run differs, 2 if nothing could be repeated.

    Raises
    ------
    UserError
        The run or sweep does not exist, or a key is invalid.
    """
    # This import precedes pandas, because skops searches all loaded modules for each function of scipy.special.
    import scipy.special  # noqa: F401

    from bakeoff.pipeline.commands.replay.replay import replay_runs
    from bakeoff.pipeline.sweep.differences import IDENTICAL, REFUSED

    verdicts: Counter[str] = Counter()
    for report in replay_runs(request):
        verdicts[report.verdict] += 1
        if request.sweep:
            print(" ".join(word for word in (report.run_id, report.name, report.summary) if word), flush=True)
        elif report.verdict == REFUSED:
            print_note(f"refused: replay: {report.reason}")
        else:
            print(show_controls("\n".join(report.to_lines())))
    if request.sweep:
        words = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        print(f"{count_nouns(verdicts.total(), 'run')}: {words}")
    if set(verdicts) == {IDENTICAL}:
        return 0
    return EXIT_REFUSED if set(verdicts) == {REFUSED} else EXIT_DIFFERENT
