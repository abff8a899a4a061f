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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from bakeoff.pipeline.commands.explain.tree_rules import Branch, describe_path, trace_feature, walk_leaves
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
        What the rows that became worse have in common.
    """

    table: pd.DataFrame
    mended: pd.DataFrame
    broken: pd.DataFrame
    n_rows: int
    p_value: float
    is_regression: bool
    groups: list[RowGroup]

    def describe(self) -> Iterator[str]:
        """Yield sentences on the numbers of rows that became better and worse, and on the groups."""
        n_mended, n_broken, p = len(self.mended), len(self.broken), equate_p(self.p_value)
        if self.is_regression:
            outcome = "have a larger error"
            yield (
                f"Of {self.n_rows} test rows, {n_mended} have a smaller error in the second run and {n_broken} have a "
                f"larger one (Wilcoxon's signed-rank test, {p})."
            )
        else:
            outcome = "are no longer predicted correctly"
            yield (
                f"Of {self.n_rows} test rows, the second run corrects {n_mended} and misses {n_broken} that the first "
                f"predicts correctly (McNemar's exact test, {p})."
            )
        for group in self.groups:
            yield (
                f"{group.n_broken} of {group.n_rows} rows with {group.conditions} {outcome}; "
                f"{format_percent(group.share)} of all rows are such rows ({equate_p(group.p_value)})."
            )


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
    gains, signs, could_break, p_value = judge(old, new)
    order = np.argsort(-np.abs(gains), kind="stable")
    mended, broken = (rows.iloc[order[signs[order] == sign]].reset_index(drop=True) for sign in (1, -1))
    X = dataset.X
    return ChangedRows(
        table=rows[rows["before"] != rows["after"]].reset_index(drop=True),
        mended=mended,
        broken=broken,
        n_rows=len(rows),
        p_value=float(p_value),
        is_regression=not dataset.is_classification,
        groups=find_groups(X.iloc[rows["row"][could_break]], signs[could_break] < 0, X, alpha),
    )


class JudgedRows(NamedTuple):
    """How the predictions of m rows changed.

    Attributes
    ----------
    gains : ndarray of shape (m,)
        How much better a row is predicted: the probability of its class, or its absolute error.
    signs : ndarray of shape (m,)
        1 if the prediction for a row improved, -1 if it became worse, else 0.
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
    n_changed = np.count_nonzero(signs)
    p_value = stats.binomtest(np.count_nonzero(signs > 0), n_changed).pvalue if n_changed else 1.0
    return JudgedRows(_read_confidence(new) - _read_confidence(old), signs, was_right, p_value)


def _judge_numbers(old: pd.DataFrame, new: pd.DataFrame) -> JudgedRows:
    """Return which absolute errors became smaller or larger, with Wilcoxon's signed-rank test."""
    before, after = ((table["predicted"] - table["truth"]).abs().to_numpy() for table in (old, new))  # (m,), (m,)
    gains = before - after  # (m,)
    p_value = stats.wilcoxon(gains).pvalue if gains.any() else 1.0
    return JudgedRows(gains, np.sign(gains), np.ones(len(gains), dtype=bool), p_value)


def _read_confidence(table: pd.DataFrame) -> np.ndarray:
    """Return the predicted probability of the true class, or whether it was predicted: shape (m,)."""
    probabilities = table.filter(regex=f"^{PROBABILITY}")
    classes = probabilities.columns.str.removeprefix(PROBABILITY)
    places = classes.get_indexer(pd.Index(table["truth"]))  # (m,), -1 for a class without a probability
    if (places < 0).any():
        return (table["predicted"] == table["truth"]).to_numpy(dtype=float)
    return probabilities.to_numpy()[np.arange(len(table)), places]


