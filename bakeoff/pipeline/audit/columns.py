"""The findings of the audit: rows and groups in several parts of a split, and suspicious columns.

A column is suspicious if it reveals the target, numbers the rows, duplicates others, or identifies groups. It reveals
the target by its values or by its missing cells. These are indications rather than proof, because a good measurement
may separate classes without error. Small tables, in which a column may do so by chance, are not examined, and large
tables are sampled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.audit.check import SEVERE, TIP, Check, Finding
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.dataset.table import DATE
from bakeoff.pipeline.text.wording import count_nouns, name_first, quote_text

if TYPE_CHECKING:
    from bakeoff.pipeline.experiment import Experiment
    from bakeoff.pipeline.stages.splitting import Split, Splits


def list_fitted_rows(split: Split) -> np.ndarray:
    """Return the rows of a split on which something is fitted or chosen: training rows, then validation rows."""
    return np.concatenate([split.train, split.validation])


def find_shared_rows(splits: Splits) -> str:
    """Return a sentence on test rows or reserved rows that a fold would use otherwise; empty if there are none."""
    for number, split in enumerate(splits.fitted):
        fitted = list_fitted_rows(split)
        hidden = {"test": (split.test, fitted), "reserved": (split.reserve, np.concatenate([fitted, split.test]))}
        for name, (rows, used) in hidden.items():
            n_shared = int(np.isin(rows, used).sum())
            if n_shared:
                parts = "training or validation rows too" if name == "test" else "rows of a part"
                return f"evaluation: fold {number} would use {n_shared} of its {len(rows)} {name} rows as {parts}."
    return ""


def find_broken_order(experiment: Experiment, splits: Splits) -> str:
    """Return a sentence on a fold that tests rows of the past, or of groups that contradict its rule; empty if none."""
    data = experiment.split_input
    rule = getattr(experiment.splitter, "groups", "")
    for number, split in enumerate(splits.folds if experiment.splitter.keeps_order else ()):
        fitted = list_fitted_rows(split)
        if data.time_codes[fitted].max() >= data.time_codes[split.test].min():
            return f"evaluation: fold {number} would test rows that do not follow all rows that it fits on."
        if rule and data.groups is not None:
            is_seen = np.isin(data.groups[split.test], data.groups[fitted])
            if not (is_seen if rule == "seen" else ~is_seen).all():
                return f"evaluation: fold {number} would test rows of groups that are not {rule}."
    return ""


def find_divided_values(codes: np.ndarray, splits: Splits) -> np.ndarray:
    """Return for each code whether its rows are in several parts of a fold.

    Parameters
    ----------
    codes : ndarray of shape (n,), int
        Codes from 0 to v - 1.
    splits : Splits

    Returns
    -------
    ndarray of shape (v,), bool
    """
    is_divided = np.zeros(codes.max() + 1, dtype=bool)  # (v,)
    for split in splits.folds:
        n_parts = np.zeros(len(is_divided), dtype=np.int8)  # (v,)
        for rows in (split.train, split.validation, split.test):
            is_in_part = np.zeros(len(is_divided), dtype=bool)  # (v,)
            # Assigning by code counts a value once per part, however many of its rows are there.
            is_in_part[codes[rows]] = True
            n_parts += is_in_part
        is_divided |= n_parts > 1
    return is_divided


PLAIN_NAME = re.compile(r"(?!(?:null|true|false|nan|inf)$)[A-Za-z_]\w*(?: \w+)*", re.IGNORECASE)
"""The name of a column that a configuration reads as text without quotation marks."""
UNDEFINED = "scores by class, such as recall and roc_auc, are undefined there, and so is their mean"
UNKNOWN = "such a fold tests the class with a model that cannot predict it"
MIN_MINORITY_ROWS = 10
"""If fewer rows are outside the largest class, a column may separate the classes by chance: one of 50 noise columns
separates 10 of 20 rows with probability 5e-4."""
MAX_ERROR_FRACTION = 0.01
"""A column is suspicious if a rule on it alone makes at most this fraction of the errors of the majority class."""
SEPARATES = "it separates the classes almost without error"
EXPLAINS = "its values are in the order of the target, or explain it"
MIN_REGRESSION_ROWS = 20
MIN_RANK_CORRELATION = 0.999
FILTER_ROWS = 500
MIN_ROUGH_CORRELATION = 0.9
"""Below this rank correlation on about `FILTER_ROWS` rows, a column is far from `MIN_RANK_CORRELATION` on all."""
MIN_EXPLAINED_FRACTION = 0.999
MAX_ERROR_RATIO = 0.05
"""Presence reveals the target if rows of other targets are at most this fraction of the number expected by chance."""
MAX_CHANCE = 1e-5
"""Largest probability that rows unrelated to the target look like this: the probability that a noise column separates
10 of 20 rows."""
MIN_SIDE_ROWS = 10


def find_telling_classes(X: pd.DataFrame, y: np.ndarray) -> list[str]:
    """Return the columns that separate the classes.

    Parameters
    ----------
    X : DataFrame of shape (m, d)
        Numeric and nominal columns.
    y : ndarray of shape (m,)
        Class codes from 0.
    """
    n_minority = len(y) - int(np.bincount(y).max())
    if n_minority < MIN_MINORITY_ROWS:
        return []
    found = []
    for name, column in X.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            separates = _separates_by_value(count_pairs(column.cat.codes, y))
        else:
            # The values are in order, and a missing cell is the last one.
            separates = _count_errors_of_ranges(count_pairs(column, y)) <= MAX_ERROR_FRACTION * n_minority
        if separates:
            found.append(str(name))
    return found


def find_telling_numbers(X: pd.DataFrame, y: np.ndarray) -> list[str]:
    """Return the columns that have the same ranks as y or whose values determine y.

    Parameters
    ----------
    X : DataFrame of shape (m, d)
        Numeric and nominal columns.
    y : ndarray of shape (m,)
    """
    if len(y) < MIN_REGRESSION_ROWS:
        return []
    # Ranks on some of the rows leave only a few columns to be examined individually.
    some = slice(None, None, max(1, len(y) // FILTER_ROWS))
    full = X.select_dtypes("number").dropna(axis=1).iloc[some]
    correlations = full.rank().corrwith(pd.Series(y, index=X.index).iloc[some].rank())
    skipped = set(correlations.index[correlations.abs() < MIN_ROUGH_CORRELATION])
    return [str(name) for name, column in X.items() if name not in skipped and _explains(column, y)]


def find_telling_presence(X: pd.DataFrame, y: np.ndarray, target_name: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each column whose missing cells reveal the target, and a clause with the details.

    On one side, that is, among the rows with a cell or among those without, nearly all rows have the same target, which
    other rows often do not have.

    Parameters
    ----------
    X : DataFrame of shape (n, d)
    y : ndarray of shape (n,)
    target_name : str
    """
    is_missing = X.isna()  # (n, d)
    n_missing = is_missing.sum().to_numpy()  # (d,)
    n_smaller = np.minimum(n_missing, len(y) - n_missing)
    candidates = X.columns[n_smaller >= MIN_SIDE_ROWS]
    if candidates.empty:
        return
    codes, targets = pd.factorize(y)  # (n,), (v,)
    for name in candidates:
        is_filled = ~is_missing[name].to_numpy()  # (n,)
        sides = [_judge_side(codes, is_filled), _judge_side(codes, ~is_filled)]
        ratio, shared, n_agreeing, n_rows = min(sides)
        if ratio <= MAX_ERROR_RATIO:
            having = "that have a value in this column" if sides[0] <= sides[1] else "that lack a value in this column"
            count = f"all {n_rows}" if n_agreeing == n_rows else f"{n_agreeing} of the {n_rows}"
            share = 100 * float((codes == shared).mean())
            yield (
                str(name),
                f"{count} rows {having} have {target_name}={targets[shared]}, compared with {share:.3g} % of all rows",
            )


