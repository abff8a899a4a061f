"""The keys of a dataset in YAML: the layout of its file, the roles of columns, and their kinds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.size_limits import DEFAULT_MAX_COLUMNS
from bakeoff.pipeline.stages.dataset.spelling import MissingRule, make_missing_rule, spell_cells
from bakeoff.pipeline.stages.dataset.table import DATE, NOMINAL, NUMERIC, ORDERED, TEXT


def build_from_keys(keys: Mapping[str, Any], *classes: Any) -> list[Any]:
    """Return an object of each class, made of those keys that are its fields.

    Parameters
    ----------
    keys : mapping of str to object
    *classes : dataclass

    Raises
    ------
    UserError
        A key is a field of none of them.
    """
    names = [[field.name for field in fields(each)] for each in classes]
    known = [name for own_names in names for name in own_names]
    for key in keys:
        if key not in known:
            raise UserError(f"dataset.{key} is not a key of this dataset. {did_you_mean(key, known)}")
    built = []
    for each, own_names in zip(classes, names, strict=True):
        own_keys = {name: keys[name] for name in own_names if name in keys}
        built.append(each(**own_keys))
    return built


def require_list(key: str, names: Any) -> None:
    """Reject a value that should be a list of columns and is a single text."""
    if isinstance(names, str):
        raise UserError(f"dataset.{key}={names!r} must be a list of columns: dataset.{key}=[{names}].")


REFUSE = "refuse"
LEAVE_OUT = "leave_out"
COMMON_KEY = "max_columns"
"""The key common to all formats."""
RAGGED = (REFUSE, LEAVE_OUT)
"""What happens to rows with more or fewer cells than the others."""
COMMA = ","
POINT = "."
SIGN_WORDS = {"comma": COMMA, "point": POINT, "apostrophe": "'", "underscore": "_", "space": " "}
"""Signs in numbers by name, because the command line interprets some of them."""
DECIMAL_SIGNS = (POINT, COMMA)
THOUSANDS_SIGNS = (*SIGN_WORDS.values(), "’", "\u00a0", "\u202f")
"""Further ones are the typographic apostrophe, and the spaces at which lines are not broken."""
SEPARATOR_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
"""Separators by name, because shells and YAML interpret some of the characters."""


@dataclass(frozen=True)
class FileLayout:
    """The layout of the table in a file.

    Parameters
    ----------
    separator : str, optional
        Between the cells of a row of text: a text, one of `SEPARATOR_WORDS`, or ``whitespace`` for one or more spaces
        and tabs; by default it is guessed.
    header : bool, optional
        Whether the first row contains the names of the columns. By default it does, and a first row that looks like
        data is an error.
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
        for key, is_right, needed in self._list_rules():
            if not is_right:
                raise UserError(f"dataset.{key}={getattr(self, key)!r} {needed}.")
        if self.names and self.header is None:
            raise UserError(
                "dataset.names is for files without a row of names; add dataset.header=false, or dataset.header=true "
                "if the names replace those of the file."
            )
        names = [str(name) for name in self.names]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise UserError(f"dataset.names gives {', '.join(map(repr, repeated))} to more than one column.")

    @property
    def has_names(self) -> bool:
        """Whether the first row contains the names of the columns."""
        return self.header is not False

    def choose_names(self, d: int, what: str) -> list[str]:
        """Return the given names of d columns, or numbers if the first row contains data; else nothing."""
        if self.names and len(self.names) != d:
            raise UserError(f"dataset.names has {len(self.names)} names, but {what} has {d} columns.")
        numbered = [] if self.has_names else [f"column_{number}" for number in range(1, d + 1)]
        return [str(name) for name in self.names] or numbered

    def reject_keys(self, file: Path, what: str, allowed: Collection[str] = ()) -> None:
        """Reject keys that do not apply to a format.

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
        """Return the error for a file without content, with the required content."""
        needed = "a row of column names and rows of data" if self.has_names else "rows of data"
        return UserError(f"dataset.path={str(file)!r} is empty; it needs {needed}.")

    def _list_rules(self) -> list[tuple[str, bool, str]]:
        """Return each key with whether its value is valid, and the requirement."""
        decimal, thousands = read_sign(self.decimal), read_sign(self.thousands)
        texts = ((key, getattr(self, key)) for key in ("separator", "quote", "comment"))
        is_count = isinstance(self.skip_rows, int) and not isinstance(self.skip_rows, bool) and self.skip_rows >= 0
        is_letter = self.quote is None or (len(str(self.quote)) == 1 and str(self.quote).isascii())
        words = ", ".join(SIGN_WORDS)
        quoted = "must be a text in quotation marks, or null"
        return [
            ("header", isinstance(self.header, bool | None), "must be true or false"),
            ("strip", isinstance(self.strip, bool | None), "must be true or false"),
            ("skip_rows", is_count, "must be a number of lines, from 0"),
            ("ragged", self.ragged in RAGGED, f"is not allowed. Allowed: {', '.join(sorted(RAGGED))}"),
            *((key, value is None or (isinstance(value, str) and value != ""), quoted) for key, value in texts),
            ("quote", is_letter, "must be one character, such as '\"', or null for none"),
            ("decimal", decimal in (None, *DECIMAL_SIGNS), "must be point or comma, or null for a guess"),
            ("thousands", thousands in (None, *THOUSANDS_SIGNS), f"must be one of {words}, or null for none"),
            ("thousands", thousands is None or thousands != decimal, "is the decimal sign as well; give two signs"),
            ("names", not isinstance(self.names, str), f"must be a list of columns: dataset.names=[{self.names}]"),
        ]


def read_sign(sign: str | None) -> str | None:
    """Return a sign in numbers, given directly or by its name."""
    return None if sign is None else SIGN_WORDS.get(str(sign), str(sign))


def name_sign(sign: str) -> str:
    """Return the word for a sign in numbers, or the sign itself if there is none."""
    return next((word for word, each in SIGN_WORDS.items() if each == sign), sign)


TASKS = ("classification", "regression")
LAST = "last"
"""The word for the last column of a source, as a target."""
ROLE_KEYS = ("target", "groups", "weights", "split", "folds", "time")
"""The keys that assign a role other than feature to a column."""


@dataclass(frozen=True)
class Roles:
    """The columns that are not features, by role.

    Parameters
    ----------
    target : str
        The column to predict; ``last`` is the last one, unless a column has that name.
    task : {"classification", "regression"}, optional
        By default, text, Booleans and integers with at most 20 distinct values are classes.
    positive : str, optional
        The positive one of two classes; by default the last in sorted order.
    groups : str, optional
        The column that says which rows belong together.
    weights : str, optional
        The column with the weight of each row, from 0.
    split : str, optional
        The column that says which part a row belongs to: train, validation or test.
    folds : str, optional
        The column that says in which fold a row is tested.
    time : str, optional
        The column that rows are ordered by.
    drop_missing_target : bool
        Whether to leave out rows without a target instead of rejecting them.
    """

    target: str
    task: str | None = None
    positive: str | None = None
    groups: str | None = None
    weights: str | None = None
    split: str | None = None
    folds: str | None = None
    time: str | None = None
    drop_missing_target: bool = False

    def __post_init__(self) -> None:
        if self.task not in TASKS and self.task is not None:
            raise UserError(f"dataset.task={self.task!r} is not a task. {did_you_mean(str(self.task), TASKS)}")

    @property
    def named(self) -> dict[str, str]:
        """The columns with a role other than feature, by key."""
        values = {key: getattr(self, key) for key in ROLE_KEYS}
        return {key: str(name) for key, name in values.items() if name is not None}


def find_target(columns: Sequence[str], target: str) -> str:
    """Return the name of the target's column; raises UserError if there is none."""
    name = columns[-1] if target == LAST and LAST not in columns else target
    require_column(columns, "target", name)
    return name


