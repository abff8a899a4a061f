"""The rules of a tree, with each leaf as conditions on the columns of the dataset in their original units.

A feature belongs to a column if its name is the name of the column, alone or followed by an underscore, as produced by
scalers, encoders and one-hot encoding. The value of the feature for each cell of the column is taken from the rows, so
that thresholds and codes can be translated back. Any other feature keeps the name given by preprocessing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.stages.preprocessing.transformers import NOMINAL, NUMERIC, ORDERED, find_kind
from bakeoff.pipeline.text.wording import count_nouns, format_percent, format_score, format_threshold, join_words

MISSING = "missing"
RELATIVE_NOISE = 1e-12
"""The tolerance within which nearly equal transformed numbers may be out of order."""


@dataclass(frozen=True)
class Feature:
    """The origin of a feature that a learner receives.

    Attributes
    ----------
    label : str
        The name given by preprocessing.
    name : str
        The column to which the `cells` belong, or the feature itself.
    is_scale : bool
        Whether the cells are numbers with which the feature increases; otherwise they are nominal values.
    cells : ndarray of shape (p,)
        The cells that occur, sorted if they are numbers.
    numbers : ndarray of shape (p,)
        The value of the feature at each of these cells.
    at_missing : object
        The feature where the cell is missing; None if no cell is missing.
    """

    label: str
    name: str
    is_scale: bool
    cells: np.ndarray
    numbers: np.ndarray
    at_missing: Any

    @property
    def words(self) -> str:
        """The feature in words, such as ``age`` or ``sex = male``."""
        levels = dict(zip(map(str, self.cells), self.numbers, strict=True))
        if self.at_missing is not None:
            levels[MISSING] = self.at_missing
        if self.is_scale or len(set(levels.values())) != 2:
            return self.label
        highest = max(levels.values())
        return f"{self.name} = {join_words([cell for cell, level in levels.items() if level == highest], 'or')}"


def trace_features(pipeline: Pipeline, X: pd.DataFrame) -> list[Feature]:
    """Return the meaning of each feature of a pipeline's learner in terms of the columns.

    Parameters
    ----------
    pipeline : Pipeline
        A fitted pipeline of preprocessing and a learner.
    X : DataFrame of shape (m, d)
        Rows of the dataset.
    """
    features = X if len(pipeline) == 1 else pipeline[:-1].transform(X)
    if not isinstance(features, pd.DataFrame):
        numbers = features.toarray() if hasattr(features, "toarray") else features
        features = pd.DataFrame(numbers).add_prefix("feature ")
    return [trace_feature(str(label), feature, X) for label, feature in features.items()]


def trace_feature(label: str, feature: pd.Series, X: pd.DataFrame) -> Feature:
    """Describe a feature by the cells of its column if they determine it, otherwise by its own numbers or values.

    Parameters
    ----------
    label : str
        The name of the feature, which begins with the name of its column.
    feature : Series of length m
    X : DataFrame of shape (m, d)
        The rows of which the feature was computed.
    """
    is_number = is_numeric_dtype(feature)
    if is_number:
        feature = feature.astype(np.float64)
    names = [str(name) for name in X.columns if label == str(name) or label.startswith(f"{name}_")]
    for name in sorted(names, key=len, reverse=True):
        found = _match_column(label, name, feature, X[name])
        if found is not None:
            return found
    name = f"{label} after preprocessing" if is_number and label in names else label
    return _pair(label, name, feature, feature, is_scale=is_number)


def _match_column(label: str, name: str, feature: pd.Series, column: pd.Series) -> Feature | None:
    """Describe a feature by the cells of a column; return None unless they determine it, and numbers do not fall."""
    if len(feature[column.isna().to_numpy()].unique()) > 1:
        return None  # missing cells are filled from other columns
    kind = find_kind(column.dtype)
    features = pd.Series(feature.to_numpy(), index=column.astype(object))
    if kind in (NOMINAL, ORDERED) and (features.groupby(level=0).nunique() <= 1).all():
        return _pair(label, name, column, feature, is_scale=False)
    if kind != NUMERIC or label != name or not is_numeric_dtype(feature):
        return None
    found = _pair(label, name, column, feature, is_scale=True)
    growing = np.maximum.accumulate(found.numbers)
    is_growing = (growing - found.numbers <= RELATIVE_NOISE * np.abs(growing).max(initial=0.0)).all()
    return replace(found, numbers=growing) if is_growing else None


def _pair(label: str, name: str, cells: pd.Series, feature: pd.Series, *, is_scale: bool) -> Feature:
    """Return the distinct cells of a column, each with the feature in its first row."""
    is_there = cells.notna().to_numpy()
    at_missing = feature[~is_there].unique()
    cells = cells.astype(np.float64) if is_scale else cells.astype(object)
    firsts = pd.Series(np.flatnonzero(is_there), index=cells[is_there]).groupby(level=0, sort=is_scale).first()
    found = np.asarray(firsts.index, dtype=np.float64 if is_scale else object)
    numbers = feature.iloc[firsts.to_numpy()].to_numpy(dtype=np.float64 if is_numeric_dtype(feature) else object)
    return Feature(label, name, is_scale, found, numbers, at_missing[0] if len(at_missing) == 1 else None)


@dataclass(frozen=True)
class Rule:
    """A leaf, with the conditions on its rows and the tree's prediction for them.

    Attributes
    ----------
    conditions : tuple of str
        The conditions; empty for a tree without splits.
    prediction : str
        The most frequent class, or the mean.
    n_rows : int
        The number of training rows in the leaf.
    share : float or None
        The fraction of them that belong to this class; None for regression.
    """

    conditions: tuple[str, ...]
    prediction: str
    n_rows: int
    share: float | None = None

    @property
    def words(self) -> str:
        """The rule as a sentence."""
        share = "" if self.share is None else f"{'all' if self.share == 1 else format_percent(self.share)} of "
        outcome = f"{self.prediction} ({share}{count_nouns(self.n_rows, 'row')})"
        return f"if {' and '.join(self.conditions)} then {outcome}" if self.conditions else outcome


@dataclass(frozen=True)
class Branch:
    """A branch at a split of a tree: numbers on one side of a threshold, or some values of a nominal feature."""

    feature: int
    takes_missing: bool
    is_below: bool = False
    threshold: float | None = None
    values: tuple[Any, ...] = ()

    def takes(self, cell: Any) -> bool:
        """Return whether a cell of the feature takes this branch."""
        if pd.isna(cell):
            return self.takes_missing
        return cell in self.values if self.threshold is None else bool(cell < self.threshold) == self.is_below


def list_rules(learner: Any, features: Sequence[Feature]) -> list[Rule]:
    """Return a rule for each leaf of one of bakeoff's fitted trees, sorted by decreasing number of rows."""
    tree = learner.fitted_tree_
    rules = []
    for node, path in walk_leaves(partial(_list_branches, learner)):
        conditions = describe_path(path, dict(enumerate(features)))
        value = np.ravel(tree.value[node])
        n_rows = int(tree.n_node_samples[node])
        if hasattr(learner, "classes_"):
            best = int(np.argmax(value))
            rules.append(Rule(conditions, str(learner.classes_[best]), n_rows, float(value[best] / value.sum())))
        else:
            rules.append(Rule(conditions, format_score(float(value[0])), n_rows))
    return sorted(rules, key=lambda rule: -rule.n_rows)


