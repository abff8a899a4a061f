"""The test rows that another configuration predicts better or worse, and what the worse ones have in common.

A shallow tree separates the rows that became worse from those that did not. A leaf stands out if few of the trees
fitted to permuted labels have a leaf in which such rows are as frequent, so the search over thresholds and columns does
not count as evidence.

References
----------
McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions. Psychometrika 12.
Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics Bulletin 1, 80-83.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from bakeoff.pipeline.model.tree_rules import Branch, describe_path, trace_feature
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.text.wording import equate_p, format_percent

MIN_GROUP_ROWS = 10
MAX_DEPTH = 2
N_PERMUTATIONS = 999
PROBABILITY = "probability_"
ROW_COLUMNS = ("row", "truth", "before", "after")


@dataclass(frozen=True)
class RowGroup:
    """Rows described by conditions on columns, among which more rows became worse than elsewhere.

    Attributes
    ----------
    conditions : str
    n_rows, n_broken : int
        The numbers of rows that could become worse, and of those that did.
    share : float
        The share of all rows of the dataset that meet the conditions.
    p_value : float
        The share of permutations whose tree has a leaf that stands out as much.
    """

    conditions: str
    n_rows: int
    n_broken: int
    share: float
    p_value: float

    def describe(self, verb: str) -> str:
        """Return a sentence; the verb says what happened to the rows."""
        return (
            f"{self.n_broken} of {self.n_rows} rows with {self.conditions} {verb}; "
            f"{format_percent(self.share)} of all rows are such rows ({equate_p(self.p_value)})."
        )


@dataclass(frozen=True)
class ChangedRows:
    """The test rows whose predictions changed for the better or the worse.

    Attributes
    ----------
    table : DataFrame
        The rows whose prediction changed, with the columns ``row``, ``truth``, ``before`` and ``after``.
    mended, broken : DataFrame
        The rows that the second run predicts better and worse than the first, the clearest first.
    n_rows : int
        The number of test rows.
    p_value : float
        McNemar's exact test for classes; Wilcoxon's signed-rank test of absolute errors for numbers.
    is_regression : bool
    groups : list of RowGroup
    """

    table: pd.DataFrame
    mended: pd.DataFrame
    broken: pd.DataFrame
    n_rows: int
    p_value: float
    is_regression: bool
    groups: list[RowGroup]

    @property
    def counts(self) -> str:
        """The numbers of rows that became better and worse, with their test, in a sentence."""
        p = equate_p(self.p_value)
        n_mended, n_broken = len(self.mended), len(self.broken)
        if self.is_regression:
            return (
                f"Of {self.n_rows} test rows, the error of {n_mended} is smaller in the second run and that of "
                f"{n_broken} larger (Wilcoxon's signed-rank test, {p})."
            )
        return (
            f"Of {self.n_rows} test rows, the second run corrects {n_mended} and misses {n_broken} that the first "
            f"predicts correctly (McNemar's exact test, {p})."
        )

    @property
    def common(self) -> list[str]:
        """What the rows that became worse have in common, in sentences."""
        verb = "have a larger error" if self.is_regression else "are no longer predicted correctly"
        return [group.describe(verb) for group in self.groups]


def compare_predictions(before: pd.DataFrame, after: pd.DataFrame, dataset: Dataset, alpha: float) -> ChangedRows:
    """Compare the stored predictions of two runs for the same test rows.

    Parameters
    ----------
    before, after : DataFrame
        The tables ``predictions.csv``. With repeated splits, the first prediction of a row counts.
    dataset : Dataset
        The rows, in whose columns the groups are described.
    alpha : float
        The largest p-value of a group.
    """
    old, new = (table.drop_duplicates("row").set_index("row").sort_index() for table in (before, after))
    rows = pd.DataFrame({"truth": old["truth"], "before": old["predicted"], "after": new["predicted"]}).reset_index()
    judge = _judge_classes if dataset.is_classification else _judge_numbers
    judged = judge(old, new)
    order = np.argsort(-np.abs(judged.gains), kind="stable")
    mended, broken = (rows.iloc[order[judged.signs[order] == sign]].reset_index(drop=True) for sign in (1, -1))
    could_break = judged.could_break
    is_broken = np.less(judged.signs[could_break], 0)
    groups = find_groups(dataset.X.iloc[rows["row"][could_break]], is_broken, dataset.X, alpha)
    return ChangedRows(
        table=rows[rows["before"] != rows["after"]].reset_index(drop=True),
        mended=mended,
        broken=broken,
        n_rows=len(rows),
        p_value=judged.p_value,
        is_regression=not dataset.is_classification,
        groups=groups,
    )


class JudgedRows(NamedTuple):
    """How the predictions of m rows changed.

    Attributes
    ----------
    gains : ndarray of shape (m,)
        How much better a row is predicted: the probability of its class, or its absolute error.
    signs : ndarray of shape (m,)
        1 for a row that became better, -1 for one that became worse, else 0.
    could_break : ndarray of shape (m,)
        Whether the row could become worse.
    p_value : float
    """

    gains: np.ndarray
    signs: np.ndarray
    could_break: np.ndarray
    p_value: float


def _judge_classes(old: pd.DataFrame, new: pd.DataFrame) -> JudgedRows:
    """Return which classes became right or wrong, with McNemar's exact test."""
    was_right, is_right = ((table["predicted"] == table["truth"]).to_numpy() for table in (old, new))  # (m,), (m,)
    signs = is_right.astype(int) - was_right  # (m,)
    n_mended, n_changed = np.count_nonzero(signs > 0), np.count_nonzero(signs)
    p_value = stats.binomtest(n_mended, n_changed).pvalue if n_changed else 1.0
    return JudgedRows(_read_confidence(new) - _read_confidence(old), signs, was_right, float(p_value))


