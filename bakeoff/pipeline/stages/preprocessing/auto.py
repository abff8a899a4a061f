"""``preprocessing=auto``: steps chosen for each learner by its tags and declarations.

Naive Bayes receives all values as they are. Trees receive numbers and missing cells as they are, and a column of 0 and
1 for each nominal value, unless their splits of nominal values are binary. Linear learners, neural networks and support
vector machines receive scaled columns as well. A comparison of learners on the same table therefore does not depend on
a setting that suits only some of them.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pandas as pd
from sklearn.base import TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import get_tags

from bakeoff.pipeline.stages.preprocessing.discretize import AsIntervals
from bakeoff.pipeline.stages.preprocessing.transformers import (
    DATE,
    KIND_OF_KEY,
    NOMINAL,
    NUMERIC,
    ORDERED,
    TEXT,
    AsNominal,
    ChosenPreprocessing,
    DateParts,
    EncodeText,
    GroupRareValues,
    OrderCodes,
    find_kind,
    list_kinds,
    make_preprocessing,
)

HISTOGRAM_MODULE = "sklearn.ensemble._hist_gradient_boosting"
"""The module whose estimators use a separate bin for each value, but do not declare the limit."""
SCALE_FREE_MODULES = ("sklearn.dummy", "sklearn.ensemble", "sklearn.naive_bayes", "sklearn.tree")
"""The scikit-learn modules whose estimators do not depend on units unless they contain an estimator that does."""


@dataclass(frozen=True)
class LearnerInput:
    """The columns that a learner accepts.

    Attributes
    ----------
    takes_nominal : bool
        Whether categorical columns are accepted, and should be left, without encoding.
    takes_missing : bool
        Whether missing cells are accepted.
    is_scale_sensitive : bool
        Whether the units of numeric columns affect the result.
    needs_counts : bool
        Whether negative numbers are rejected.
    needs_codes : bool
        Whether every column must contain the codes 0, 1, 2, … of its values.
    takes_kernel : bool
        Whether the table contains similarities of rows, which must not be changed.
    max_values : int or None
        The largest number of values of a nominal column; None if there is no limit.
    """

    takes_nominal: bool
    takes_missing: bool
    is_scale_sensitive: bool
    needs_counts: bool
    needs_codes: bool
    takes_kernel: bool
    max_values: int | None

    @classmethod
    def find(cls, learners: Sequence[Any]) -> Self:
        """Return the columns that all of several estimators accept, of bakeoff or of another library."""
        tags = [get_tags(learner).input_tags for learner in learners]
        reads_nominal = [reads_nominal_columns(learner) for learner in learners]
        limits = [get_max_nominal_values(learner) for learner in learners if reads_nominal_columns(learner)]
        return cls(
            takes_nominal=all(reads_nominal) and not any(splits_by_value(learner) for learner in learners),
            takes_missing=all(tag.allow_nan for tag in tags),
            is_scale_sensitive=any(is_scale_sensitive(learner) for learner in learners),
            needs_counts=any(tag.positive_only for tag in tags),
            needs_codes=any(tag.categorical and not reads for tag, reads in zip(tags, reads_nominal, strict=True)),
            takes_kernel=any(tag.pairwise for tag in tags),
            max_values=min((limit for limit in limits if limit is not None), default=None),
        )


def reads_nominal_columns(learner: Any) -> bool:
    """Return whether a learner reads categorical columns of a table by itself."""
    return getattr(learner, "categorical_features", None) is not None


def splits_by_value(learner: Any) -> bool:
    """Return whether the nodes of a tree have a branch for each value of a nominal column.

    Branches of many values hold few rows each, so that such trees are less accurate than trees on one-hot columns.
    """
    return learner.get_params().get("nominal_splits") == "multiway"


MIN_BRANCHES = 10
MIN_BRANCH_ROWS = 20
"""A smaller average number of rows in a branch is reported if a split has more than `MIN_BRANCHES` branches."""


def warn_of_small_branches(learner: Any, X: Any) -> None:
    """Warn if multiway splits of the nominal columns of a table (n, d) have many branches with few rows each."""
    if not (isinstance(X, pd.DataFrame) and splits_by_value(learner)):
        return
    min_values = max(MIN_BRANCHES, len(X) / MIN_BRANCH_ROWS)
    nominal = {name: len(dtype.categories) for name, dtype in X.dtypes.items() if find_kind(dtype) == NOMINAL}
    wide = [f"{name} ({count} values)" for name, count in nominal.items() if count > min_values]
    if wide:
        warnings.warn(
            f"A multiway split of {', '.join(wide)} has branches of fewer than {MIN_BRANCH_ROWS} rows on average, "
            "which often lowers scores; try learner.nominal_splits=binary or preprocessing=auto.",
            stacklevel=2,
        )


def get_max_nominal_values(estimator: Any) -> int | None:
    """Return the largest number of values of a nominal column that an estimator accepts; None without a limit.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> get_max_nominal_values(HistGradientBoostingClassifier())
    255
    """
    if not type(estimator).__module__.startswith(HISTOGRAM_MODULE):
        return None
    return int(estimator.get_params(deep=False)["max_bins"])


def is_scale_sensitive(estimator: Any) -> bool:
    """Return whether the columns should be scaled for an estimator; True if the estimator is unknown.

    A learner declares this in ``scale_sensitive``. Learners that sum distances or penalties depend on units; trees only
    compare cells within a column.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> is_scale_sensitive(BaggingClassifier()), is_scale_sensitive(BaggingClassifier(KNeighborsClassifier()))
    (False, True)
    """
    declared: bool | None = getattr(estimator, "scale_sensitive", None)
    if declared is not None:
        return declared
    module = type(estimator).__module__
    if not any(module == home or module.startswith(f"{home}.") for home in SCALE_FREE_MODULES):
        return True
    parameters = estimator.get_params(deep=True).values()
    return any(is_scale_sensitive(part) for part in parameters if hasattr(part, "get_params"))


N_BINS = 5
"""The number of equal-frequency intervals of a numeric column, for learners that need codes."""
AS_THEY_ARE = "as they are"


@dataclass(frozen=True)
class Step:
    """A transformer and a short description of it."""

    words: str
    transformer: Any


@dataclass(frozen=True)
class AutoPreprocessing:
    """Chooses the steps for a learner.

    Parameters
    ----------
    max_values : int
        The largest number of columns that replace a nominal column; the rarest values share one.
    max_terms : int
        The largest number of columns that replace a text column, for the terms that occur in the most rows.
    """

    max_values: int = 100
    max_terms: int = 100
    # The words describe the steps completely. Learners share them, so that rows are prepared once for all.
    _chosen: dict[str, ChosenPreprocessing] = field(default_factory=dict, init=False, repr=False, compare=False)

    def choose(self, learners: Sequence[Any], X: pd.DataFrame) -> ChosenPreprocessing:
        """Choose steps that suit all of several learners, such as the candidates of tuning.

        Parameters
        ----------
        learners : sequence of estimators
        X : DataFrame of shape (n, d)
            The table, of which only the column types, and whether some row is entirely missing, are used.

        Returns
        -------
        ChosenPreprocessing
        """
        needs = LearnerInput.find(learners)
        kinds = set(list_kinds(X).values())
        # A row without any known value has no neighbours, so its cells must be filled for all learners.
        fills = not needs.takes_missing or bool(X.isna().all(axis=1).any())
        most_values = max((len(dtype.categories) for dtype in X.dtypes if hasattr(dtype, "categories")), default=0)
        if needs.max_values is not None and most_values <= needs.max_values:
            needs = replace(needs, max_values=None)
        steps = {} if needs.takes_kernel else self._list_steps(needs, fills)
        used = {kind: steps.get(kind, []) for kind in KIND_OF_KEY.values() if kind in kinds}
        transformers = {key: [step.transformer for step in used.get(kind, [])] for key, kind in KIND_OF_KEY.items()}
        summary = _summarize(used)
        return self._chosen.setdefault(summary, ChosenPreprocessing(make_preprocessing(**transformers), summary))

    def _list_steps(self, needs: LearnerInput, fills: bool) -> dict[str, list[Step]]:
        """Return the steps for each kind of column; `fills` determines whether missing cells are filled."""
        numeric = _list_numeric_steps(needs, fills)
        nominal = self._list_nominal_steps(needs, fills)
        positions = [Step("positions in their order", OrderCodes()), *numeric]
        return {
            NUMERIC: numeric,
            NOMINAL: nominal,
            # A code absent from the training rows would be an error, and an order may declare such values.
            ORDERED: nominal if needs.needs_codes else positions,
            DATE: [Step("parts of the date", DateParts()), *numeric],
            # scikit-learn's English stop words are not used, because they would imply a language.
            TEXT: [
                Step(f"tf-idf of {self.max_terms} terms", EncodeText(TfidfVectorizer(max_features=self.max_terms))),
                *(numeric if needs.needs_codes else []),
            ],
        }

    def _list_nominal_steps(self, needs: LearnerInput, fills: bool) -> list[Step]:
        if needs.needs_codes:
            nan = float("nan")
            codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=nan, encoded_missing_value=nan)
            return [Step("codes", codes), _fill_most_frequent()]
        if not needs.takes_nominal:
            # Missing cells get a separate column, so no value has to be imputed.
            encoder = OneHotEncoder(
                handle_unknown="infrequent_if_exist", max_categories=self.max_values, sparse_output=False
            )
            return [Step("one-hot", encoder)]
        steps = []
        if needs.max_values is not None:
            grouped = GroupRareValues(min_frequency=1, max_values=needs.max_values)
            steps.append(Step(f"the {needs.max_values - 1} most frequent values, the others merged", grouped))
        if fills:
            steps += [_fill_most_frequent(), Step("values", AsNominal())]
        return steps


def _list_numeric_steps(needs: LearnerInput, fills: bool) -> list[Step]:
    if needs.needs_codes:
        bins = KBinsDiscretizer(
            n_bins=N_BINS,
            encode="ordinal",
            strategy="quantile",
            quantile_method="averaged_inverted_cdf",
            subsample=None,
        )
        intervals = Step(f"{N_BINS} intervals of equal frequency", AsIntervals(bins))
        return [intervals, Step("codes", OrderCodes()), _fill_most_frequent()]
    steps = []
    if fills:
        steps.append(Step("median in missing cells", _make_imputer("median")))
    if needs.needs_counts:
        steps.append(Step("scaled from 0 to 1", MinMaxScaler(clip=True)))
    elif needs.is_scale_sensitive:
        steps.append(Step("standardized", StandardScaler()))
    return steps


def _fill_most_frequent() -> Step:
    return Step("most frequent value in missing cells", _make_imputer("most_frequent"))


def _make_imputer(strategy: str) -> TransformerMixin:
    """Return scikit-learn's imputer, whose module many runs do not need."""
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy=strategy, keep_empty_features=True)


def _summarize(used: dict[str, list[Step]]) -> str:
    """Return a description of the steps for the columns of each kind."""
    words = {kind: ", ".join(step.words for step in steps) or AS_THEY_ARE for kind, steps in used.items()}
    if set(words.values()) == {AS_THEY_ARE}:
        return f"all columns {AS_THEY_ARE}"
    return "; ".join(f"{kind}: {done}" for kind, done in words.items())
