"""``bakeoff inspect``: the kind of each column of a table, and suspicions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.config.requests import ANY_KEY, Request, Word
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.tables.output_file import INSPECTION, NO_FILE, PAGE_FORMAT, YAML_FORMAT
from bakeoff.pipeline.text.wording import quote_text

OTHER_KEYS = ("trust", "experiment")
"""Keys that do not belong to the dataset; all other keys without a dot do."""


@dataclass(frozen=True, kw_only=True)
class InspectRequest(Request):
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

    files: Annotated[tuple[str, ...], Word(place="FILE")] = ()
    dataset: str = ""
    keys: Annotated[Mapping[str, str], Word(kinds={ANY_KEY: str})] = field(default_factory=dict)
    to: Annotated[str | None, Word(allowed=(PAGE_FORMAT, YAML_FORMAT))] = None
    output: Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.files and not self.dataset:
            raise UserError("neither a file nor a dataset was named; give FILE, or dataset=NAME.")
        if self.files and self.dataset:
            raise UserError(f"{self.files[0]} and dataset={self.dataset} were given; name one of them.")
        if self.form == YAML_FORMAT and not self.files:
            raise UserError(
                f"to=yaml describes files, but dataset={self.dataset} names an option; give a FILE instead."
            )

    @property
    def form(self) -> str:
        """The format of what is written."""
        return INSPECTION.find_format(None if self.output == NO_FILE else self.output, self.to, PAGE_FORMAT)

    def write_overrides(self) -> list[str]:
        """Return the overrides from which the configuration of the dataset is composed."""
        overrides = [f"dataset={self.dataset or 'file'}"]
        if self.files:
            quoted = ",".join(quote_text(file) for file in self.files)
            overrides.append(f"dataset.path={quoted}" if len(self.files) == 1 else f"dataset.path=[{quoted}]")
        for key, value in self.keys.items():
            is_short = "." not in key and key not in OTHER_KEYS
            overrides.append(f"dataset.{key}={value}" if is_short else f"{key}={value}")
        return overrides


def inspect_data(request: InspectRequest) -> Answer:
    """Print the inferred kind of each column of a file or dataset and the reason, and write a page with histograms.

    With ``to=yaml``, the file of the dataset is printed or written instead.

    Raises
    ------
    UserError
        The file or column does not exist, or the page cannot be written.
    """
    from bakeoff.pipeline.commands.inspect.inspect_table import inspect_named
    from bakeoff.pipeline.commands.inspect.profile import print_profile

    profile, path, text = inspect_named(request.write_overrides(), request.form, request.output)
    if request.form == PAGE_FORMAT:
        print_profile(profile)
    elif path is None:
        print(text, end="")
    if path is not None:
        print(f"{request.form}  {path}")
    return Answer("inspection", lambda: {**vars(profile), "file": path})
