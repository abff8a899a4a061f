"""``preprocessing=auto``: each learner receives what it takes, by its tags.

Trees and naive Bayes receive nominal values and missing cells as they are; linear learners, neural networks and
support vector machines receive scaled columns, and a column of 0 and 1 for each nominal value. So a comparison of
learners on one table does not depend on a setting that suits only some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from bakeoff.pipeline.stages.preprocessing.as_nominal import AsNominal
from bakeoff.pipeline.stages.preprocessing.choice import ChosenPreprocessing
from bakeoff.pipeline.stages.preprocessing.column_kinds import DATE, KINDS, NOMINAL, NUMERIC, ORDERED, TEXT, list_kinds
from bakeoff.pipeline.stages.preprocessing.date_parts import DateParts
from bakeoff.pipeline.stages.preprocessing.discretize import AsIntervals
from bakeoff.pipeline.stages.preprocessing.join_steps import make_preprocessing
from bakeoff.pipeline.stages.preprocessing.learner_input import LearnerInput
from bakeoff.pipeline.stages.preprocessing.order_codes import OrderCodes
from bakeoff.pipeline.stages.preprocessing.rare_values import GroupRareValues
from bakeoff.pipeline.stages.preprocessing.text_columns import EncodeText

N_BINS = 5
"""Intervals of equal frequency of a numeric column, for a learner that needs codes."""
AS_THEY_ARE = "as they are"


@dataclass(frozen=True)
class Step:
    """A transformer, and what it does in a few words."""

    words: str
    transformer: Any


@dataclass(frozen=True)
class AutoPreprocessing:
    """Chooses the steps for a learner.

    Parameters
    ----------
    max_values : int
        The largest number of columns that replace a nominal column: the rarest values share one.
    max_terms : int
        The largest number of columns that replace a column of text: the terms in most rows.
    """

    max_values: int = 100
    max_terms: int = 100

    def choose(self, learners: Sequence[Any], X: pd.DataFrame) -> ChosenPreprocessing:
        """Choose steps that suit all of several learners, such as the candidates of tuning.

        Parameters
        ----------
        learners : sequence of estimators
        X : DataFrame of shape (n, d)
            Only the types of its columns are read, and whether some row is entirely missing.

        Returns
        -------
        ChosenPreprocessing
        """
        needs = LearnerInput.join([LearnerInput.find(learner) for learner in learners])
        kinds = set(list_kinds(X).values())
        # A row without any cell has no neighbours and no known value, so that its cells must be filled for everyone.
        fills = not needs.takes_missing or bool(X.isna().all(axis=1).any())
        most_values = max((len(dtype.categories) for dtype in X.dtypes if hasattr(dtype, "categories")), default=0)
        if needs.max_values is not None and most_values <= needs.max_values:
            needs = replace(needs, max_values=None)
        steps = {} if needs.takes_kernel else self._list_steps(needs, fills)
        used = {kind: steps.get(kind, []) for kind in KINDS if kind in kinds}
        transformers = {kind: [step.transformer for step in used.get(kind, [])] for kind in KINDS}
        chosen = make_preprocessing(
            numeric=transformers[NUMERIC],
            nominal=transformers[NOMINAL],
            ordered=transformers[ORDERED],
            dates=transformers[DATE],
            text=transformers[TEXT],
        )
        return ChosenPreprocessing(chosen, _summarize(used))

    def _list_steps(self, needs: LearnerInput, fills: bool) -> dict[str, list[Step]]:
        """Return the steps for each kind of column; `fills` says whether missing cells are filled."""
        numeric = _list_numeric_steps(needs, fills)
        nominal = self._list_nominal_steps(needs, fills)
        positions = [Step("positions in their order", OrderCodes()), *numeric]
        return {
            NUMERIC: numeric,
            NOMINAL: nominal,
            # A code that no training row has would be an error, and an order may declare such values.
            ORDERED: nominal if needs.needs_codes else positions,
            DATE: [Step("parts of the date", DateParts()), *numeric],
            TEXT: [self._make_text_step(), *(numeric if needs.needs_codes else [])],
        }

    def _list_nominal_steps(self, needs: LearnerInput, fills: bool) -> list[Step]:
        if needs.needs_codes:
            nan = float("nan")
            codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=nan, encoded_missing_value=nan)
            return [Step("codes", codes), _fill_most_frequent()]
        if not needs.takes_nominal:
            # A missing cell has a column of its own, so that no value has to be invented for it.
            encoder = OneHotEncoder(
                handle_unknown="infrequent_if_exist", max_categories=self.max_values, sparse_output=False
            )
            return [Step("one-hot", encoder)]
        steps = []
        if needs.max_values is not None:
            grouped = GroupRareValues(min_frequency=1, max_values=needs.max_values)
            steps.append(Step(f"the {needs.max_values - 1} most frequent values, the others joined", grouped))
        if fills:
            steps += [_fill_most_frequent(), Step("values", AsNominal())]
        return steps

    def _make_text_step(self) -> Step:
        # In scikit-learn the names of English stop words would be a choice of language.
        vectorizer = TfidfVectorizer(max_features=self.max_terms)
        return Step(f"tf-idf of {self.max_terms} terms", EncodeText(vectorizer))


def _list_numeric_steps(needs: LearnerInput, fills: bool) -> list[Step]:
    if needs.needs_codes:
        return _list_interval_steps()
    steps = []
    if fills:
        imputer = SimpleImputer(strategy="median", keep_empty_features=True)
        steps.append(Step("median in missing cells", imputer))
    if needs.needs_counts:
        steps.append(Step("scaled from 0 to 1", MinMaxScaler(clip=True)))
    elif needs.is_scale_sensitive:
        steps.append(Step("standardized", StandardScaler()))
    return steps


def _list_interval_steps() -> list[Step]:
    """Return the steps that replace a number by the code of its interval."""
    bins = KBinsDiscretizer(
        n_bins=N_BINS, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf", subsample=None
    )
    intervals = Step(f"{N_BINS} intervals of equal frequency", AsIntervals(bins))
    return [intervals, Step("codes", OrderCodes()), _fill_most_frequent()]


def _fill_most_frequent() -> Step:
    imputer = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    return Step("most frequent value in missing cells", imputer)


def _summarize(used: dict[str, list[Step]]) -> str:
    """Say what is done to the columns of each kind."""
    words = {kind: ", ".join(step.words for step in steps) or AS_THEY_ARE for kind, steps in used.items()}
    if set(words.values()) == {AS_THEY_ARE}:
        return f"all columns {AS_THEY_ARE}"
    return "; ".join(f"{kind}: {done}" for kind, done in words.items())
