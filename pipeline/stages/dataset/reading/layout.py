"""How a file holds its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True)
class FileLayout:
    """How a file holds its table.

    Parameters
    ----------
    separator : str, optional
        The character between the cells of a row of text; by default it is guessed.
    header : bool, optional
        Whether the first row holds the names of the columns. By default it does, and a first row that looks like data
        is an error.
    names : sequence of str
        The names of the columns of a file without them; by default ``column_1``, ``column_2``, ….
    strip : bool
        Whether to leave out spaces around cells.
    encoding : str
        Of a text file.
    """

    separator: str | None = None
    header: bool | None = None
    names: Sequence[str] = ()
    strip: bool = False
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        for key, value in {"header": self.header, "strip": self.strip}.items():
            if value is not None and not isinstance(value, bool):
                raise UserError(f"dataset.{key}={value!r} must be true or false.")
        if isinstance(self.names, str):
            raise UserError(f"dataset.names={self.names!r} must be a list of columns: dataset.names=[{self.names}].")
        if self.names and self.header is not False:
            raise UserError("dataset.names is for files without a row of names; add dataset.header=false.")
        repeated = sorted({str(name) for name in self.names if list(self.names).count(name) > 1})
        if repeated:
            raise UserError(f"dataset.names gives {', '.join(map(repr, repeated))} to more than one column.")

    @property
    def has_names(self) -> bool:
        """Whether the first row holds the names of the columns."""
        return self.header is not False