def walk_leaves(
    list_branches: Callable[[int], Sequence[tuple[int, Branch]]],
) -> Iterator[tuple[int, tuple[Branch, ...]]]:
    """Yield each leaf of a tree from left to right, with the branches that lead to it.

    Parameters
    ----------
    list_branches : callable
        Returns the children of a node, each with the branch to it; a leaf has none.
    """
    stack: list[tuple[int, tuple[Branch, ...]]] = [(0, ())]
    while stack:
        node, path = stack.pop()
        branches = list_branches(node)
        if not branches:
            yield node, path
        stack.extend((child, (*path, branch)) for child, branch in reversed(branches))


def _list_branches(learner: Any, node: int) -> list[tuple[int, Branch]]:
    """Return the children of a node, each with the branch to it; a leaf has none."""
    tree = learner.fitted_tree_
    feature = int(tree.feature[node])
    children = tree.children(node)
    start = int(tree.route_start[node])
    if start < 0:
        threshold = float(tree.threshold[node])
        missing_branch = int(tree.missing_branch[node])
        return [
            (child, Branch(feature, missing_branch == number, number == 0, threshold))
            for number, child in enumerate(children)
        ]
    n_values = int(tree.n_values[feature])
    route = tree.route[start : start + n_values + 1]  # (values + 1,), the missing cell last
    categories = learner.categories_[feature]
    values = np.arange(n_values) if categories is None else np.asarray(categories, dtype=object)
    return [
        (child, Branch(feature, bool(route[-1] == number), values=tuple(values[route[:-1] == number])))
        for number, child in enumerate(children)
    ]


