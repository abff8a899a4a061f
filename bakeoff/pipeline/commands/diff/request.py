"""The requests for the difference of two runs, and for an ablation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.commands.compare.request import GATES, LEVELS
from bakeoff.pipeline.commands.comparison_report.delivery import FORMATS
from bakeoff.pipeline.config.requests import ExperimentRequest, TrustRequest, Word
from bakeoff.pipeline.tables.output_file import DIFFERENCE


@dataclass(frozen=True, kw_only=True)
class ReportRequest(ExperimentRequest, TrustRequest):
    """A request for a report on the changes between configurations.

    Attributes
    ----------
    dataset : str
        The dataset that latest and best refer to.
    alpha : float
        The significance level.
    to : str
        The format; by default that of the extension of output=.
    output : Path or None
        The file to which the report is written instead of standard output; a .csv file without to= receives the rows
        that changed.
    keep : bool
        Whether to store the report as a run.
    """

    dataset: str = ""
    alpha: Annotated[float, Word(allowed=LEVELS)] = 0.05
    to: Annotated[str | None, Word(allowed=FORMATS)] = None
    output: Path | None = None
    keep: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        DIFFERENCE.find_format(self.output, self.to)


@dataclass(frozen=True, kw_only=True)
class DiffRequest(ReportRequest):
    """Two runs to compare change by change.

    Attributes
    ----------
    a, b : str
        A run: its id or its first 8 characters, latest, best, a registered model, or with sweep= the name of a
        configuration.
    sweep : str
        A sweep of whose runs a and b are configurations.
    rows : str
        all, to list all rows that changed, or clearest, to list at most ten of each kind.
    fail_if : str
        worse, to exit with code 1 if the second run is significantly worse.
    """

    a: Annotated[str, Word(place="A")]
    b: Annotated[str, Word(place="B")]
    sweep: str = ""
    rows: Annotated[str, Word(allowed=("clearest", "all"))] = "clearest"
    fail_if: Annotated[str, Word(allowed=GATES)] = "never"


@dataclass(frozen=True, kw_only=True)
class AblateRequest(ReportRequest):
    """A run whose options are set back to their defaults, one at a time.

    Attributes
    ----------
    run : str
        The id of a run or its first 8 characters, latest, best, or a registered model.
    columns : str
        Leaves out columns instead: true for each column, or groups such as [[age,sex],[fare]].
    """

    run: Annotated[str, Word(place="RUN")]
    columns: str = "false"
