"""The options of an explanation that the user requests."""

from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.config.requests import RefitRequest

NO_PAGE = Path("none")


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(RefitRequest):
    """A model to explain.

    Attributes
    ----------
    columns : tuple of str
        Columns whose partial dependence is shown; by default the most important ones.
    output : Path or None
        The file to which the page is written, or none for no page; by default it is named after the run or model.
    """

    columns: tuple[str, ...] = ()
    output: Path | None = None
