"""What an inspection finds about each column of a table, and how it is shown: on a terminal, on a page, and in YAML.

A column has a histogram of its cells, and an association: how much the column alone reveals about the target, as the
fraction of the target's variance that lies between the values of the column.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from bakeoff.pipeline.audit.columns import count_pairs
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import Column
from bakeoff.pipeline.stages.dataset.table import FEATURE, TARGET
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table, print_table
from bakeoff.pipeline.text.wording import (
    count_nouns,
    cut_text,
    escape,
    escape_text,
    format_count,
    format_percent,
    format_score,
    make_console,
    show_in_line,
)

TEMPLATE = Path(__file__).parent / "page.html"
MAX_PRINTED_VALUES = 3
MAX_VALUE_LETTERS = 16
DATASET_TEMPLATE = Path(__file__).parent / "dataset.yaml.template"
CONFIRMED = re.compile(r"dataset\.(\w+)=(\w+)(?=[\w=. ]* confirms it\)\.$)")
"""A key in a note on a guess."""
FOUND_KEYS = ("target", "task", "numeric", "nominal", "drop", "units")
"""The keys that the findings decide, including what was given for them."""
MAX_BARS = 12
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0, 20.0)
"""Widths of ranges, times a power of ten."""
DAY = "%Y-%m-%d"
MAX_BINS = 10
MIN_ROWS_PER_BIN = 10
MIN_BINS = 2
QUANTILES = {"least": 0.0, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "greatest": 1.0}
MAX_PAIRED_COLUMNS = 20
MAX_PAIRED_ROWS = 2000
MIN_PAIR_ASSOCIATION = 0.1
"""Pairs below this are not listed."""
MAX_PAIRS = 20


@dataclass(frozen=True)
class Histogram:
    """The number of rows with each value, or with a value in each range.

    Attributes
    ----------
    labels : tuple of str
        The value or the range of each bar, such as ``20 to 30``.
    counts : tuple of int
        The number of rows of each bar.
    n_other : int
        The number of rows whose values have no bar, because there are too many values.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    n_other: int = 0


@dataclass(frozen=True)
class ColumnProfile:
    """A column with findings about its cells.

    Attributes
    ----------
    column : Column
        Kind, reason, role, missing and distinct values, and suspicions about the column itself.
    histogram : Histogram or None
        The histogram, or None if it would not be informative, as for identifiers and free text.
    association : float or None
        The fraction of the target's variance that the column alone explains, from 0 to 1; None for the target, and if
        there is no target or it does not vary.
    quantiles : mapping of str to str
        The least, the quartiles and the greatest number or day; empty for other kinds.
    """

    column: Column
    histogram: Histogram | None = None
    association: float | None = None
    quantiles: Mapping[str, str] = field(default_factory=dict)


class Pair(NamedTuple):
    """Two features, with the greater fraction of the variance of one that the other explains."""

    first: str
    second: str
    association: float


@dataclass(frozen=True)
class TableProfile:
    """An inspected table.

    Attributes
    ----------
    name, source : str
        The name and the source of the dataset.
    n_rows : int
    target : str or None
        The target column, if one is given.
    task : str or None
        ``classification`` or ``regression``.
    columns : tuple of ColumnProfile
        The columns in the order of the source.
    notes : tuple of str
        Notes on how the source was read and what is omitted.
    suspicions : tuple of str
        Sentences on suspicious rows, pairs of columns, and relations between columns and the target.
    pairs : tuple of Pair
        The pairs of features that are associated most, the first at most 20 features being compared.
    """

    name: str
    source: str
    n_rows: int
    target: str | None
    task: str | None
    columns: tuple[ColumnProfile, ...]
    notes: tuple[str, ...]
    suspicions: tuple[str, ...]
    pairs: tuple[Pair, ...] = ()


def count_cells(column: pd.Series) -> Histogram | None:
    """Return the histogram of a column, or None if all its cells are missing.

    Numbers have one bar per value if there are at most `MAX_BARS` distinct ones; other numbers and dates are counted in
    ranges. For nominal columns, the most frequent values have bars.

    Parameters
    ----------
    column : Series of shape (n,)
        A column of float64, datetime64[ns] or categories; missing cells are not counted, and infinite ones have no bar.
    """
    present = column.dropna()
    kind = present.dtype.kind
    finite = present[np.isfinite(present)] if kind == "f" else present
    if finite.empty:
        return None
    count = {"M": _count_dates, "f": _count_numbers}.get(kind, _count_values)
    counts = count(finite)
    return Histogram(tuple(map(str, counts.index)), tuple(map(int, counts)), len(present) - int(counts.sum()))


