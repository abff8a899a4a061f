"""The request to make, list or verify a reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.config.requests import Bounds, ExperimentRequest, TrustRequest, Word
from bakeoff.pipeline.errors import UserError

ACTION_KEYS: Mapping[str, tuple[str, ...]] = {
    "list": (),
    "make": ("sweep", "filter", "title", "output"),
    "verify": ("name", "data", "n", "seed", "tolerance", "workers"),
}
"""What can be done -> the fields that belong to it alone."""


@dataclass(frozen=True, kw_only=True)
class ReferenceRequest(ExperimentRequest, TrustRequest):
    """Results by which others compare theirs.

    Attributes
    ----------
    action : str
        list, to show the references of this folder and those that are installed; make, to write the runs of a sweep as
        one; verify, to run jobs of one again.
    name : str
        For verify: the file of a reference, or its name.
    sweep : str or None
        For make: the name of a sweep, or latest.
    filter : str or None
        For make, instead of a sweep: an MLflow filter that selects the runs.
    title : str
        For make: the name of the reference; its file is NAME.reference.zip.
    output : Path or None
        For make: the file, if it is another one.
    data : Path or None
        For verify: the folder with the files of the datasets, which a reference does not contain.
    n : int or None
        For verify: the number of jobs to run, drawn at random; by default all.
    seed : int or None
        For verify: the seed of the draw; by default a random one, which is printed.
    tolerance : float
        For verify: the largest absolute difference of a score that counts as equal.
    workers : int
        For verify: the number of processes.
    """

    action: Annotated[str, Word(place="ACTION", allowed=tuple(ACTION_KEYS))]
    name: Annotated[str, Word(place="REFERENCE")] = ""
    sweep: str | None = None
    filter: str | None = None
    title: Annotated[str, Word(key="as")] = ""
    output: Path | None = None
    data: Path | None = None
    n: Annotated[int | None, Word(allowed=Bounds(1))] = None
    seed: int | None = None
    tolerance: Annotated[float, Word(allowed=Bounds(0))] = 0.0
    workers: Annotated[int, Word(allowed=Bounds(1))] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for action, fields in ACTION_KEYS.items():
            given = [each for each in fields if getattr(self, each) != getattr(type(self), each)]
            if given and action != self.action:
                key = "as" if given[0] == "title" else given[0]
                raise UserError(f"{key}={getattr(self, given[0])} belongs to {action}; leave it out of {self.action}.")
        if self.action == "verify" and not self.name:
            raise UserError("name the reference to verify: its file, or a name that `bakeoff reference list` shows.")
        if self.action == "make" and not (self.title or self.output):
            raise UserError("name the reference: as=NAME writes NAME.reference.zip, and output=FILE another file.")
