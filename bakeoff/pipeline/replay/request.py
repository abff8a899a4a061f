"""The options for repeating stored runs: compare the numbers, or draw figures."""

from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import require_output_folder


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

    run: str = field(default="", metadata={"word": "RUN"})
    sweep: str = ""
    dataset__folder: str | None = None

    def __post_init__(self) -> None:
        if bool(self.run) == bool(self.sweep):
            raise UserError("select what to replay: RUN, or sweep=NAME.")
        if self.dataset__path and self.dataset__folder:
            raise UserError("dataset.path and dataset.folder both name the location of the files; give only one.")


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

    names: tuple[str, ...] = field(default=(), metadata={"word": "NAME"})
    output: Path | None = None

    def __post_init__(self) -> None:
        if self.output is not None:
            require_output_folder(self.output, "output")