def list_quantiles(column: pd.Series) -> dict[str, str]:
    """Return the least, the quartiles and the greatest of the cells of a column as text.

    Examples
    --------
    >>> list_quantiles(pd.Series([4.0, 1.0, 2.0, None, 9.0, 3.0]))
    {'least': '1', '25 %': '2', 'median': '3', '75 %': '4', 'greatest': '9'}
    """
    present = column.dropna()
    if present.dtype.kind not in "fM" or present.empty:
        return {}
    found = present.quantile(list(QUANTILES.values()), interpolation="nearest")
    notation = ".6g" if present.dtype.kind == "f" else DAY
    return {name: format(value, notation) for name, value in zip(QUANTILES, found, strict=True)}


def find_pairs(X: pd.DataFrame) -> tuple[Pair, ...]:
    """Return the pairs of columns that are associated most, the strongest first.

    Parameters
    ----------
    X : DataFrame of shape (n, d)
        Of more columns than `MAX_PAIRED_COLUMNS`, the first are compared; of more rows than `MAX_PAIRED_ROWS`, some.
    """
    rows = X.iloc[:: -(-len(X) // MAX_PAIRED_ROWS), :MAX_PAIRED_COLUMNS]
    groups = {name: group_rows(rows[name]) for name in rows}
    pairs = [
        Pair(str(one), str(other), measure_pair(rows[one], groups[one], rows[other], groups[other]))
        for one, other in combinations(rows, 2)
    ]
    strong = [pair for pair in pairs if pair.association >= MIN_PAIR_ASSOCIATION]
    return tuple(sorted(strong, key=lambda pair: -pair.association)[:MAX_PAIRS])


def measure_pair(one: pd.Series, groups: np.ndarray, other: pd.Series, other_groups: np.ndarray) -> float:
    """Return the greater association of two columns (n,), each with the groups (n,) of the other."""
    return float(np.fmax(measure_association(one, other_groups), measure_association(other, groups)))


def _count_values(present: pd.Series) -> pd.Series:
    """Return the number of rows with each of the most frequent values; ordered values are in their order."""
    counts = present.value_counts(sort=False)
    counts = counts[counts > 0]
    shown = counts.sort_values(ascending=False, kind="stable").head(MAX_BARS)
    if isinstance(present.dtype, pd.CategoricalDtype) and present.dtype.ordered:
        shown = counts[counts.index.isin(shown.index)]
    return shown


def _count_numbers(present: pd.Series) -> pd.Series:
    """Return the number of rows with each value, or in each range."""
    values, counts = np.unique(present, return_counts=True)
    if len(values) <= MAX_BARS:
        return pd.Series(counts, [f"{value:.10g}" for value in values])
    edges = _choose_edges(values[0], values[-1], are_whole=bool((values == np.round(values)).all()))
    counts, _ = np.histogram(present, edges)
    return pd.Series(counts, _name_ranges([f"{edge:.10g}" for edge in edges]))


def _count_dates(present: pd.Series) -> pd.Series:
    """Return the number of rows on each day, or in each range."""
    days = present.dt.strftime(DAY)
    if days.nunique() <= MAX_BARS:
        return days.value_counts().sort_index()
    edges = pd.date_range(present.min(), present.max(), periods=MAX_BARS + 1)
    counts, _ = np.histogram(present.astype(np.int64), edges.as_unit(present.dt.unit).astype(np.int64))
    return pd.Series(counts, _name_ranges(edges.strftime(DAY)))


def _name_ranges(edges: Iterable[str]) -> list[str]:
    return [f"{low} to {high}" for low, high in pairwise(edges)]


def _choose_edges(low: float, high: float, *, are_whole: bool) -> np.ndarray:
    """Return at most `MAX_BARS` + 1 equidistant round numbers around two numbers; whole ones if requested.

    Examples
    --------
    >>> _choose_edges(3.0, 41.0, are_whole=True).tolist()
    [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0]
    """
    # Both numbers are halved first, because the range itself may overflow.
    width = high / 2.0 - low / 2.0
    magnitude = 10.0 ** np.floor(np.log10(width / MAX_BARS * 2.0))
    for step in (factor * magnitude for factor in STEPS):
        first = np.floor(low / step)
        last = np.ceil(high / step)
        is_possible = not are_whole or step == np.round(step)
        if is_possible and last - first <= MAX_BARS:
            break
    return np.asarray(np.arange(first, last + 1) * step)


def measure_association(column: pd.Series, y: np.ndarray) -> float:
    """Return the fraction of the target's variance that a column alone explains, beyond what is expected by chance.

    The rows are grouped by the values of the column; numbers and dates are grouped into at most `MAX_BINS` ranges of
    equal frequency. Missing cells form a separate group, and so do all values that occur once, such as names, because
    each only explains its own row. For numbers, the result is the correlation ratio η² of the target, adjusted for the
    number of groups (ε²). For classes, the variance is Gini's, and the result is the adjusted τ of Goodman and Kruskal;
    with two classes, this is the square of Cramér's V with a bias correction.

    Parameters
    ----------
    column : Series of shape (n,)
    y : ndarray of shape (n,)
        The target; float64 for numbers, any other type for classes.

    Returns
    -------
    float
        A value between 0 and 1; NaN if the target does not vary.

    References
    ----------
    Kelley (1935), An unbiased correlation ratio measure: ε². Goodman and Kruskal (1954), Measures of association for
    cross classifications, section 9: τ. Light and Margolin (1971), An analysis of variance for categorical data:
    τ as a fraction of variance, and its degrees of freedom. Bergsma (2013), A bias-correction for Cramér's V.
    """
    # The sum of squares of equal numbers may differ from 0 in its last digits.
    if (y == y[0]).all():
        return float("nan")
    groups = _pool_single_rows(group_rows(column))  # (n,)
    total = _sum_squares(np.zeros_like(groups), y)
    n_groups = int(groups.max()) + 1
    degrees = len(y) - n_groups
    if degrees == 0:
        return 0.0
    unexplained = _sum_squares(groups, y) / degrees
    return float(max(0.0, 1.0 - unexplained / (total / (len(y) - 1))))


def _pool_single_rows(groups: np.ndarray) -> np.ndarray:
    """Return groups (n,) in which all groups with a single row, which are not informative, are merged."""
    sizes = np.bincount(groups)
    pooled = np.where(sizes[groups] == 1, len(sizes), groups)
    return np.unique(pooled, return_inverse=True)[1]


def group_rows(column: pd.Series) -> np.ndarray:
    """Return the group of each row, from 0: the value of its cell, or the range of its number or date.

    Parameters
    ----------
    column : Series of shape (n,)

    Returns
    -------
    ndarray of shape (n,), int
        The groups, each of which has at least one row.
    """
    is_ordered = column.dtype.kind in "fiM"
    if is_ordered and column.nunique() > MAX_BINS:
        column = _cut_ranges(column)
    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0])


