"""The command ``figures``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.config.requests import RefitRequest, Word
from bakeoff.pipeline.tables.output_file import require_output_folder
from bakeoff.pipeline.text import wording


@dataclass(frozen=True, kw_only=True)
class FiguresRequest(RefitRequest):
    """Figures of a run, which is fitted again to draw them.

    Attributes
    ----------
    names : tuple of str
        Names of figures, as listed by `bakeoff list figures`, optionally with arguments, such as "{learning_curve:
        {sizes: [0.5, 1]}}"; by default all that apply to the run.
    output : Path or None
        The folder to which the files are written; by default they are added to the artifacts of the run.
    """

    names: Annotated[tuple[str, ...], Word(place="NAME")] = ()
    output: Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output is not None:
            require_output_folder(self.output, "output")


def draw_figures(request: FiguresRequest) -> int:
    """Draw figures of a finished run, and add them to its artifacts or write them to a folder.

    Raises
    ------
    UserError
        The run or the figure does not exist, a figure cannot show the run, the dataset has changed, or the refitted run
        has different scores from those stored.
    """
    from bakeoff.pipeline.commands.figures.draw_figures import draw_run
    from bakeoff.pipeline.sweep.run_screen import RunScreen

    with RunScreen().make_bar() as bar:
        files, left_out = draw_run(request, request.names, request.output, bar.show_work, wording.print_note)
    for name, reason in left_out.items():
        print(f"not drawn: {name}: {wording.show_controls(reason)}")
    for file in files:
        print(f"figure {wording.show_controls(file)}")
    return 0