def _judge_numbers(old: pd.DataFrame, new: pd.DataFrame) -> JudgedRows:
    """Return which absolute errors became smaller or larger, with Wilcoxon's signed-rank test."""
    errors = [(table["predicted"] - table["truth"]).abs().to_numpy() for table in (old, new)]
    gains = errors[0] - errors[1]  # (m,)
    p_value = stats.wilcoxon(gains).pvalue if gains.any() else 1.0
    return JudgedRows(gains, np.sign(gains), np.ones(len(gains), dtype=bool), float(p_value))


def _read_confidence(table: pd.DataFrame) -> np.ndarray:
    """Return the predicted probability of the true class, or whether it was predicted: shape (m,)."""
    probabilities = table.filter(regex=f"^{PROBABILITY}")
    classes = probabilities.columns.str.removeprefix(PROBABILITY)
    places = classes.get_indexer(pd.Index(table["truth"]))  # (m,), -1 for a class without a probability
    if (places < 0).any():
        return (table["predicted"] == table["truth"]).to_numpy(dtype=float)
    return probabilities.to_numpy()[np.arange(len(table)), places]


def find_groups(X: pd.DataFrame, is_broken: np.ndarray, all_rows: pd.DataFrame, alpha: float) -> list[RowGroup]:
    """Return the leaves of a shallow tree in which broken rows are more frequent than chance explains.

    Parameters
    ----------
    X : DataFrame of shape (m, d)
        The rows that could break.
    is_broken : ndarray of shape (m,)
    all_rows : DataFrame of shape (n, d)
        All rows of the dataset.
    alpha : float
    """
    features = _encode(all_rows)
    if min(is_broken.sum(), (~is_broken).sum()) < MIN_GROUP_ROWS or features.empty:
        return []
    own = features.loc[X.index].to_numpy()  # (m, q)
    tree, excesses = _fit_tree(own, is_broken)
    rng = np.random.default_rng(0)
    highest = np.array([_fit_tree(own, rng.permutation(is_broken))[1].max() for _ in range(N_PERMUTATIONS)])
    own_leaves, all_leaves = tree.apply(own), tree.apply(features.to_numpy())
    used = {int(i) for i in tree.tree_.feature if i >= 0}
    traced = {i: trace_feature(str(features.columns[i]), features.iloc[:, i], all_rows) for i in used}
    groups = []
    for leaf, path in _iterate_leaves(tree):
        p_value = (1 + np.count_nonzero(highest >= excesses[leaf])) / (1 + N_PERMUTATIONS)
        is_inside = own_leaves == leaf  # (m,)
        if path and p_value <= alpha:
            conditions = " and ".join(describe_path(path, traced))
            counts = int(is_inside.sum()), int(is_broken[is_inside].sum())
            groups.append(RowGroup(conditions, *counts, float((all_leaves == leaf).mean()), p_value))
    return sorted(groups, key=lambda group: -group.n_broken)


def _encode(X: pd.DataFrame) -> pd.DataFrame:
    """Return numbers as the tree compares them, and a column of 0 and 1 for each nominal value with enough rows."""
    numbers = X.select_dtypes(["number", "bool"]).astype(np.float32)
    nominal = X.select_dtypes("category")
    if nominal.empty:
        return numbers
    values = pd.get_dummies(nominal, dtype=np.float32)
    return pd.concat([numbers, values.loc[:, values.sum() >= MIN_GROUP_ROWS]], axis=1)


def _fit_tree(features: np.ndarray, is_broken: np.ndarray) -> tuple[DecisionTreeClassifier, np.ndarray]:
    """Fit a tree; return it with the excess of broken rows in each node, in standard deviations: shape (nodes,)."""
    tree = DecisionTreeClassifier(max_depth=MAX_DEPTH, min_samples_leaf=MIN_GROUP_ROWS, random_state=0)
    tree.fit(features, is_broken)
    sizes = tree.tree_.n_node_samples  # (nodes,)
    share = is_broken.mean()
    is_leaf = tree.tree_.children_left < 0
    excess = (tree.tree_.value[:, 0, 1] - share) / np.sqrt(share * (1 - share) / sizes)
    return tree, np.where(is_leaf, excess, -math.inf)


def _iterate_leaves(
    tree: DecisionTreeClassifier, node: int = 0, path: tuple[Branch, ...] = ()
) -> Iterator[tuple[int, tuple[Branch, ...]]]:
    """Yield each leaf with the branches that lead to it."""
    inner = tree.tree_
    if inner.children_left[node] < 0:
        yield node, path
        return
    feature, is_missing_left = int(inner.feature[node]), bool(inner.missing_go_to_left[node])
    # A number that equals the threshold goes to the left.
    threshold = float(np.nextafter(inner.threshold[node], math.inf))
    for child, is_left in ((inner.children_left[node], True), (inner.children_right[node], False)):
        branch = Branch(feature, is_missing_left == is_left, is_left, threshold)
        yield from _iterate_leaves(tree, child, (*path, branch))
