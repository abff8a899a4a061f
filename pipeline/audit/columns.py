"""Columns that reveal the target, number the rows or duplicate others, and identifiers of groups.

These are indications, not proofs: a good measurement may separate classes without error. Small tables, in which a
column may do so by chance, are not examined, and of large tables only a sample is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bakeoff.pipeline.audit.giveaways import find_telling_classes, find_telling_numbers, find_telling_presence
from bakeoff.pipeline.audit.parts import find_divided_values
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.splitting import Splits

MAX_SAMPLE_ROWS = 10_000
"""Rows that columns are examined on; more rows would not change the result."""
SAMPLE_SEED = 0
IDENTIFIER_NAME = re.compile(
    r"(^|[^a-z])(id|ids|patient|subject|person|participant|customer|client|user|household|session|device)($|[^a-z])"
)
MIN_IDENTIFIERS = 10
"""Distinct values, below which a column is a category rather than an identifier."""
MIN_ROWS_PER_IDENTIFIER = 2
ROW_NUMBERS = "row numbers"
"""What a suspicion of a column says that holds each number once."""
MAX_CHANCE = 1e-6
"""Largest probability that so many measured integers of such a range would all be different."""


@dataclass(frozen=True)
class Finding:
    """What is suspect about a column, or about several columns that say the same.

    Attributes
    ----------
    columns : tuple of str
    clause : str
        What the columns do; it continues a sentence that begins with their names.
    remedy : str
        A clause with the key that acts on it.
    """

    columns: tuple[str, ...]
    clause: str
    remedy: str


def find_suspect_columns(dataset: Dataset) -> Iterator[str]:
    """Yield a sentence for each column that gives the target away, numbers the rows, or says the same as another.

    Parameters
    ----------
    dataset : Dataset
    """
    for finding in find_columns(dataset):
        names = ", ".join(map(repr, finding.columns))
        noun = "column" if len(finding.columns) == 1 else "columns"
        yield f"dataset={dataset.name}: {noun} {names} {finding.clause}; {finding.remedy}."


def find_columns(dataset: Dataset) -> Iterator[Finding]:
    """Yield suspicions about the features; a column that reveals the target is only named for this reason.

    For classes: a rule that predicts one class for each value, or for each of c ranges of a number, makes almost no
    errors, or the presence of a cell tells the class. For numbers: the ranks of the column are those of the target, or
    its values explain the target.

    Parameters
    ----------
    dataset : Dataset
    """
    table = _encode_cells(dataset.X)  # (n, d)
    rows = np.arange(len(dataset.y))
    if len(rows) > MAX_SAMPLE_ROWS:
        rows = np.random.default_rng(SAMPLE_SEED).choice(len(rows), MAX_SAMPLE_ROWS, replace=False)
    X = table.iloc[rows]  # (m, d)
    y = dataset.y[rows]  # (m,)
    if dataset.is_classification:
        reasons = find_telling_classes(X, np.unique(y, return_inverse=True)[1])
    else:
        reasons = find_telling_numbers(X, y)
    for name, reason in reasons.items():
        remedy = f"if it is known only after the target, leave it out with dataset.drop=[{name}]"
        yield Finding((name,), f"alone gives the target away ({reason})", remedy)
    named = set(reasons)
    for name, clause in find_telling_presence(table.drop(columns=list(reasons)), dataset.y, dataset.target):
        named.add(name)
        remedy = f"if cells are filled in after the target is known, leave the column out with dataset.drop=[{name}]"
        yield Finding((name,), f"tells the target by where it has cells: {clause}", remedy)
    # The dataset itself names what numbers all its rows.
    named |= {column.name for column in dataset.columns if ROW_NUMBERS in " ".join(column.suspicions)}
    for name, clause in find_row_numbers(table):
        if name not in named:
            yield Finding((name,), clause, f"if they are, leave the column out with dataset.drop=[{name}]")
    for names_of_group, clause in find_same_columns(X):
        others = ",".join(names_of_group[1:])
        yield Finding(names_of_group, clause, f"dataset.drop=[{others}] leaves one of them")


def find_identifiers(dataset: Dataset, splits: Splits) -> Iterator[str]:
    """Yield a sentence for each column that is named like an identifier and has one value in several parts of a fold.

    Parameters
    ----------
    dataset : Dataset
    splits : Splits
    """
    for name, column in dataset.X.items():
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name)).lower()  # patientId is patient_id
        if not IDENTIFIER_NAME.search(words):
            continue
        codes, values = pd.factorize(column, use_na_sentinel=False)
        n_values = len(values)
        # Few values are categories, and values that occur once cannot lie in two parts.
        if n_values < MIN_IDENTIFIERS or n_values * MIN_ROWS_PER_IDENTIFIER > len(codes):
            continue
        n_divided = int(find_divided_values(codes, splits).sum())
        if n_divided:
            yield (
                f"dataset={dataset.name}: column {str(name)!r} looks like an identifier, and {n_divided} of its "
                f"{n_values} values lie in several parts of a fold; if their rows belong together, give "
                f"dataset.groups={name}."
            )


def _encode_cells(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table of float64 and categorical columns: dates as numbers, and text as the values of a category."""
    columns = {}
    for name, column in X.items():
        if column.dtype.kind == "M":
            column = column.astype(np.int64).where(column.notna()).astype(np.float64)
        elif isinstance(column.dtype, pd.StringDtype):
            column = column.astype("category")
        columns[name] = column
    return pd.DataFrame(columns, index=X.index)