def _count_errors_of_ranges(counts: np.ndarray) -> float:
    """Return the errors, in counts (v, c), of a rule that predicts one class for each of c ranges of the values.

    Each value is assigned the class of most of its rows; every two changes of this class beyond the necessary c - 1
    count as one error.
    """
    majority = counts.argmax(axis=1)  # (v,)
    n_excess_changes = max(0, int((majority[1:] != majority[:-1]).sum()) - (counts.shape[1] - 1))
    return float(counts.sum() - counts.max(axis=1).sum() + n_excess_changes / 2)


def count_pairs(values: np.ndarray | pd.Series, y: np.ndarray) -> np.ndarray:
    """Return the number of rows of each value, in ascending order, and each class, which all occur; shape (v, c)."""
    codes = np.unique(values, return_inverse=True)[1]  # (n,)
    shape = codes.max() + 1, y.max() + 1
    return np.bincount(codes * shape[1] + y, minlength=math.prod(shape)).reshape(shape)


def _separates_by_value(counts: np.ndarray) -> bool:
    """Return whether, in counts (v, c), the values of a nominal column determine the class of rows that share them."""
    shared = counts[counts.sum(axis=1) > 1]
    n_rows = int(shared.sum())
    # Values that occur once, such as names, determine the class of their own row only.
    if n_rows < counts.sum() / 2:
        return False
    n_minority = n_rows - int(shared.sum(axis=0).max())
    n_errors = n_rows - int(shared.max(axis=1).sum())
    return n_minority >= MIN_MINORITY_ROWS and n_errors <= MAX_ERROR_FRACTION * n_minority


