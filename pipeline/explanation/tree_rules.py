"""The rules of a tree in words: each leaf as conditions on the columns of the dataset, in their own units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.explanation.origins import CODE, INDICATOR, NUMBER, Origin, join_values
from bakeoff.pipeline.explanation.tree_paths import Answer, TreeNodes, read_nodes
from bakeoff.pipeline.text.numbers import format_number, format_percent, format_score, format_threshold
from bakeoff.pipeline.text.words import count_nouns


@dataclass(frozen=True)
class Rule:
    """A leaf: what holds for its rows, and what the tree predicts for them.

    Attributes
    ----------
    conditions : tuple of str
        Empty for a tree without a question.
    prediction : str
        The class of most rows, or their mean.
    n_rows : int
        The training rows in the leaf.
    share : float or None
        The fraction of them that are of this class; None for regression.
    """

    conditions: tuple[str, ...]
    prediction: str
    n_rows: int
    share: float | None = None

    @property
    def outcome(self) -> str:
        """What is predicted, and of how many rows it holds."""
        share = "" if self.share is None else f"{_format_share(self.share)} of "
        return f"{self.prediction} ({share}{count_nouns(self.n_rows, 'row')})"

    @property
    def words(self) -> str:
        """The rule as a sentence."""
        return f"if {' and '.join(self.conditions)} then {self.outcome}" if self.conditions else self.outcome


@dataclass(frozen=True)
class TreeRules:
    """A tree in words.

    Attributes
    ----------
    rules : tuple of Rule
        From left to right.
    depth : int
    target : str
    """

    rules: tuple[Rule, ...]
    depth: int
    target: str


@dataclass(frozen=True)
class ReadTree:
    """A fitted tree, with what its features and numbers mean.

    Attributes
    ----------
    learner : estimator
    nodes : TreeNodes
    origins : sequence of Origin
        Of each feature.
    has_missing : mapping of str to bool
        Whether a column of the dataset has missing cells, of which a rule must say where they go.
    X : DataFrame of shape (m, d)
        Rows of the dataset.
    features : DataFrame or ndarray of shape (m, k)
        The same rows as the learner receives them.
    restore_target : callable
        Turns a mean of the learner into the unit of the target.
    """

    learner: Any
    nodes: TreeNodes
    origins: Sequence[Origin]
    has_missing: Mapping[str, bool]
    X: pd.DataFrame
    features: Any
    restore_target: Callable[[float], float]

    def make_rule(self, node: int) -> Rule:
        """Return the rule of a node."""
        value = self.nodes.value[node]
        n_rows = int(self.nodes.n_rows[node])
        conditions = self.list_conditions(self.nodes.list_answers(node))
        if not hasattr(self.learner, "classes_"):
            return Rule(conditions, format_score(self.restore_target(float(value[0]))), n_rows)
        best = int(np.argmax(value))
        share = float(value[best] / value.sum())
        return Rule(conditions, str(self.learner.classes_[best]), n_rows, share)

    def list_conditions(self, answers: Sequence[Answer]) -> tuple[str, ...]:
        """Return conditions in words, those of one feature joined, in the order in which they are asked first."""
        joined: dict[int, Answer] = {}
        for answer in answers:
            before = joined.get(answer.feature)
            joined[answer.feature] = answer if before is None else _intersect(before, answer)
        described = [self.describe_answer(answer) for answer in _drop_implied(joined, self.origins)]
        return tuple(described)

    def describe_answer(self, answer: Answer) -> str:
        """Return one condition in words."""
        origin = self.origins[answer.feature]
        may_be_missing = self.has_missing.get(origin.column, False) and not origin.filled_by
        missing = " (or missing)" if answer.with_missing and may_be_missing else ""
        if answer.values is not None:
            return f"{origin.name} = {join_values(answer.values) or 'missing'}{missing if answer.values else ''}"
        if origin.meaning == INDICATOR:
            return f"{origin.name} {origin.describe_indicator(answer.low > -np.inf)}"
        if origin.meaning == CODE:
            of_codes = replace(answer, low=origin.restore(answer.low), high=origin.restore(answer.high))
            values = [value for code, value in enumerate(origin.values) if _contains(of_codes, code)]
            return f"{origin.name} = {join_values(values)}{missing}"
        return self._describe_interval(answer, origin, missing)

    def _describe_interval(self, answer: Answer, origin: Origin, missing: str) -> str:
        """Return an interval of numbers in the unit of the column."""
        name = origin.name
        # bakeoff's trees ask whether a cell is there at all by a threshold of infinity.
        if answer.low == np.inf:
            return f"{name} is missing"
        has_low = answer.low > -np.inf
        has_high = answer.high < np.inf
        if not has_low and not has_high:
            return f"{name} is any number{missing}" if missing else f"{name} is not missing"
        # What is equal to an end that does not belong to the interval is below its lower, and above its upper end.
        low = self._describe_end(answer.low, answer, is_below=not answer.low_is_in) if has_low else ""
        high = self._describe_end(answer.high, answer, is_below=answer.high_is_in) if has_high else ""
        if has_low and has_high:
            below = "≤" if answer.low_is_in else "<"
            above = "≤" if answer.high_is_in else "<"
            return f"{low} {below} {name} {above} {high}{missing}"
        if has_low:
            return f"{name} {'≥' if answer.low_is_in else '>'} {low}{missing}"
        return f"{name} {'≤' if answer.high_is_in else '<'} {high}{missing}"

    def _describe_end(self, threshold: float, answer: Answer, *, is_below: bool) -> str:
        """Return a threshold in the unit of the column, which divides the rows as the threshold of the tree does.

        Inverse functions are exact to rounding only, and a function with steps has no exact inverse.
        """
        origin = self.origins[answer.feature]
        number = origin.restore(threshold)
        if origin.name != origin.column or origin.meaning != NUMBER:
            return format_number(number)
        numbers = self._read_feature(answer.feature)  # (m,)
        cells = self.X[origin.column].to_numpy(dtype=np.float64)  # (m,)
        is_there = ~np.isnan(cells)
        goes_below = numbers <= threshold if is_below else numbers < threshold
        below = np.max(cells[is_there & goes_below], initial=-np.inf)
        above = np.min(cells[is_there & ~goes_below], initial=np.inf)
        return format_threshold(number, float(below), float(above), is_below=is_below)

    def _read_feature(self, feature: int) -> np.ndarray:
        """Return the numbers of a feature as the learner compares them, shape (m,)."""
        is_table = isinstance(self.features, pd.DataFrame)
        column = self.features.iloc[:, feature] if is_table else self.features[:, feature]
        return np.asarray(column, dtype=self.nodes.number_type)


def read_tree(
    pipeline: Pipeline, origins: Sequence[Origin], X: pd.DataFrame, restore_target: Callable[[float], float]
) -> ReadTree:
    """Return a fitted tree with the meaning of its features.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted; `is_tree` holds for its learner.
    origins : sequence of Origin
    X : DataFrame of shape (m, d)
        Rows of the dataset, by which it is known which columns have missing cells, and which numbers.
    restore_target : callable
    """
    has_missing = {str(name): bool(X[name].isna().any()) for name in X.columns}
    learner = pipeline[-1]
    features = X if len(pipeline) == 1 else pipeline[:-1].transform(X)
    return ReadTree(learner, read_nodes(learner), origins, has_missing, X, features, restore_target)


def list_rules(tree: ReadTree, target: str) -> TreeRules:
    """Return a rule for each leaf of a tree."""
    leaves = tree.nodes.leaves
    depth = max(len(tree.nodes.list_answers(leaf)) for leaf in leaves)
    return TreeRules(tuple(tree.make_rule(leaf) for leaf in leaves), depth, target)


def _intersect(one: Answer, other: Answer) -> Answer:
    """Return the answer that says both."""
    with_missing = one.with_missing and other.with_missing
    if one.values is not None and other.values is not None:
        kept = tuple(value for value in one.values if value in other.values)
        return replace(one, values=kept, with_missing=with_missing)
    lower = one if (one.low, not one.low_is_in) >= (other.low, not other.low_is_in) else other
    upper = one if (one.high, one.high_is_in) <= (other.high, other.high_is_in) else other
    return Answer(
        one.feature,
        low=lower.low,
        high=upper.high,
        low_is_in=lower.low_is_in,
        high_is_in=upper.high_is_in,
        with_missing=with_missing,
    )


def _drop_implied(joined: Mapping[int, Answer], origins: Sequence[Origin]) -> list[Answer]:
    """Leave out what a column is not, where another condition says what it is."""
    settled = {
        origins[feature].column
        for feature, answer in joined.items()
        if origins[feature].meaning == INDICATOR and answer.low > -np.inf
    }
    return [
        answer
        for feature, answer in joined.items()
        if not (origins[feature].meaning == INDICATOR and answer.low == -np.inf and origins[feature].column in settled)
    ]


def _contains(answer: Answer, number: float) -> bool:
    above = number > answer.low or (answer.low_is_in and number == answer.low)
    below = number < answer.high or (answer.high_is_in and number == answer.high)
    return above and below


def _format_share(share: float) -> str:
    """Return a fraction in percent, and a word for the whole."""
    return "all" if share == 1 else format_percent(share)
