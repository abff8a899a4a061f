"""The options of an inspection that the user requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff.pipeline.config.requests import ANY_KEY
from bakeoff.pipeline.errors import UserError

NO_PAGE = "none"


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
    output : str or None
        The file to which the page is written, or none for no page; by default it is named after the dataset.
    """

    files: tuple[str, ...] = field(default=(), metadata={"word": "FILE"})
    dataset: str = ""
    keys: Mapping[str, str] = field(default_factory=dict, metadata={"kinds": {ANY_KEY: str}})
    output: str | None = None

    def __post_init__(self) -> None:
        if not self.files and not self.dataset:
            raise UserError("neither a file nor a dataset was named; give FILE, or dataset=NAME.")
        if self.files and self.dataset:
            raise UserError(f"{self.files[0]} and dataset={self.dataset} were given; name one of them.")
