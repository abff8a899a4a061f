"""The keys of a dataset in YAML: the layout of its file, and the roles and kinds of its columns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from bakeoff.pipeline.errors import UnknownKeys, UserError, did_you_mean, require_kind
from bakeoff.pipeline.stages.dataset.spelling import make_missing_rule, spell_cell
from bakeoff.pipeline.stages.dataset.table import DATE, NOMINAL, NUMERIC, ORDERED, TARGET, TEXT


def build_from_keys(keys: Mapping[str, Any], *classes: Any) -> list[Any]:
    """Return an object of each class, built from the keys that are its fields.

    Parameters
    ----------
    keys : mapping of str to object
    *classes : dataclass

    Raises
    ------
    UserError
        A key is not a field of any of the classes, or its value is not of the kind of that field.
    """
    known = {field.name: field.type for each in classes for field in fields(each)}
    unknown = [key for key in keys if key not in known]
    if unknown:
        faults = (f"dataset.{key} is not a key of this dataset. {did_you_mean(key, known)}" for key in unknown)
        raise UnknownKeys(*faults)
    for key, value in keys.items():
        require_kind(f"dataset.{key}", value, known[key])
    return [each(**{field.name: keys[field.name] for field in fields(each) if field.name in keys}) for each in classes]


QUOTED_BY_APOSTROPHES = (
    'The file has its name in single quotation marks; "dataset.quote=\\"\'\\"" reads names and cells without them.'
)
COMMA = ","
POINT = "."
SIGN_WORDS = {"comma": COMMA, "point": POINT, "apostrophe": "'", "underscore": "_", "space": " "}
"""Signs in numbers by name, because some of them have a meaning on the command line."""
DECIMAL_SIGNS = (POINT, COMMA)
SIGN_KEYS = ("decimal", "thousands")
"""The keys that apply to text in every source."""
LOOKALIKES = {" ": " \u00a0\u202f\u2009", "'": "'’"}
"""Sign -> the characters that programs write for it: the no-break and thin spaces, and the typographic apostrophe."""
SEPARATOR_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
"""Separators by name, because shells and YAML interpret some of the characters."""
WHITESPACE = "whitespace"
"""The word for any number of spaces and tabs as a separator."""


@dataclass(frozen=True)
class FileLayout:
    """The layout of the table in a file.

    Parameters
    ----------
    separator : str, optional
        The character between cells in a row of text, its name in `SEPARATOR_WORDS`, or ``whitespace`` for one or more
        spaces and tabs; by default it is guessed.
    header : bool, optional
        Whether the first row contains the names of the columns. By default it does, and a first row that looks like
        data is an error.
    strip : bool
        Whether to strip spaces around text cells.
    encoding : str, optional
        The encoding of a text file; by default UTF-8, or UTF-16 if the file begins with its byte order mark.
    decimal : str, optional
        The decimal sign of numbers in text, a point or a comma, or its name. If neither this nor `thousands` is given,
        commas are recognised if they can have only one meaning.
    thousands : str, optional
        The sign between groups of three digits in numbers in text, or its name in `SIGN_WORDS`; every space is the
        same sign, and so is every apostrophe.
    quote : str, optional
        The quotation mark around cells that contain separators or line breaks; None if there is none.
    skip_rows : int
        The number of lines to skip above the table.
    sheet : str, optional
        The sheet of a workbook; by default the first one.
    """

    separator: str | None = None
    header: bool | None = None
    strip: bool = False
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    quote: str | None = '"'
    skip_rows: int = 0
    sheet: str | None = None

    def __post_init__(self) -> None:
        decimal, thousands = read_sign(self.decimal), read_sign(self.thousands)
        is_separator = self.separator in (None, WHITESPACE) or len(str(self.character)) == 1
        is_letter = self.quote is None or (len(str(self.quote)) == 1 and str(self.quote).isascii())
        is_count = self.skip_rows >= 0
        words = ", ".join(SIGN_WORDS)
        requirements = [
            ("separator", is_separator, f"must be one character, or one of {', '.join(SEPARATOR_WORDS)}, {WHITESPACE}"),
            ("quote", is_letter, "must be one character, such as '\"', or null for none"),
            ("skip_rows", is_count, "must be a number of lines, from 0"),
            ("decimal", decimal in (None, *DECIMAL_SIGNS), "must be point or comma, or null for a guess"),
            ("thousands", thousands in (None, *SIGN_WORDS.values()), f"must be one of {words}, or null for none"),
            ("thousands", thousands is None or thousands != decimal, "is also the decimal sign; give different signs"),
        ]
        for key, is_right, needed in requirements:
            if not is_right:
                raise UserError(f"dataset.{key}={getattr(self, key)!r} {needed}.")

    @property
    def has_names(self) -> bool:
        """Whether the first row contains the names of the columns."""
        return self.header is not False

    @property
    def character(self) -> str:
        """The character between cells; a single space for ``whitespace``."""
        return " " if self.separator == WHITESPACE else SEPARATOR_WORDS.get(str(self.separator), str(self.separator))

    def reject_keys(self, where: str, allowed: Collection[str]) -> None:
        """Reject keys with non-default values that do not apply to a format.

        Parameters
        ----------
        where : str
            The key of the file and its format.
        allowed : collection of str
            The keys that apply to the format.

        Raises
        ------
        UserError
        """
        for field in fields(self):
            value = getattr(self, field.name)
            is_default = value == field.default or (field.name == "header" and value is True)
            if not is_default and field.name not in allowed:
                raise UserError(
                    f"dataset.{field.name}={value!r} does not apply to {where}; remove dataset.{field.name}."
                )


def read_sign(sign: str | None) -> str | None:
    """Return a sign in numbers, given directly, by its name, or by a character that looks like it."""
    if sign is None:
        return None
    given = SIGN_WORDS.get(str(sign), str(sign))
    return next((each for each, characters in LOOKALIKES.items() if given in [*characters]), given)


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
        The positive class if there are two; by default the last in sorted order.
    groups : str, optional
        The column that identifies rows that belong together.
    weights : str, optional
        The column with the weight of each row, at least 0.
    split : str, optional
        The column with the part of each row: train, validation or test.
    folds : str, optional
        The column with the fold in which each row is tested.
    time : str, optional
        The column by which rows are ordered.
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


KIND_OF_KEY = {"numeric": NUMERIC, "nominal": NOMINAL, "ordered": ORDERED, "dates": DATE, "text": TEXT}
"""The keys that declare the kind of columns."""
LIST_KEYS = (*KIND_OF_KEY, "units", "keep", "drop")
"""The keys that name columns."""
FEATURE_KEYS = ("numeric", "nominal", "ordered", "text", "keep", "drop")
"""Keys that have no effect on a column with another role; dates and units determine how any column is read."""


@dataclass(frozen=True)
class ColumnRules:
    """Declared kinds, and changes to which columns are features by default.

    Parameters
    ----------
    numeric, nominal, text : sequence of str
        Columns with a declared kind, which the cells must match.
    dates : sequence of str, or mapping of str to str
        Date columns, or column -> format of its dates, such as ``"%d/%m/%Y"``.
    ordered : mapping of str to sequence of str
        Column -> its values in ascending order.
    keep : sequence of str
        Columns to keep as features although they look like identifiers, dates or text.
    drop : sequence of str
        Columns to leave out.
    drop_rows : sequence of str
        Cells, such as ``Total``, whose rows are left out.
    na_values : sequence of str, or mapping of str to sequence of str
        Additional spellings of missing cells in all columns; or column -> the only spellings in that column.
    decimal, thousands : str, optional
        The signs of numbers in text, as in `FileLayout`.
    units : mapping of str to str
        Column -> the unit of its numbers in text, before or behind them, or ``()`` for parentheses around negative
        numbers; the units of other columns are recognised.
    """

    numeric: Sequence[str] = ()
    nominal: Sequence[str] = ()
    ordered: Mapping[str, Sequence[str]] | None = None
    dates: Sequence[str] | Mapping[str, str] | None = None
    text: Sequence[str] = ()
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    drop_rows: Sequence[Any] = ()
    na_values: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None
    decimal: str | None = None
    thousands: str | None = None
    units: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        FileLayout(decimal=self.decimal, thousands=self.thousands)
        for name, values in (self.ordered or {}).items():
            if isinstance(values, str) or len({*map(spell_cell, values)}) < max(len(values), 2):
                raise UserError(
                    f"dataset.ordered gives {name!r} the values {values!r}; it needs a list of two or more different "
                    "values, the lowest first."
                )
        given: dict[str, str] = {}
        for key in (*KIND_OF_KEY, "units", "drop"):
            for name in self.lists[key]:
                if name in given and (given[name], key) != (NUMERIC, "units"):
                    raise UserError(
                        f"dataset.{given[name]} and dataset.{key} both name {name!r}; a column has one kind, so remove "
                        "it from one of them."
                    )
                given[name] = key
        make_missing_rule(self.na_values, "")

    @property
    def lists(self) -> dict[str, Sequence[str]]:
        """The lists of columns, by key."""
        return {key: [str(name) for name in getattr(self, key) or ()] for key in LIST_KEYS}

    @property
    def declared_kinds(self) -> dict[str, str]:
        """The declared kinds: column -> kind."""
        return {name: kind for key, kind in KIND_OF_KEY.items() for name in self.lists[key]}

    def get_ordered_values(self, name: str) -> tuple[str, ...]:
        """Return the declared values of an ordered column, in canonical spelling; empty if there are none."""
        return tuple(map(spell_cell, (self.ordered or {}).get(name, ())))

    def get_date_format(self, name: str) -> str:
        """Return the declared format of a column of dates; empty if there is none."""
        return str(self.dates.get(name, "")) if isinstance(self.dates, Mapping) else ""

    def get_unit(self, name: str) -> str:
        """Return the unit of a column; empty if there is none."""
        return str((self.units or {}).get(name) or "").strip()


def name_roles(columns: Sequence[str], roles: Roles, rules: ColumnRules, *, has_target: bool = True) -> dict[str, str]:
    """Return the columns with a role other than feature, by role.

    Parameters
    ----------
    columns : sequence of str
        The names of all columns of a source.
    roles : Roles
    rules : ColumnRules
    has_target : bool
        Whether a target is named.

    Raises
    ------
    UserError
        A key names a column that the source does not have, or a column has two roles.
    """
    named = roles.named
    if not has_target:
        del named[TARGET]
    elif roles.target == LAST and LAST not in columns:
        named[TARGET] = columns[-1]
    by_column = rules.na_values if isinstance(rules.na_values, Mapping) else ()
    listed = [(key, name) for key, names in rules.lists.items() for name in names]
    for key, name in [*named.items(), *listed, *(("na_values", str(name)) for name in by_column)]:
        if name not in columns:
            raise UserError(f"dataset.{key}={name!r} is not a column of the data. {_suggest_column(name, columns)}")
    roles_of = [*named.items(), *((key, name) for key, name in listed if key in FEATURE_KEYS)]
    for position, (key, name) in enumerate(roles_of[: len(named)]):
        if other := next((each for each, same in roles_of[position + 1 :] if same == name), None):
            raise UserError(
                f"dataset.{key}={name!r} and dataset.{other} name a column twice; each column may have one role only, "
                f"so remove {name} from one of them."
            )
    return named


def _suggest_column(name: str, columns: Sequence[str]) -> str:
    """Return a cure for a name that is not a column."""
    # The command line removes quotation marks and spaces around a suggested name.
    if f"'{name}'" in columns:
        return 'It is in single quotation marks; "dataset.quote=\\"\'\\"" reads names and cells without them.'
    if name in map(str.strip, columns):
        return "It has spaces around it; dataset.strip=true reads names and cells without them."
    return did_you_mean(name, columns)