def require_column(columns: Sequence[str], key: str, name: str) -> None:
    """Reject the name of a column that the source does not have."""
    if name not in columns:
        raise UserError(f"dataset.{key}={name!r} is not a column of the data. {did_you_mean(str(name), columns)}")


def require_one_role(roles: Roles, target: str, drop: Sequence[str]) -> None:
    """Reject a column with two roles, or with a role although it is dropped."""
    named = roles.named | {"target": target}
    names = [*named.values(), *drop]
    if len(set(names)) < len(names):
        given = ", ".join(f"dataset.{key}={name!r}" for key, name in named.items())
        raise UserError(
            f"{given} and dataset.drop={list(drop)} name a column twice; each column may have one role only."
        )


KIND_OF_KEY = {"numeric": NUMERIC, "nominal": NOMINAL, "ordered": ORDERED, "dates": DATE, "text": TEXT}
"""The keys that declare the kind of columns."""
LIST_KEYS = (*KIND_OF_KEY, "keep", "drop")
"""The keys that name columns."""


@dataclass(frozen=True)
class ColumnRules:
    """Declared kinds, and the columns that are features against the default.

    Parameters
    ----------
    numeric, nominal, text : sequence of str
        Columns of which the kind is given; the cells must agree with it.
    dates : sequence of str, or mapping of str to str
        Columns of dates, or column -> format of its dates, such as ``"%d/%m/%Y"``.
    ordered : mapping of str to sequence of str
        Column -> its values, the lowest first.
    keep : sequence of str
        Columns that are features although they look like identifiers, dates or text.
    drop : sequence of str
        Columns to leave out.
    na_values : sequence of str, or mapping of str to sequence of str
        Spellings of a missing cell in any column, besides the default ones; or column -> its only spellings.
    max_columns : int
        The largest number of columns that a table may have.
    """

    numeric: Sequence[str] = ()
    nominal: Sequence[str] = ()
    ordered: Mapping[str, Sequence[str]] | None = None
    dates: Sequence[str] | Mapping[str, str] | None = None
    text: Sequence[str] = ()
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    na_values: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None
    max_columns: int = DEFAULT_MAX_COLUMNS

    def __post_init__(self) -> None:
        if isinstance(self.max_columns, bool) or not isinstance(self.max_columns, int) or self.max_columns < 1:
            raise UserError(f"dataset.max_columns={self.max_columns!r} must be a positive number of columns.")
        for key in LIST_KEYS:
            require_list(key, getattr(self, key))
        if not isinstance(self.ordered, Mapping | None):
            raise UserError(
                f"dataset.ordered={self.ordered!r} must give the values of each column, the lowest first: "
                "dataset.ordered={size: [S, M, L]}."
            )
        for name, values in (self.ordered or {}).items():
            if isinstance(values, str) or len(set(spell_cells(values))) < max(len(values), 2):
                raise UserError(
                    f"dataset.ordered gives {name!r} the values {values!r}; it needs a list of two or more different "
                    "values, the lowest first."
                )
        self._require_one_kind()
        make_missing_rule(self.na_values, "")

    @property
    def lists(self) -> dict[str, Sequence[str]]:
        """The lists of columns, by key."""
        return {key: [str(name) for name in getattr(self, key) or ()] for key in LIST_KEYS}

    @property
    def declared_kinds(self) -> dict[str, str]:
        """The declared kinds: column -> kind."""
        return {name: kind for key, kind in KIND_OF_KEY.items() for name in self.lists[key]}

    def get_missing_rule(self, name: str) -> MissingRule:
        """Return which cells of a column are missing."""
        return make_missing_rule(self.na_values, name)

    def get_ordered_values(self, name: str) -> tuple[str, ...]:
        """Return the declared values of an ordered column, in canonical spelling; empty if there are none."""
        return tuple(spell_cells((self.ordered or {}).get(name, ())))

    def get_date_format(self, name: str) -> str:
        """Return the declared format of a column of dates; empty if there is none."""
        return str(self.dates.get(name, "")) if isinstance(self.dates, Mapping) else ""

    def _require_one_kind(self) -> None:
        given: dict[str, str] = {}
        for key in (*KIND_OF_KEY, "drop"):
            for name in self.lists[key]:
                if name in given:
                    raise UserError(
                        f"dataset.{given[name]} and dataset.{key} both name {name!r}; a column has one kind."
                    )
                given[name] = key
