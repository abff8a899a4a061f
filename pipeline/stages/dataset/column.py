"""A column of a source: its kind, its role, and the facts on which both were decided."""

from __future__ import annotations

from dataclasses import dataclass

NUMERIC = "numeric"
NOMINAL = "nominal"
ORDERED = "ordered"
BOOLEAN = "boolean"
DATE = "date"
TEXT = "text"
IDENTIFIER = "identifier"
CONSTANT = "constant"
KINDS = (NUMERIC, NOMINAL, ORDERED, BOOLEAN, DATE, TEXT, IDENTIFIER, CONSTANT)

FEATURE = "feature"
TARGET = "target"
GROUPS = "groups"
WEIGHTS = "weights"
SPLIT = "split"
FOLDS = "folds"
TIME = "time"
LEFT_OUT = "left out"
"""By the program, because of the kind of the column; ``dataset.keep`` takes it in."""
DROPPED = "dropped"
"""By the user, with ``dataset.drop``."""
ROLES = (FEATURE, TARGET, GROUPS, WEIGHTS, SPLIT, FOLDS, TIME, LEFT_OUT, DROPPED)


@dataclass(frozen=True)
class Column:
    """What a column of a source is taken for, and why.

    Attributes
    ----------
    name : str
    kind : str
        One of `KINDS`.
    reason : str
        Why it is of this kind, such as ``1309 cells are numbers``.
    role : str
        One of `ROLES`.
    n_missing : int
    n_distinct : int
        The number of different values, missing cells aside.
    values : tuple of str
        The values of a nominal, ordered or Boolean column, in order; empty for other kinds.
    date_format : str
        Of a column of dates in text; empty for other kinds and for sources that have dates.
    suspicions : tuple of str
        A sentence each, about what may be wrong with the column.
    """

    name: str
    kind: str
    reason: str
    role: str = FEATURE
    n_missing: int = 0
    n_distinct: int = 0
    values: tuple[str, ...] = ()
    date_format: str = ""
    suspicions: tuple[str, ...] = ()