def _explains(column: pd.Series, y: np.ndarray) -> bool:
    is_there = column.notna().to_numpy()
    if is_there.sum() < max(MIN_REGRESSION_ROWS, len(y) / 2):
        return False
    target = pd.Series(y[is_there])
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _explained_fraction(column[is_there].cat.codes.to_numpy(), target) >= MIN_EXPLAINED_FRACTION
    values = pd.Series(column.to_numpy()[is_there])
    if values.nunique() < MIN_REGRESSION_ROWS or target.nunique() < MIN_REGRESSION_ROWS:
        return False
    correlation = values.rank().corr(target.rank())
    return bool(abs(correlation) >= MIN_RANK_CORRELATION)


def _explained_fraction(codes: np.ndarray, y: pd.Series) -> float:
    """Return the fraction of the variance of y that lies between the values of a nominal column (η²)."""
    groups = y.groupby(codes)
    is_repeated = groups.transform("size").to_numpy() > 1
    repeated = y[is_repeated]
    # Values that occur once only explain their own rows.
    if len(repeated) < len(y) / 2 or repeated.nunique() < 2:
        return 0.0
    residuals = repeated - groups.transform("mean")[is_repeated]
    return 1.0 - float((residuals**2).sum() / ((repeated - repeated.mean()) ** 2).sum())


def _judge_side(codes: np.ndarray, is_in_side: np.ndarray) -> tuple[float, int, int, int]:
    """Return how nearly all rows of a side share a target: the ratio of errors to the number expected by chance.

    The ratio is infinite if the agreement may be due to chance. It is followed by the code of the target, the number of
    rows that have it, and the number of rows.
    """
    counts = np.bincount(codes)  # (v,)
    in_side = np.bincount(codes[is_in_side], minlength=len(counts))  # (v,)
    shared = int(in_side.argmax())
    n_rows = int(in_side.sum())
    n_agreeing = int(in_side[shared])
    n_errors = n_rows - n_agreeing
    n_others = len(codes) - int(counts[shared])
    ratio = n_errors * len(codes) / (n_rows * n_others) if n_others else np.inf
    if ratio <= MAX_ERROR_RATIO:
        from scipy.stats import hypergeom  # slow to load, and few columns get here

        if hypergeom.cdf(n_errors, len(codes), n_others, n_rows) <= MAX_CHANCE:
            return ratio, shared, n_agreeing, n_rows
    return np.inf, shared, n_agreeing, n_rows


