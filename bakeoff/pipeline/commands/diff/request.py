"""The requests for the difference of two runs, and for an ablation."""

from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.pipeline.commands.compare.request import require_choice
from bakeoff.pipeline.config.requests import ExperimentRequest, TrustRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import DIFFERENCE


@dataclass(frozen=True, kw_only=True)
class ReportRequest(ExperimentRequest, TrustRequest):
    """A request for a report on the changes between configurations.

    Attributes
    ----------
    dataset : str
        The dataset that latest and best refer to.
    alpha : float
        The significance level; by default 0.05.
    to : str
        The format: terminal, csv, json, markdown, latex or html; by default that of the extension of output=.
    output : Path or None
        The file to which the report is written instead of standard output; a .csv file without to= receives the rows
        that changed.
    keep : bool
        Whether to store the report as a run; by default true.
    """

    dataset: str = ""
    alpha: float = 0.05
    to: str | None = None
    output: Path | None = None
    keep: bool = True

    def __post_init__(self) -> None:
        if self.to is not None:
            require_choice("to", self.to)
        DIFFERENCE.find_format(self.output, self.to)
        if not 0 < self.alpha < 1:
            raise UserError(f"alpha={self.alpha:g} must be a number between 0 and 1, such as 0.05.")


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
        all, to list all rows that changed; by default clearest, at most ten of each kind.
    fail_if : str
        worse, to exit with code 1 if the second run is significantly worse; by default never.
    """

    a: str = field(metadata={"word": "A"})
    b: str = field(metadata={"word": "B"})
    sweep: str = ""
    rows: str = "clearest"
    fail_if: str = "never"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("rows", self.rows)
        require_choice("fail_if", self.fail_if)


@dataclass(frozen=True, kw_only=True)
class AblateRequest(ReportRequest):
    """A run whose options are set back to their defaults, one at a time.

    Attributes
    ----------
    run : str
        The id of a run or its first 8 characters, latest, best, or a registered model.
    columns : str
        Leaves out columns instead: true for each column, or groups such as [[age,sex],[fare]]; by default false.
    """

    run: str = field(metadata={"word": "RUN"})
    columns: str = "false"