def find_row_numbers(X: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield the name of each column that seems to number the rows, in any order, and a clause that says why.

    Integers that are counted or measured repeat: of n integers between a and b, two are equal with a probability of at
    least 1 - exp(-n (n - 1) / (2 (b - a + 1))). If all are different although this is nearly certain, they were given
    out one by one. The only column of a table is not examined: it may be the grid at which a function was measured.

    Parameters
    ----------
    X : DataFrame of shape (n, d)

    References
    ----------
    The birthday problem; Feller (1968), An introduction to probability theory and its applications, section II.3.
    """
    if X.shape[1] < 2:
        return
    for name, column in X.items():
        if column.dtype.kind == "f" and _are_given_numbers(column.to_numpy()):
            limits = f"{column.min():.0f} and {column.max():.0f}"
            clause = f"holds {len(column)} different integers between {limits}, which look like numbers of the rows"
            yield str(name), clause


def _are_given_numbers(values: np.ndarray) -> bool:
    """Return whether the numbers (n,) are integers that are all different, though chance would repeat some."""
    n = len(values)
    if not np.isfinite(values).all():
        return False
    n_possible = float(values.max() - values.min() + 1.0)
    is_dense = math.exp(-n * (n - 1) / (2.0 * n_possible)) <= MAX_CHANCE
    return is_dense and bool((values == np.floor(values)).all()) and len(np.unique(values)) == n


def find_same_columns(X: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the names of each group of columns of X (n, d) that duplicate each other, and a clause that says how.

    Numeric columns duplicate each other if their cells are equal; nominal ones, if their values correspond one to one,
    where a missing cell counts as a value. Columns with a single value are not compared.
    """
    names_of: dict[tuple[str, bytes], list[str]] = {}
    for name, column in X.items():
        kind = "number" if column.dtype.kind == "f" else "value"
        codes = pd.factorize(column, use_na_sentinel=False)[0]
        if codes.max(initial=0) > 0:
            content = column.to_numpy() if kind == "number" else codes
            names_of.setdefault((kind, content.tobytes()), []).append(str(name))
    for (kind, _), names in names_of.items():
        if len(names) > 1:
            yield tuple(names), "hold the same cells" if kind == "number" else "have values that correspond one to one"
