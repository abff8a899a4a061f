"""The options of an explanation that the user requests."""

from dataclasses import dataclass

from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import expand_home

NO_PAGE = "none"
PAGE_SUFFIXES = (".html", ".htm")


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(RefitRequest):
    """A model to explain.

    Attributes
    ----------
    columns : tuple of str
        Columns whose partial dependence is shown; by default the most important ones.
    output : str or None
        The file to which the page is written, or none for no page; by default it is named after the run or model.
    """

    columns: tuple[str, ...] = ()
    output: str | None = None

    def __post_init__(self) -> None:
        is_page = self.output in (None, NO_PAGE) or expand_home(str(self.output)).suffix.lower() in PAGE_SUFFIXES
        if not is_page:
            raise UserError(f"output={self.output!r} must end in .html, or be none to write no page.")
