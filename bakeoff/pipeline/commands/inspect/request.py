"""The options of an inspection that the user requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.pipeline.config.requests import ANY_KEY
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.tables.output_file import INSPECTION

NO_PAGE = Path("none")
PAGE = "page"
YAML = "yaml"
FORMATS = (PAGE, YAML)


@dataclass(frozen=True, kw_only=True)
class InspectRequest:
    """A table to inspect.

    Attributes
    ----------
    files : tuple of str
        Files with the same columns, or patterns such as data/*.csv.
    dataset : str
        Instead of files: the name of a dataset.
    keys : mapping of str to str
        Keys of the dataset as on the command line, such as target=COLUMN; the prefix dataset. is optional.
    to : str
        page, or yaml for the file of the dataset, as in conf/dataset/, with all that was found; by default that of the
        extension of output=, else page.
    output : Path or None
        The file to which the page is written, or none for no page; by default it is named after the dataset. The YAML
        is printed by default.
    """

    files: tuple[str, ...] = field(default=(), metadata={"word": "FILE"})
    dataset: str = ""
    keys: Mapping[str, str] = field(default_factory=dict, metadata={"kinds": {ANY_KEY: str}})
    to: str | None = None
    output: Path | None = None

    def __post_init__(self) -> None:
        if not self.files and not self.dataset:
            raise UserError("neither a file nor a dataset was named; give FILE, or dataset=NAME.")
        if self.files and self.dataset:
            raise UserError(f"{self.files[0]} and dataset={self.dataset} were given; name one of them.")
        if self.to not in (None, *FORMATS):
            raise UserError(f"to={self.to}: {did_you_mean(str(self.to), FORMATS)}")
        if self.form == YAML and not self.files:
            raise UserError(f"to=yaml describes files, and dataset={self.dataset} is an option; name a FILE instead.")

    @property
    def form(self) -> str:
        """The format of what is written."""
        return INSPECTION.find_format(None if self.output == NO_PAGE else self.output, self.to, PAGE)
