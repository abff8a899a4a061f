"""The options for repeating stored runs."""

from dataclasses import dataclass, field

from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.errors import UserError


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