def describe_path(path: Sequence[Branch], features: Mapping[int, Feature]) -> tuple[str, ...]:
    """Return the conditions of a path in words, joined by column, in the order in which the columns are first used.

    Parameters
    ----------
    path : sequence of Branch
    features : mapping of int to Feature
        The meaning of each feature that the branches ask for.
    """
    of_name: dict[str, list[tuple[Feature, Branch]]] = {}
    for branch in path:
        feature = features[branch.feature]
        of_name.setdefault(feature.name, []).append((feature, branch))
    conditions = [
        _describe_interval(asked) if asked[0][0].is_scale else _describe_values(asked) for asked in of_name.values()
    ]
    return tuple(condition for condition in conditions if condition)


def _describe_values(asked: Sequence[tuple[Feature, Branch]]) -> str:
    """Return which values satisfy all conditions on a column: the values or the excluded ones, whichever is shorter."""
    first = asked[0][0]
    taken = {
        str(cell): all(branch.takes(each.numbers[position]) for each, branch in asked)
        for position, cell in enumerate(first.cells)
    }
    if first.at_missing is not None:
        taken[MISSING] = all(branch.takes(each.at_missing) for each, branch in asked)
    inside = [name for name, is_taken in taken.items() if is_taken]
    outside = [name for name, is_taken in taken.items() if not is_taken]
    if not outside:
        return ""
    is_short = 0 < len(inside) <= len(outside)
    return f"{first.name} {'=' if is_short else '≠'} {join_words(inside if is_short else outside, 'or')}"


def _describe_interval(asked: Sequence[tuple[Feature, Branch]]) -> str:
    """Return the numbers of a column that satisfy all conditions on it, and whether missing cells do."""
    feature = asked[0][0]
    name = feature.name
    has_missing = feature.at_missing is not None
    takes_missing = has_missing and all(branch.takes(feature.at_missing) for _, branch in asked)
    bounds = {True: [(np.inf, "")], False: [(-np.inf, "")]}
    for _, branch in asked:
        assert branch.threshold is not None
        if np.isfinite(branch.threshold):
            bounds[branch.is_below].append(_locate_threshold(feature, branch.threshold))
        # A threshold of infinity separates missing cells from all others.
        elif not branch.takes(feature.numbers[0]):
            return f"{name} is missing"
    upper, lower = min(bounds[True])[1], max(bounds[False])[1]
    if not upper and not lower:
        return f"{name} is not missing" if has_missing and not takes_missing else ""
    missing = " (or missing)" if takes_missing else ""
    if lower and upper:
        return f"{lower} ≤ {name} < {upper}{missing}"
    return f"{name} < {upper}{missing}" if upper else f"{name} ≥ {lower}{missing}"


def _locate_threshold(feature: Feature, threshold: float) -> tuple[float, str]:
    """Return a threshold in the unit of the column that divides its cells as the threshold of the tree does."""
    n_below = int(np.searchsorted(feature.numbers, threshold))
    number = float(np.interp(threshold, feature.numbers, feature.cells))
    below = float(feature.cells[n_below - 1]) if n_below > 0 else -np.inf
    above = float(feature.cells[n_below]) if n_below < len(feature.cells) else np.inf
    return number, format_threshold(number, below, above)
