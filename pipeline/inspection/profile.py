"""The result of an inspection: everything that the terminal and the page show, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.pipeline.stages.dataset import Column


@dataclass(frozen=True)
class Histogram:
    """How many rows have each value, or a value in each range.

    Attributes
    ----------
    labels : tuple of str
        A value, or a range such as ``20 to 30``, for each bar.
    counts : tuple of int
        Rows of each bar.
    n_other : int
        Rows with values that have no bar, because there are too many.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    n_other: int = 0


@dataclass(frozen=True)
class ColumnProfile:
    """A column, and what its cells show.

    Attributes
    ----------
    column : Column
        Kind, reason, role, missing and distinct values, suspicions of its own.
    histogram : Histogram or None
        None if it would say nothing, as for identifiers and free text.
    association : float or None
        The fraction of the target's variance that the column explains alone, from 0 to 1; None for the target, and if
        no target is named.
    """

    column: Column
    histogram: Histogram | None = None
    association: float | None = None


@dataclass(frozen=True)
class TableProfile:
    """An inspected table.

    Attributes
    ----------
    name, source : str
        Of the dataset.
    n_rows : int
    target : str or None
        The target's column, if one is named.
    task : str or None
        ``classification`` or ``regression``.
    columns : tuple of ColumnProfile
        In the order of the source.
    notes : tuple of str
        How the source was read, and what is left out.
    suspicions : tuple of str
        A sentence each about rows, pairs of columns, and columns and the target.
    """

    name: str
    source: str
    n_rows: int
    target: str | None
    task: str | None
    columns: tuple[ColumnProfile, ...]
    notes: tuple[str, ...]
    suspicions: tuple[str, ...]