MAX_SAMPLE_ROWS = 10_000
"""Maximum number of rows on which columns are examined; more rows would not change the result."""
SAMPLE_SEED = 0
IDENTIFIER_NAME = re.compile(
    r"(^|[^a-z])(id|ids|patient|subject|person|participant|customer|client|user|household|session|device)($|[^a-z])"
)
MIN_IDENTIFIERS = 10
"""With fewer distinct values than this, a column is a category rather than an identifier."""
MIN_ROWS_PER_IDENTIFIER = 2
ROW_NUMBERS = "row numbers"
"""The clause for a column that contains each number once."""
MAX_NUMBERS_CHANCE = 1e-6
"""Largest probability that this many measured integers within such a range would all be different."""


Suspicion = tuple[str, tuple[str, ...], str, str]
"""The code of a check; the names of columns; a clause on what is suspicious about them; and one with the remedy."""


def find_columns(dataset: Dataset) -> Iterator[Suspicion]:
    """Yield suspicions about the features; a column that reveals the target is only reported for this reason.

    For classes, a rule that predicts one class for each value, or for each of c ranges of a number, makes almost no
    errors, or the presence of a cell determines the class. For numbers, the column has the same ranks as the target, or
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
        telling, reason = find_telling_classes(X, np.unique(y, return_inverse=True)[1]), SEPARATES
    else:
        telling, reason = find_telling_numbers(X, y), EXPLAINS
    for name in telling:
        remedy = f"if it is known only after the target, leave it out with dataset.drop=[{name}]"
        yield TellingColumn.code, (name,), f"reveals the target on its own ({reason})", remedy
    named = set(telling)
    for name, clause in find_telling_presence(table.drop(columns=telling), dataset.y, dataset.target):
        named.add(name)
        remedy = f"if cells are filled in after the target is known, leave the column out with dataset.drop=[{name}]"
        yield TellingGaps.code, (name,), f"reveals the target through its missing cells: {clause}", remedy
    # A column that numbers all rows is declared by the dataset itself.
    named |= {column.name for column in dataset.columns if ROW_NUMBERS in " ".join(column.suspicions)}
    for name, clause in find_row_numbers(table):
        if name not in named:
            yield RowNumbers.code, (name,), clause, f"if they are, leave the column out with dataset.drop=[{name}]"
    for names_of_group, clause in find_same_columns(X):
        others = ",".join(names_of_group[1:])
        yield SameColumns.code, names_of_group, clause, f"dataset.drop=[{others}] keeps one of them"


def _encode_cells(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table of float64 and categorical columns, with dates as numbers and text as categories."""
    columns = {}
    for name, column in X.items():
        if column.dtype.kind == "M":
            column = column.astype(np.int64).where(column.notna()).astype(np.float64)
        elif isinstance(column.dtype, pd.StringDtype):
            column = column.astype("category")
        columns[name] = column
    return pd.DataFrame(columns, index=X.index)


