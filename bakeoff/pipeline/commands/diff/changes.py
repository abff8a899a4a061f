"""The changes between two configurations, and the hybrids that take some keys from one and some from the other.

The test rows that another configuration predicts better or worse, and what the worse ones have in common.

A shallow tree separates the rows that became worse from those that did not. A leaf stands out if few of the trees
fitted to permuted labels have a leaf in which such rows are as frequent, so the search over thresholds and columns does
not count as evidence.

References
----------
McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions. Psychometrika 12.
Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics Bulletin 1, 80-83.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from bakeoff.pipeline.model.tree_rules import Branch, describe_path, trace_feature
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.text.wording import equate_p, format_percent

KeyPath = tuple[str, ...]
"""The keys that lead to a value of a settled configuration."""

DATA = "dataset"
LEARNER = "learner"
EVALUATION = "evaluation"
MIXED_PARTS = (
    DATA, "preprocessing", LEARNER, "tuning", "pruning", "balance", "target", "calibration", "threshold",
)  # fmt: skip
"""The parts that hybrids take from either configuration."""
MIXED_KEYS = ((EVALUATION, "validation"),)
"""Keys of other parts that leave the test rows of each fold as they are."""
COLUMNS_KEY = "drop"
"""The key of a dataset with the columns to leave out."""
NOT_SET = "not set"
NONE = "none"
TARGET_KEY = "_target_"


@dataclass(frozen=True)
class Variant:
    """A settled configuration, with the words from which it was composed.

    Attributes
    ----------
    spec : mapping
        The settled configuration.
    choices : mapping of str to str
        The chosen option of each group.
    overrides : tuple of str
    """

    spec: Mapping[str, Any]
    choices: Mapping[str, str]
    overrides: tuple[str, ...] = ()

    def describe_option(self, part: str) -> str:
        """Return the chosen option of a part with the keys that were given, such as ``knn n_neighbors=9``."""
        prefix = f"{part}."
        given = [word.lstrip("+") for word in self.overrides]
        keys = [word.removeprefix(prefix) for word in given if word.startswith(prefix)]
        return " ".join([self.choices.get(part, NONE), *keys])

    def find_words(self, key: str) -> list[str]:
        """Return the overrides that set a key, or a key below it."""
        return [word for word in self.overrides if _is_about(word, key)]

    def drop_words(self, key: str) -> list[str]:
        """Return the other overrides."""
        return [word for word in self.overrides if not _is_about(word, key)]


@dataclass(frozen=True)
class Change:
    """A difference between two configurations that a hybrid may contain or not.

    Attributes
    ----------
    key : str
        An option or a key, such as ``learner`` or ``learner.C``; several that belong together are separated by commas.
    before, after : str
    paths : tuple of KeyPath
        The places that change.
    columns : tuple of str
        The columns that are left out of the dataset.
    """

    key: str
    before: str
    after: str
    paths: tuple[KeyPath, ...] = ()
    columns: tuple[str, ...] = ()


def find_changes(a: Variant, b: Variant) -> list[Change]:
    """Return the changes from one configuration to another, in the order in which the parts are used.

    Another option is one change together with its keys; otherwise each key is a change.
    """
    found = [change for part in MIXED_PARTS for change in _find_part_changes(part, a, b)]
    others = [path for path in MIXED_KEYS if _look_up(a.spec, path) != _look_up(b.spec, path)]
    return [*found, *(_describe_change(path, a, b) for path in others)]


def _find_part_changes(part: str, a: Variant, b: Variant) -> Iterator[Change]:
    before, after = a.spec[part], b.spec[part]
    if before == after:
        return
    has_other_option = part != DATA and a.choices.get(part) != b.choices.get(part)
    if has_other_option or before.get(TARGET_KEY) != after.get(TARGET_KEY):
        yield Change(part, a.describe_option(part), b.describe_option(part), ((part,),))
        return
    for path in _find_paths(before, after, (part,)):
        yield _describe_change(path, a, b)


def _find_paths(before: Any, after: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Yield the keys whose values differ; mappings are compared key by key, and a list is one value."""
    if before == after:
        return
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        yield path
        return
    for key in {**before, **after}:
        yield from _find_paths(before.get(key, NOT_SET), after.get(key, NOT_SET), (*path, key))


