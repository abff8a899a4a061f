"""How a file holds its table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.column_limit import DEFAULT_MAX_COLUMNS

REFUSE = "refuse"
LEAVE_OUT = "leave_out"
COMMON_KEY = "max_columns"
"""The key that every format has."""
RAGGED = (REFUSE, LEAVE_OUT)
"""What happens to rows with more or fewer cells than the others."""
COMMA = ","
POINT = "."
SIGN_WORDS = {"comma": COMMA, "point": POINT, "apostrophe": "'", "underscore": "_", "space": " "}
"""Signs in numbers by name, because the command line reads some of them in a way of its own."""
DECIMAL_SIGNS = (POINT, COMMA)
THOUSANDS_SIGNS = (*SIGN_WORDS.values(), "’", "\u00a0", "\u202f")
"""Further ones are the typographic apostrophe, and the spaces at which lines are not broken."""
SEPARATOR_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
"""Separators by name, because a shell and YAML read some of the characters in a way of their own."""


@dataclass(frozen=True)
class FileLayout:
    """How a file holds its table.

    Parameters
    ----------
    separator : str, optional
        Between the cells of a row of text: a text, one of `SEPARATOR_WORDS`, or ``whitespace`` for one or more spaces
        and tabs; by default it is guessed.
    header : bool, optional
        Whether the first row holds the names of the columns. By default it does, and a first row that looks like data
        is an error.
    names : sequence of str
        The names of the columns, of a file without them or instead of its own; by default ``column_1``,
        ``column_2``, ….
    strip : bool
        Whether to leave out spaces around cells.
    encoding : str, optional
        Of a text file; by default UTF-8, or UTF-16 if the file begins with its byte order mark.
    decimal : str, optional
        The decimal sign of numbers in text, a point or a comma, or the word for it. If neither this nor `thousands` is
        given, commas are recognised where they can have one meaning only.
    thousands : str, optional
        The sign between groups of three digits of numbers in text: one of `THOUSANDS_SIGNS`, or its word.
    quote : str, optional
        The character around cells that hold separators or line breaks; None if there is none.
    comment : str, optional
        How lines begin that are left out.
    skip_rows : int
        Lines above the table that are left out.
    ragged : {"refuse", "leave_out"}
        What happens to rows with more or fewer cells than the others.
    sheet : str, optional
        The sheet of a workbook; by default the first one that is not hidden.
    max_columns : int
        The largest number of columns that a table may have.
    """

    separator: str | None = None
    header: bool | None = None
    names: Sequence[str] = ()
    strip: bool = False
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    quote: str | None = '"'
    comment: str | None = None
    skip_rows: int = 0
    ragged: str = REFUSE
    sheet: str | None = None
    max_columns: int = DEFAULT_MAX_COLUMNS

    def __post_init__(self) -> None:
        self._check_values()
        self._check_characters()
        self._check_names()

    @property
    def has_names(self) -> bool:
        """Whether the first row holds the names of the columns."""
        return self.header is not False

    def reject_keys(self, file: Path, what: str, allowed: Collection[str] = ()) -> None:
        """Reject keys that say nothing about a format.

        Parameters
        ----------
        file : Path
        what : str
            The name of the format.
        allowed : collection of str
            The keys that it has.

        Raises
        ------
        UserError
            Another key has a value other than its default.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            is_default = value == field.default or value in ([], ()) or (field.name == "header" and value is True)
            if not is_default and field.name not in (*allowed, COMMON_KEY):
                spelled = str(value).lower() if isinstance(value, bool) else repr(value)
                raise UserError(
                    f"dataset.{field.name}={spelled} does not apply to dataset.path={str(file)!r}, which is {what}; "
                    f"remove dataset.{field.name}."
                )

    def make_empty_error(self, file: Path) -> UserError:
        """Return the error of a file without content, which says what such a file needs."""
        needed = "a row of column names and rows of data" if self.has_names else "rows of data"
        return UserError(f"dataset.path={str(file)!r} is empty; it needs {needed}.")

    def _check_values(self) -> None:
        for key, value in {"header": self.header, "strip": self.strip}.items():
            if value is not None and not isinstance(value, bool):
                raise UserError(f"dataset.{key}={value!r} must be true or false.")
        is_count = isinstance(self.skip_rows, int) and not isinstance(self.skip_rows, bool) and self.skip_rows >= 0
        if not is_count:
            raise UserError(f"dataset.skip_rows={self.skip_rows!r} must be a number of lines, from 0.")
        if self.ragged not in RAGGED:
            raise UserError(f"dataset.ragged={self.ragged!r} is not allowed. {did_you_mean(str(self.ragged), RAGGED)}")

    def _check_characters(self) -> None:
        for key in ("separator", "quote", "comment"):
            value = getattr(self, key)
            if value is not None and (not isinstance(value, str) or not value):
                raise UserError(f"dataset.{key}={value!r} must be a text in quotation marks, or null.")
        if self.quote is not None and (len(self.quote) > 1 or not self.quote.isascii()):
            raise UserError(f"dataset.quote={self.quote!r} must be one character, such as '\"', or null for none.")
        decimal = read_sign(self.decimal)
        thousands = read_sign(self.thousands)
        if decimal not in (None, *DECIMAL_SIGNS):
            raise UserError(f"dataset.decimal={self.decimal!r} must be point or comma, or null for a guess.")
        if thousands not in (None, *THOUSANDS_SIGNS):
            words = ", ".join(SIGN_WORDS)
            raise UserError(f"dataset.thousands={self.thousands!r} must be one of {words}, or null for none.")
        if thousands is not None and thousands == decimal:
            raise UserError(f"dataset.thousands={self.thousands!r} is the decimal sign as well; give two signs.")

    def _check_names(self) -> None:
        if isinstance(self.names, str):
            raise UserError(f"dataset.names={self.names!r} must be a list of columns: dataset.names=[{self.names}].")
        if self.names and self.header is None:
            raise UserError(
                "dataset.names is for files without a row of names; add dataset.header=false, or dataset.header=true "
                "if the names replace those of the file."
            )
        names = [str(name) for name in self.names]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise UserError(f"dataset.names gives {', '.join(map(repr, repeated))} to more than one column.")


def read_sign(sign: str | None) -> str | None:
    """Return a sign in numbers that is given itself or by its word."""
    return None if sign is None else SIGN_WORDS.get(str(sign), str(sign))


def name_sign(sign: str) -> str:
    """Return the word for a sign in numbers, or the sign itself if there is none."""
    return next((word for word, each in SIGN_WORDS.items() if each == sign), sign)