def find_row_numbers(X: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield the name of each column that seems to number the rows, in any order, with the reason.

    Counted or measured integers repeat: of n integers between a and b, two are equal with a probability of at least 1 -
    exp(-n (n - 1) / (2 (b - a + 1))). If all are different although a repetition is nearly certain, they were assigned
    one by one. The only column of a table is not examined, because it may be the grid on which a function was measured.

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
            clause = f"holds {len(column)} different integers between {limits}, which look like row numbers"
            yield str(name), clause


def _are_given_numbers(values: np.ndarray) -> bool:
    """Return whether the numbers (n,) are integers that are all different, although chance would repeat some."""
    n = len(values)
    if not np.isfinite(values).all():
        return False
    n_possible = float(values.max() - values.min() + 1.0)
    is_dense = math.exp(-n * (n - 1) / (2.0 * n_possible)) <= MAX_NUMBERS_CHANCE
    return is_dense and bool((values == np.floor(values)).all()) and len(np.unique(values)) == n


def find_same_columns(X: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the names of each group of duplicate columns of X (n, d), and a clause that describes their relation.

    Numeric columns are duplicates if their cells are equal, and nominal ones if their values correspond one to one,
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
            yield (
                tuple(names),
                "contain the same values" if kind == "number" else "have values that correspond one to one",
            )


@dataclass(frozen=True)
class Table:
    """A dataset, with the parts of each fold if it is to be evaluated.

    Attributes
    ----------
    dataset : Dataset
    suspicions : sequence of Suspicion
        What `find_columns` finds, which takes long for many columns.
    experiment : Experiment or None
    splits : Splits or None
    """

    dataset: Dataset
    suspicions: Sequence[Suspicion]
    experiment: Experiment | None = None
    splits: Splits | None = None


def write_drop(columns: Sequence[str]) -> str:
    """Return the word that leaves columns out, with quotation marks where a shell or a configuration needs them."""
    names = (name if PLAIN_NAME.fullmatch(name) else quote_text(name) for name in columns)
    return quote(f"dataset.drop=[{','.join(names)}]")


class ColumnCheck(Check):
    """Abstract: shows the suspicions about columns that have its code."""

    key = "columns"

    def find(self, subject: Table) -> Iterator[Finding]:
        """Yield a finding for each suspicious column, or group of equal columns."""
        for code, columns, clause, remedy in subject.suspicions:
            if code == self.code:
                noun = "column" if len(columns) == 1 else "columns"
                names = ", ".join(map(repr, columns))
                dropped = columns[len(columns) > 1 :]
                text = f"dataset={subject.dataset.name}: {noun} {names} {clause}; {remedy}."
                yield self.report(text, write_drop(dropped))


@final
class TellingColumn(ColumnCheck):
    """A column reveals the target by its values.

    Pitfall: a column that was filled in after the target was known gives it away, and the score will not be repeated on
    new rows, where the column is still empty.

    Test: a rule on this column alone makes at most 1 % of the errors of the majority class; for numbers, its ranks
    correlate with the target by at least .999, or its values explain 99.9 % of the variance.

    Cure: leave the column out with dataset.drop, or keep it if it is a good measurement that new rows have too.
    """

    code = "BK01"
    severity = SEVERE


@final
class TellingGaps(ColumnCheck):
    """A column reveals the target by its missing cells.

    Pitfall: cells that are filled in for one outcome alone, such as the number of a lifeboat, give it away.

    Test: among the rows with, or without, a cell, targets differ at most 5 % as often as among all rows, which chance
    brings about with a probability of at most 1e-5 (hypergeometric distribution).

    Cure: leave the column out with dataset.drop.
    """

    code = "BK02"
    severity = SEVERE


@final
class RowNumbers(ColumnCheck):
    """A column numbers the rows.

    Pitfall: in a file that is sorted by the target, the number of a row is the answer; elsewhere, it is noise.

    Test: the cells are whole numbers that are all different, although chance would repeat one of them with a
    probability of at least 1 - 1e-6 (the birthday problem).

    Cure: leave the column out with dataset.drop.
    """

    code = "BK03"


@final
class SameColumns(ColumnCheck):
    """Several columns hold the same information.

    Pitfall: equal columns share their importance, count twice in distances, and make coefficients arbitrary.

    Test: their cells are equal, or correspond one to one.

    Cure: keep one of them with dataset.drop.
    """

    code = "BK04"
    severity = TIP


@final
class DividedGroups(Check):
    """The rows of a group are in several parts of a fold.

    Pitfall: a model that has seen other rows of a patient is tested on that patient, not on a new one.

    Test: the values of dataset.groups, and of columns that are named like an identifier, are counted in the parts.

    Cure: evaluation=group_kfold, after dataset.groups names the column.
    """

    code = "BK05"
    severity = SEVERE
    key = "groups"
    cure = "evaluation=group_kfold"

    def find(self, subject: Table) -> Iterator[Finding]:
        """Yield a finding if the rows of known groups are divided."""
        dataset = subject.dataset
        is_wanted = getattr(getattr(subject.experiment, "splitter", None), "groups", "") == "seen"
        if dataset.groups is None or subject.splits is None or is_wanted:
            return
        codes = np.unique(dataset.groups, return_inverse=True)[1]  # (n,)
        is_divided = find_divided_values(codes, subject.splits)
        n_divided = int(is_divided.sum())
        if n_divided:
            yield self.report(
                f"dataset={dataset.name}: {n_divided} of {len(is_divided)} groups have rows in several parts of a "
                "fold, so that models are tested on groups that they were trained on; use evaluation=group_kfold or "
                "holdout."
            )


@final
class UndeclaredGroups(Check):
    """A column looks like an identifier whose values occur in several parts of a fold.

    Pitfall: as BK05, for groups that nobody has declared.

    Test: the column is named like an identifier, has at least 10 values, and each occurs twice on average; the values
    in several parts of a fold are counted.

    Cure: dataset.groups, if rows with the same value belong together.
    """

    code = "BK06"
    key = "columns"

    def find(self, subject: Table) -> Iterator[Finding]:
        """Yield a finding for each column named like an identifier that has one value in several parts of a fold."""
        if subject.splits is None:
            return
        for name, column in subject.dataset.X.items():
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name)).lower()  # patientId becomes patient_id
            if not IDENTIFIER_NAME.search(words):
                continue
            codes, values = pd.factorize(column, use_na_sentinel=False)
            n_values = len(values)
            # A few values are categories, and values that occur once cannot be in two parts.
            if n_values < MIN_IDENTIFIERS or n_values * MIN_ROWS_PER_IDENTIFIER > len(codes):
                continue
            n_divided = int(find_divided_values(codes, subject.splits).sum())
            if n_divided:
                yield self.report(
                    f"dataset={subject.dataset.name}: column {str(name)!r} looks like an identifier, and {n_divided} "
                    f"of its {n_values} values occur in several parts of a fold; if rows with the same value belong "
                    f"together, set dataset.groups={name}.",
                    f"dataset.groups={name} evaluation=group_kfold",
                )