def find_groups(
    X: pd.DataFrame, is_broken: np.ndarray, all_rows: pd.DataFrame, alpha: float, min_rows: int = MIN_GROUP_ROWS
) -> list[RowGroup]:
    """Return the leaves of a shallow tree in which broken rows are more frequent than chance explains.

    Parameters
    ----------
    X : DataFrame of shape (m, d)
        The rows that could break.
    is_broken : ndarray of shape (m,)
    all_rows : DataFrame of shape (n, d)
        All rows of the dataset.
    alpha : float
    min_rows : int
        The smallest number of rows in a leaf.
    """
    features = _encode(all_rows)
    if min(is_broken.sum(), (~is_broken).sum()) < MIN_GROUP_ROWS or features.empty:
        return []
    own = features.loc[X.index].to_numpy()  # (m, q)
    fit_tree = partial(_fit_tree, min_rows)
    tree = fit_tree(own, is_broken)
    p_values = _test_leaves(fit_tree, own, is_broken)
    own_leaves, all_leaves = tree.apply(own), tree.apply(features.to_numpy())  # (m,), (n,)
    used = set(tree.tree_.feature[tree.tree_.feature >= 0].tolist())
    traced = {i: trace_feature(str(features.columns[i]), features.iloc[:, i], all_rows) for i in used}
    groups = []
    for leaf, path in walk_leaves(partial(_list_branches, tree.tree_)):
        if path and p_values[leaf] <= alpha:
            inside = is_broken[own_leaves == leaf]
            conditions = " and ".join(describe_path(path, traced))
            share = float((all_leaves == leaf).mean())
            groups.append(RowGroup(conditions, len(inside), int(inside.sum()), share, float(p_values[leaf])))
    return sorted(groups, key=lambda group: -group.n_broken)


def _encode(X: pd.DataFrame) -> pd.DataFrame:
    """Return numbers as the tree compares them, and a column of 0 and 1 for each nominal value with enough rows."""
    numbers = X.select_dtypes(["number", "bool"]).astype(np.float32)
    nominal = X.select_dtypes("category")
    if nominal.empty:
        return numbers
    values = pd.get_dummies(nominal, dtype=np.float32)
    return pd.concat([numbers, values.loc[:, values.sum() >= MIN_GROUP_ROWS]], axis=1)


def _fit_tree(min_rows: int, features: np.ndarray, is_broken: np.ndarray) -> DecisionTreeClassifier:
    tree = DecisionTreeClassifier(max_depth=MAX_DEPTH, min_samples_leaf=min_rows, random_state=0)
    return tree.fit(features, is_broken)


def _test_leaves(
    fit_tree: Callable[..., DecisionTreeClassifier], features: np.ndarray, is_broken: np.ndarray
) -> np.ndarray:
    """Return how often a tree of permuted labels has a leaf with such an excess, for each node: shape (nodes,)."""
    rng = np.random.default_rng(0)
    trees = (fit_tree(features, rng.permutation(is_broken)) for _ in range(N_PERMUTATIONS))
    highest = np.array([_measure_excess(each, is_broken.mean()).max() for each in trees])  # (N_PERMUTATIONS,)
    excesses = _measure_excess(fit_tree(features, is_broken), is_broken.mean())  # (nodes,)
    return (1 + np.count_nonzero(highest >= excesses[:, np.newaxis], axis=1)) / (1 + N_PERMUTATIONS)


def _measure_excess(tree: DecisionTreeClassifier, share: float) -> np.ndarray:
    """Return the excess of broken rows over their share in each leaf, in standard deviations: shape (nodes,)."""
    inner = tree.tree_
    excess = (inner.value[:, 0, 1] - share) / np.sqrt(share * (1 - share) / inner.n_node_samples)
    return np.where(inner.children_left < 0, excess, -math.inf)


def _list_branches(tree: Any, node: int) -> list[tuple[int, Branch]]:
    """Return the children of a node of scikit-learn's tree, each with the branch to it; a leaf has none."""
    if tree.children_left[node] < 0:
        return []
    feature, is_missing_left = int(tree.feature[node]), bool(tree.missing_go_to_left[node])
    # A number that equals the threshold goes to the left.
    threshold = float(np.nextafter(tree.threshold[node], math.inf))
    sides = (tree.children_left[node], True), (tree.children_right[node], False)
    return [(int(child), Branch(feature, is_missing_left == is_left, is_left, threshold)) for child, is_left in sides]
