"""The request to check whether the verdicts of a capsule still hold."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.config.requests import Bounds, TrustRequest, Word
from bakeoff.pipeline.config.words import read_duration
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import PAGE, TERMINAL, OutputKind

JSON = "json"
HTML = "html"
QUESTION = "Do the verdicts of {} still hold?"
REPORT = OutputKind(
    {".txt": TERMINAL, ".json": JSON, ".html": HTML},
    rf'(?:{PAGE})?Do the verdicts of [^\n]* still hold\?|\{{\s*"format": "bakeoff.watch"',
)
HISTORY = OutputKind({".jsonl": JSON}, r'\{"date": ')


@dataclass(frozen=True, kw_only=True)
class WatchRequest(TrustRequest):
    """A capsule whose verdicts are checked again.

    Attributes
    ----------
    capsule : Path
        A zip file written by bakeoff paper or bakeoff reference.
    data : Path or None
        The folder with the files of the datasets as they are now; by default, those in the capsule.
    n : int or None
        The number of jobs to run, the cheapest first; by default all.
    budget : str or None
        The time for the jobs, such as 10m: the cheapest run that took no longer together in the study.
    python : Path or None
        The interpreter of an environment with the versions of the study, for the cause of a verdict that changed.
    workers : int
        The number of processes.
    to : str or None
        The format; by default that of the extension of output=.
    output : Path or None
        The file to which the report is written instead of standard output.
    """

    capsule: Annotated[Path, Word(place="CAPSULE")]
    data: Path | None = None
    n: Annotated[int | None, Word(allowed=Bounds(1))] = None
    budget: str | None = None
    python: Path | None = None
    workers: Annotated[int, Word(allowed=Bounds(1))] = 1
    to: Annotated[str | None, Word(allowed=(TERMINAL, HTML))] = None
    output: Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        REPORT.find_format(self.output, self.to)
        read_duration("budget", self.budget)
        if self.python is not None and not self.python.is_file():
            raise UserError(f"python={self.python} is not a file; name the interpreter of an environment with bakeoff.")

    @property
    def history(self) -> Path:
        """The file beside the capsule with a line for each time it was watched."""
        return self.capsule.with_name(f"{self.capsule.name.removesuffix('.zip')}.watch.jsonl")