@final
class CopiedRows(Check):
    """Test rows are copies of rows that the model was fitted on.

    Pitfall: a model can repeat the answer for such a row without having learned anything.

    Test: rows that are equal in all columns and the target are counted. In a small table with rounded values, a copy
    may be another case that happens to be equal.

    Cure: remove duplicates from the source; audit.duplicates=ignore, if they are cases of their own.
    """

    code = "BK07"
    key = "duplicates"
    cure = "audit.duplicates=ignore"

    def find(self, subject: Table) -> Iterator[Finding]:
        """Yield a finding if rows are tested by a model that was fitted on copies of them."""
        codes = subject.dataset.row_codes  # (n,)
        # Most datasets have no equal rows, and then the splits do not need to be examined.
        is_repeated = np.bincount(codes)[codes] > 1  # (n,)
        if subject.splits is None or not is_repeated.any():
            return
        is_copy = np.zeros(len(codes), dtype=bool)  # (n,)
        is_tested = np.zeros(len(codes), dtype=bool)  # (n,)
        for split in subject.splits.folds:
            is_tested[split.test] = True
            candidates = split.test[is_repeated[split.test]]
            has_known_copy = np.isin(codes[candidates], codes[list_fitted_rows(split)])
            is_copy[candidates[has_known_copy]] = True
        n_copies = int(is_copy.sum())
        if n_copies:
            yield self.report(
                f"dataset={subject.dataset.name}: {n_copies} of {is_tested.sum()} test rows are identical, including "
                "the target, to rows of the training or validation part; if they are duplicates, remove them."
            )


