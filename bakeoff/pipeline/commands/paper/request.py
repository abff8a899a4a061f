"""The requests for a capsule of a study, and for its verification."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.commands.compare.request import SelectionRequest
from bakeoff.pipeline.config.requests import Bounds, TrustRequest, Word
from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True, kw_only=True)
class PaperRequest(SelectionRequest, TrustRequest):
    """A study to write as a capsule.

    Attributes
    ----------
    output : Path
        The capsule, a zip file.
    data : bool
        Whether the capsule contains the files of the datasets.
    decimals : int or None
        The number of decimals of scores in tables; by default 3, or 1 in percent.
    percent : bool
        Whether tables show scores from 0 to 1 in percent.
    std : bool
        Whether tables show standard deviations.
    """

    output: Path = Path("study.capsule.zip")
    data: bool = False
    decimals: int | None = None
    percent: bool = False
    std: bool = True


@dataclass(frozen=True, kw_only=True)
class VerifyRequest(TrustRequest):
    """A capsule to verify.

    Attributes
    ----------
    capsule : Path
        A zip file written by bakeoff paper.
    data : Path or None
        The folder with the files of the datasets, if the capsule does not contain them.
    n : int or None
        The number of jobs to run, drawn at random; by default all.
    seed : int or None
        The seed of the draw; by default a random one, which is printed.
    tolerance : float
        The largest absolute difference of a score that counts as verified.
    workers : int
        The number of processes.
    """

    capsule: Annotated[Path, Word(place="CAPSULE")]
    data: Path | None = None
    n: Annotated[int | None, Word(allowed=Bounds(1))] = None
    seed: int | None = None
    tolerance: Annotated[float, Word(allowed=Bounds(0))] = 0.0
    workers: Annotated[int, Word(allowed=Bounds(1))] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n is None and self.seed is not None:
            raise UserError(f"seed={self.seed} has no effect if all jobs run; add n=, the number of jobs to draw.")
