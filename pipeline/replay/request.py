"""The options for repeating stored runs: compare the numbers, or draw figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ReplayRequest(RefitRequest):
    """A run or a sweep to repeat.

    Attributes
    ----------
    sweep : str
        Instead of a run: the name of a sweep, or latest, whose runs are all repeated.
    output : Path or None
        A JSON file to which the reports are written, with every difference.
    """

    run: str = field(default="", metadata={"word": "RUN"})
    sweep: str = ""
    output: Path | None = None

    def __post_init__(self) -> None:
        if bool(self.run) == bool(self.sweep):
            raise UserError("select what to replay: RUN, or sweep=NAME.")


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
        if self.output is not None and self.output.exists() and not self.output.is_dir():
            raise UserError(f"output={str(self.output)!r} is a file; name a folder.")