@final
class RareClasses(Check):
    """Some folds have no row of a class.

    Pitfall: recall and ROC AUC of the class are undefined there, and so is their mean; or a fold tests a class that its
    model cannot predict.

    Test: the rows of each class are counted in the test and training part of each fold, except where a test part has
    fewer rows than there are classes, as in leave-one-out.

    Cure: fewer folds.
    """

    code = "BK08"
    key = "classes"
    cure = "evaluation.folds=2"

    def find(self, subject: Table) -> Iterator[Finding]:
        """Yield findings on classes that some folds do not test, or test without having trained on them."""
        dataset, splits = subject.dataset, subject.splits
        if splits is None or not dataset.is_classification:
            return
        codes, n_rows = np.unique(dataset.y, return_inverse=True, return_counts=True)[1:]
        tested, fitted = (
            np.array([np.isin(np.arange(len(n_rows)), codes[getattr(split, part)]) for split in splits.folds])
            for part in ("test", "train")
        )  # (folds, c)
        can_test = max(len(split.test) for split in splits.folds) >= len(n_rows)
        absences = (~tested & can_test, "test", UNDEFINED), (tested & ~fitted, "training", UNKNOWN)
        for is_affected, lack, effect in absences:
            found = [
                f"{dataset.classes[code]} ({count_nouns(n_rows[code], 'row')}) in {n_folds} of {len(tested)}"
                for code, n_folds in enumerate(is_affected.sum(axis=0))
                if n_folds
            ]
            if found:
                affected = f"some folds have no {lack} row of a class: {name_first(found)}; {effect}."
                yield self.report(f"dataset={dataset.name}: {affected}")


@final
class UnusedOrder(Check):
    """The rows have dates that the evaluation does not use.

    Pitfall: shuffled folds test the past by models of the future, which knows more than there will be to know.

    Test: the rows of the source are in the order of a column of dates; or the evaluation uses the order of the rows
    although there is a column of dates.

    Cure: dataset.time with evaluation=time_series.
    """

    code = "BK10"
    key = "columns"

    def find(self, subject: Table) -> Iterator[Finding]:
        """Yield a finding about dates that the evaluation ignores although they order, or could order, the rows."""
        dataset = subject.dataset
        if dataset.times is not None:
            return
        keeps_order = subject.experiment is not None and subject.experiment.splitter.keeps_order
        names = [column.name for column in dataset.columns if column.kind == DATE]
        if keeps_order and names:
            yield self.report(
                f"dataset={dataset.name}: the evaluation uses the rows in the order of the source, but column "
                f"{names[0]!r} contains dates; order the rows by this column with dataset.time={names[0]}.",
                f"dataset.time={names[0]}",
            )
        if not keeps_order and dataset.parts is None and dataset.folds is None:
            ordered = [column.name for column in dataset.columns if column.is_row_order][:1]
            yield from (self.report_order(dataset.name, name) for name in ordered)

    def report_order(self, dataset: str, column: str) -> Finding:
        """Return the finding that the rows of a dataset are in the order of the dates in a column."""
        cure = f"dataset.time={column} evaluation=time_series"
        return self.report(
            f"dataset={dataset}: the rows are in the order of the dates in column {column!r}; if later rows are to be "
            f"predicted from earlier ones, add {cure}.",
            cure,
        )


TABLE_CHECKS: tuple[Check, ...] = (
    TellingColumn(),
    TellingGaps(),
    RowNumbers(),
    SameColumns(),
    DividedGroups(),
    UndeclaredGroups(),
    CopiedRows(),
    RareClasses(),
    UnusedOrder(),
)
"""The checks of a table, and of the parts into which an evaluation divides it."""


def find_in_table(dataset: Dataset) -> Iterator[Finding]:
    """Yield the findings about the columns of a dataset and the order of its rows."""
    table = Table(dataset, list(find_columns(dataset)))
    for check in TABLE_CHECKS:
        yield from check.find(table)
