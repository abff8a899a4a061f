"""The options for drawing figures of a stored run."""

from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.tables.output_file import require_output_folder


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
