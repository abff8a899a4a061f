"""``bakeoff figures``: draws figures of a finished run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.pipeline.text.wording import print_note, show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.run.request import FiguresRequest


def draw_figures(request: FiguresRequest) -> int:
    """Draw figures of a finished run, and add them to its artifacts or write them to a folder.

    Raises
    ------
    UserError
        The run or the figure does not exist, a figure cannot show the run, the dataset has changed, or the refitted run
        has different scores from those stored.
    """
    from bakeoff.pipeline.commands.run.draw_figures import draw_run
    from bakeoff.pipeline.sweep.run_screen import RunScreen

    with RunScreen().make_bar() as bar:
        drawn = draw_run(request, bar.show_work, print_note)
    for name, reason in drawn.left_out.items():
        print(f"not drawn: {name}: {show_controls(reason)}")
    for file in drawn.files:
        print(f"figure {show_controls(file)}")
    return 0
