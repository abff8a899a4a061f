"""An inspection as one HTML file that holds everything it needs: a row for each column, and what looks wrong on top."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.inspection.profile import ColumnProfile, Histogram, TableProfile
from bakeoff.pipeline.stages.dataset.table import DROPPED, FEATURE, LEFT_OUT, TARGET
from bakeoff.pipeline.tables.html import render_template
from bakeoff.pipeline.text.numbers import format_count, format_percent, format_score

TEMPLATE = Path(__file__).parent / "page.html"
MAX_SHOWN_VALUES = 8
"""Further values of a nominal column are counted."""
UNUSED_ROLES = (LEFT_OUT, DROPPED)


@dataclass(frozen=True)
class Row:
    """What the page shows of a column.

    Attributes
    ----------
    name, kind, reason : str
    role : str
        Empty for a feature.
    is_unused : bool
        Whether the column is left out or dropped.
    missing : str
        The number of missing cells, and their fraction.
    n_distinct : int
    values : str
        The most frequent values of a nominal column with their rows, and the number of further ones.
    association : str
        From 0.00 to 1.00; empty if it is not known.
    width : float
        Of the bar of the association, in percent.
    histogram : Histogram or None
    """

    name: str
    kind: str
    reason: str
    role: str
    is_unused: bool
    missing: str
    n_distinct: int
    values: str
    association: str
    width: float
    histogram: Histogram | None


def write_page(profile: TableProfile, path: Path) -> None:
    """Write the page of an inspection.

    Parameters
    ----------
    profile : TableProfile
    path : Path
        A file that is replaced if it exists.
    """
    path.write_text(render_page(profile), encoding="utf-8")


def render_page(profile: TableProfile) -> str:
    """Return the page of an inspection; equal inspections give equal pages."""
    rows = [_make_row(column, profile.n_rows) for column in profile.columns]
    values = {
        "profile": profile,
        "rows": rows,
        "kinds": _count_kinds(profile.columns),
        "target": next((row for row in rows if row.role == TARGET), None),
        "has_associations": any(row.association for row in rows),
        "suspicions": [*profile.suspicions, *_list_suspicions(profile.columns)],
    }
    return render_template(TEMPLATE, values)


def _make_row(column_profile: ColumnProfile, n_rows: int) -> Row:
    column = column_profile.column
    association = column_profile.association
    histogram = column_profile.histogram
    return Row(
        name=column.name,
        kind=column.kind,
        reason=column.reason,
        role="" if column.role == FEATURE else column.role,
        is_unused=column.role in UNUSED_ROLES,
        missing=_describe_missing(column.n_missing, n_rows),
        n_distinct=column.n_distinct,
        values=_list_values(column.values, histogram),
        association="" if association is None else format_score(association),
        width=0.0 if association is None else round(100.0 * association, 1),
        histogram=histogram,
    )


def _describe_missing(n_missing: int, n_rows: int) -> str:
    """Return a number of missing cells with its fraction.

    Examples
    --------
    >>> _describe_missing(263, 1309), _describe_missing(0, 1309), _describe_missing(1, 1309)
    ('263 (20 %)', '0', '1 (< 1 %)')
    """
    if n_missing == 0:
        return "0"
    return f"{format_count(n_missing)} ({format_percent(n_missing / n_rows)})"


def _list_values(values: Sequence[str], histogram: Histogram | None) -> str:
    """Return the most frequent values with their numbers of rows, and the number of further values.

    Parameters
    ----------
    values : sequence of str
        Of a nominal column; empty for other kinds, which have no list.
    histogram : Histogram or None

    Examples
    --------
    >>> _list_values(["f", "m"], Histogram(("m", "f"), (40, 25)))
    'm (40), f (25)'
    """
    if not values or histogram is None:
        return ""
    shown = [f"{label} ({count})" for label, count in zip(histogram.labels, histogram.counts, strict=True)]
    n_more = len(values) - min(len(shown), MAX_SHOWN_VALUES)
    further = f" and {n_more} more" if n_more > 0 else ""
    return f"{', '.join(shown[:MAX_SHOWN_VALUES])}{further}"


def _list_suspicions(columns: Sequence[ColumnProfile]) -> list[str]:
    """Return the suspicions of single columns, each of which begins with the name of its column."""
    return [sentence for each in columns for sentence in each.column.suspicions]


def _count_kinds(columns: Sequence[ColumnProfile]) -> str:
    """Return the number of features of each kind in words."""
    features = [each.column for each in columns if each.column.role == FEATURE]
    counts = Counter(column.kind for column in features)
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