def _cut_ranges(column: pd.Series) -> pd.Series:
    """Return the range of each number or date; equal cells are not separated, and missing cells are kept."""
    is_there = column.notna()
    n_bins = int(np.clip(is_there.sum() // MIN_ROWS_PER_BIN, MIN_BINS, MAX_BINS))
    ranks = column.rank(method="min")  # 1 for the smallest
    ranges = ((ranks - 1.0) * n_bins / is_there.sum()).apply(np.floor)
    return ranges.where(is_there)


def _sum_squares(groups: np.ndarray, y: np.ndarray) -> float:
    """Return the sum of the squared distances of the targets from their group means.

    For classes, the distance is that of their indicators, so the sum is n times Gini's variance within the groups.
    """
    sizes = np.bincount(groups)  # (g,)
    if y.dtype.kind == "f":
        means = np.bincount(groups, weights=y) / sizes  # (g,)
        return float(((y - means[groups]) ** 2).sum())
    counts = count_pairs(groups, pd.factorize(y)[0])  # (g, c)
    # Half the sum over indicators: one minus the squared fractions of the classes.
    return float((sizes - (counts**2).sum(axis=1) / sizes).sum())


def print_profile(profile: TableProfile) -> None:
    """Print an inspected table to standard output, with a row for each column, followed by suspicions."""
    console = make_console()
    goal = f", {profile.task} of {profile.target}" if profile.target is not None else ""
    size = f"{count_nouns(profile.n_rows, 'row')}, {count_nouns(len(profile.columns), 'column')}{goal}"
    console.print(f"[bold]{escape(profile.name)}[/]: {escape(size)}")
    print_table(tabulate_profile(profile), console)
    if profile.target is None:
        console.print("No target is named: add target=COLUMN for associations with it.")
    for note in profile.notes:
        console.print(f"note: {escape(note)}")
    own = [sentence for each in profile.columns for sentence in each.column.suspicions]
    for sentence in (*own, *profile.suspicions):
        console.print(f"[yellow]suspicion:[/] {escape(sentence)}")


def tabulate_profile(profile: TableProfile) -> Table:
    """Return a row per column with its inferred kind, the reason, its cells, and its association with the target."""
    has_target = profile.target is not None
    columns: Row = ["column", Cell("kind", TEXT), Cell("role", TEXT), "missing", "distinct"]
    columns += [*(["association"] if has_target else []), Cell("cells", TEXT), Cell("why", TEXT)]
    rows = []
    for each in profile.columns:
        column = each.column
        association = "" if each.association is None else format_score(each.association)
        rows.append([
            column.name,
            column.kind,
            "" if column.role == FEATURE else column.role,
            format_count(column.n_missing),
            format_count(column.n_distinct),
            *([association] if has_target else []),
            list_values(each.histogram, MAX_PRINTED_VALUES),
            column.reason,
        ])  # fmt: skip
    return make_table(profile.name, columns, rows)


def list_values(histogram: Histogram | None, n_shown: int) -> str:
    """Return the most frequent values or ranges, with their numbers of rows.

    Examples
    --------
    >>> list_values(Histogram(("female", "male"), (466, 843)), 3)
    'male (843), female (466)'
    """
    if histogram is None:
        return ""
    ranked = sorted(zip(histogram.counts, histogram.labels, strict=True), key=lambda pair: -pair[0])
    shown = [f"{cut_text(label, MAX_VALUE_LETTERS)} ({count})" for count, label in ranked[:n_shown]]
    has_further = histogram.n_other or any(count for count, _ in ranked[n_shown:])
    return ", ".join([*shown, "…"] if has_further else shown)


def render_page(profile: TableProfile) -> str:
    """Return the page of an inspection; equal inspections produce equal pages."""
    columns = [each.column for each in profile.columns]
    kinds = Counter(column.kind for column in columns if column.role == FEATURE)
    values = {
        "profile": profile,
        "kinds": ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()),
        "target": next((each for each in profile.columns if each.column.role == TARGET), None),
        "has_associations": any(each.association is not None for each in profile.columns),
        "n_paired": MAX_PAIRED_COLUMNS,
        "suspicions": [*profile.suspicions, *(sentence for column in columns for sentence in column.suspicions)],
        "describe_missing": _describe_missing,
        "list_values": list_values,
    }
    return render_template(TEMPLATE, values, {"score": format_score})


def _describe_missing(n_missing: int, n_rows: int) -> str:
    """Return the number of missing cells with their fraction.

    Examples
    --------
    >>> _describe_missing(263, 1309), _describe_missing(0, 1309), _describe_missing(1, 1309)
    ('263 (20 %)', '0', '1 (< 1 %)')
    """
    return f"{format_count(n_missing)} ({format_percent(n_missing / n_rows)})" if n_missing else "0"


def write_dataset_file(profile: TableProfile, node: Mapping[str, Any]) -> str:
    """Return a file that selects the same rows and columns, with the reason for each key that was inferred.

    Parameters
    ----------
    profile : TableProfile
    node : mapping
        The configuration of the dataset.

    Raises
    ------
    UserError
        No target is named.
    """
    if profile.target is None:
        raise UserError("to=yaml needs the column to predict; add target=COLUMN.")
    defaults = compose_parts(["dataset=file"], ["dataset"])["dataset"]
    given = {key: value for key, value in node.items() if value != defaults[key] and key not in FOUND_KEYS}
    guesses = [(*found, note.partition(" (")[0]) for note in profile.notes for found in CONFIRMED.findall(note)]
    values = {"profile": profile, "given": given, "guesses": guesses}
    return render_template(DATASET_TEMPLATE, values, {"yaml": _write_value, "line": show_in_line})


def _write_value(value: Any) -> str:
    """Return a value in which OmegaConf finds no reference."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
    return escape_text(text.removesuffix("...\n").strip())
