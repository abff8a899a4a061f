"""``bakeoff figures``: draw figures of a finished run, which is fitted again for it."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.replay.request import FiguresRequest
from bakeoff.pipeline.text.terminal import print_note, show_controls


def draw_figures(words: Sequence[str]) -> int:
    """Draw figures of a finished run, and add them to its artifacts or write them into a folder.

    Raises
    ------
    UserError
        There is no such run, no such figure, or a figure cannot show the run; the dataset has changed; or the run,
        fitted again, has other scores than those stored.
    """
    request = read_request("figures", FiguresRequest, words)

    from bakeoff.pipeline.replay.draw import draw_run
    from bakeoff.pipeline.sweep.run_screen import RunScreen

    drawn = draw_run(request, RunScreen().track_folds, print_note)
    for name, reason in drawn.left_out.items():
        print(f"not drawn: {name}: {show_controls(reason)}")
    place = f"in {request.output}" if request.output is not None else f"added to the artifacts of run {drawn.run_id}"
    print(f"drawn: {', '.join(drawn.files)}\n{place}")
    return 0