def _describe_change(path: KeyPath, a: Variant, b: Variant) -> Change:
    before, after = (_write_value(_look_up(variant.spec, path)) for variant in (a, b))
    return Change(".".join(path), before, after, (path,))


def _look_up(spec: Mapping[str, Any], path: KeyPath) -> Any:
    try:
        return reduce(getitem, path, spec)
    except (KeyError, TypeError):
        return NOT_SET


def _write_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


@dataclass(frozen=True)
class Mixture:
    """Two configurations, and the changes that hybrids of them may contain.

    Attributes
    ----------
    start, end : Variant
    changes : sequence of Change
    """

    start: Variant
    end: Variant
    changes: Sequence[Change]

    def make_hybrid(self, chosen: Iterable[int]) -> Variant:
        """Return the first configuration with the changes of some numbers."""
        return mix_variants(self.start, self.end, [self.changes[i] for i in sorted(chosen)])


def mix_variants(a: Variant, b: Variant, changes: Sequence[Change]) -> Variant:
    """Return the first configuration with some of the changes that lead to the second."""
    mixed = Variant(deepcopy(dict(a.spec)), dict(a.choices), a.overrides)
    for path in [path for change in changes for path in change.paths]:
        mixed = _replace_key(mixed, b, path)
    columns = [name for change in changes for name in change.columns]
    return _drop_columns(mixed, columns) if columns else mixed


def _replace_key(variant: Variant, other: Variant, path: KeyPath) -> Variant:
    """Return a configuration with the value, or the absence, of a key in another one."""
    *parents, last = path
    key = ".".join(path)
    value = _look_up(other.spec, path)
    node: Any = variant.spec
    for parent in parents:
        node = node[parent]
    was_set = node.pop(last, NOT_SET) is not NOT_SET
    if value is not NOT_SET:
        node[last] = deepcopy(value)
    if not parents:
        choices = {**variant.choices, last: other.choices.get(last, NONE)}
        return Variant(variant.spec, choices, (*variant.drop_words(last), *other.find_words(last)))
    word = f"~{key}" if value is NOT_SET else f"{'' if was_set else '+'}{key}={override_text(value)}"
    # A key that a word has added is absent without that word.
    is_added = any(each.startswith("+") for each in variant.find_words(key))
    words = [] if is_added and value is NOT_SET else [word]
    return replace(variant, overrides=(*variant.drop_words(key), *words))


def _drop_columns(variant: Variant, columns: Sequence[str]) -> Variant:
    """Return a configuration that leaves out some columns of its dataset."""
    dataset = {key: _leave_out(value, columns) for key, value in variant.spec[DATA].items()}
    dataset[COLUMNS_KEY] = [*variant.spec[DATA][COLUMNS_KEY], *columns]
    key = f"{DATA}.{COLUMNS_KEY}"
    word = f"{key}={override_text(dataset[COLUMNS_KEY])}"
    return replace(variant, spec={**variant.spec, DATA: dataset}, overrides=(*variant.drop_words(key), word))


def _leave_out(value: Any, columns: Sequence[str]) -> Any:
    """Return the value of a key of a dataset without the names of some columns."""
    if isinstance(value, list):
        return [name for name in value if name not in columns]
    return {name: each for name, each in value.items() if name not in columns} if isinstance(value, dict) else value


def _is_about(word: str, key: str) -> bool:
    """Return whether an override sets a key, or a key below it."""
    given = re.split("[=@]", word.lstrip("+~"))[0]
    return given == key or given.startswith(f"{key}.")


def join_changes(changes: Sequence[Change], keys: set[str]) -> list[Change]:
    """Return the changes, of which those with some keys are joined into one."""
    joined = [change for change in changes if change.key in keys]
    first = joined[0]
    whole = Change(
        key=", ".join(change.key for change in joined),
        before=", ".join(change.before for change in joined),
        after=", ".join(change.after for change in joined),
        paths=tuple(path for change in joined for path in change.paths),
    )
    return [whole if change is first else change for change in changes if change is first or change not in joined]


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
