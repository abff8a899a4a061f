"""Column kinds, and the steps for each kind or for single columns, joined into one transformer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_object_dtype, is_string_dtype
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline

from bakeoff.pipeline.errors import UserError, did_you_mean

NUMERIC = "numeric"
NOMINAL = "nominal"
ORDERED = "ordered"
DATE = "date"
TEXT = "text"
KIND_OF_KEY = {"numeric": NUMERIC, "nominal": NOMINAL, "ordered": ORDERED, "dates": DATE, "text": TEXT}
"""Key of the steps for the columns of one kind -> this kind."""


@dataclass(frozen=True)
class KindSelector:
    """Selects the columns of some kinds from a table, for a ColumnTransformer.

    Parameters
    ----------
    kinds : tuple of str
        The kinds to select, from `KIND_OF_KEY`.
    besides : tuple of str
        The names of columns that are never selected.
    """

    kinds: tuple[str, ...]
    besides: tuple[str, ...]

    def __call__(self, X: pd.DataFrame) -> list[Any]:
        """Return the names of the selected columns of X, of shape (n, d), in their order."""
        kinds = list_kinds(X)
        return [name for name, kind in kinds.items() if kind in self.kinds and name not in self.besides]


def list_kinds(X: pd.DataFrame) -> dict[str, str]:
    """Return the kind of each column of a table (n, d), by name."""
    return {str(name): find_kind(dtype) for name, dtype in X.dtypes.items()}


def find_kind(dtype: Any) -> str:
    """Return the kind of the columns of a dtype; Booleans are numbers unless they are categorical.

    Examples
    --------
    >>> [find_kind(pd.Series(cells).dtype) for cells in ([1.5], pd.Categorical(["a"]), pd.to_datetime(["2026-01-31"]))]
    ['numeric', 'nominal', 'date']
    """
    if isinstance(dtype, pd.CategoricalDtype):
        return ORDERED if dtype.ordered else NOMINAL
    if is_datetime64_any_dtype(dtype):
        return DATE
    if is_object_dtype(dtype) or is_string_dtype(dtype):
        return TEXT
    return NUMERIC


@dataclass(frozen=True)
class ChosenPreprocessing:
    """The preprocessing of a run.

    Attributes
    ----------
    transformer : transformer or None
        Unfitted; None if every column stays as it is.
    summary : str
        The effect of ``auto`` on the columns of each kind; empty if the steps were given.
    """

    transformer: BaseEstimator | None
    summary: str


def is_open(preprocessing: Any) -> bool:
    """Whether the steps have yet to be chosen, as with ``AutoPreprocessing``, whose steps are slow to import."""
    return hasattr(preprocessing, "choose")


def choose_preprocessing(preprocessing: Any, learners: Sequence[Any], X: pd.DataFrame) -> ChosenPreprocessing:
    """Return the steps that ``auto`` chooses, or the given transformer.

    Parameters
    ----------
    preprocessing : AutoPreprocessing, transformer or None
    learners : sequence of estimators
        The learner, and the candidates of tuning.
    X : DataFrame of shape (n, d)
    """
    if is_open(preprocessing):
        # The checks reject objects that are not estimators and therefore lack tags.
        is_known = all(isinstance(learner, BaseEstimator) for learner in learners)
        chosen: ChosenPreprocessing = preprocessing.choose(learners, X) if is_known else ChosenPreprocessing(None, "")
        return chosen
    if hasattr(preprocessing, "set_output"):
        # The steps that follow, and the messages about columns, need their names.
        preprocessing.set_output(transform="pandas")
    return ChosenPreprocessing(preprocessing, "")


def make_preprocessing(
    numeric: Sequence[Any] = (),
    nominal: Sequence[Any] = (),
    ordered: Sequence[Any] | None = None,
    dates: Sequence[Any] = (),
    text: Sequence[Any] = (),
    columns: Sequence[Mapping[str, Any]] = (),
    then: Sequence[Any] = (),
) -> BaseEstimator | None:
    """Join the steps for each kind of column into one transformer.

    Parameters
    ----------
    numeric, nominal, ordered, dates, text : sequence of transformers
        Steps applied in order to all columns of the kind; columns of a kind without steps pass through. With
        ``ordered=None``, ordered columns are treated as nominal.
    columns : sequence of mappings
        Mappings with ``names``, a list of columns, and ``steps``, which replace the steps of their kinds for these
        columns.
    then : sequence of transformers
        Steps applied in order to all columns that the steps above return.

    Returns
    -------
    ColumnTransformer, Pipeline or None
        It transforms tables to tables; None if there are no steps.

    Raises
    ------
    UserError
        A step is not a transformer, or a column is named twice.
    """
    steps_of = {"numeric": numeric, "nominal": nominal, "dates": dates, "text": text, "then": then}
    if ordered is not None:
        steps_of["ordered"] = ordered
    for key, steps in steps_of.items():
        _require_transformers(steps, f"preprocessing.{key}")
    named = _read_column_steps(columns)
    besides = tuple(name for names in named for name in names)
    kinds: dict[str, tuple[str, ...]] = {key: (kind,) for key, kind in KIND_OF_KEY.items()}
    if ordered is None:
        kinds["nominal"] = (NOMINAL, ORDERED)
    parts: list[tuple[str, Pipeline, Any]] = [
        (key, make_pipeline(*steps), KindSelector(kinds[key], besides))
        for key, steps in steps_of.items()
        if steps and key in kinds
    ]
    parts += [(", ".join(names), make_pipeline(*steps), list(names)) for names, steps in named.items() if steps]
    return _join_parts(parts, then)


def require_named_columns(preprocessing: BaseEstimator | None, X: pd.DataFrame) -> None:
    """Reject steps for a column that a table (n, d) does not have.

    Raises
    ------
    UserError
    """
    if isinstance(preprocessing, Pipeline):
        preprocessing = preprocessing[0]
    if not isinstance(preprocessing, ColumnTransformer):
        return
    known = [str(name) for name in X.columns]
    for _, _, names in preprocessing.transformers:
        listed = names if isinstance(names, list) else []
        for name in listed:
            if name not in known:
                raise UserError(
                    f"preprocessing.columns names {name!r}, which is not a feature of the dataset. "
                    f"{did_you_mean(str(name), known)}"
                )


def _join_parts(parts: list[tuple[str, Pipeline, Any]], then: Sequence[Any]) -> BaseEstimator | None:
    joined: BaseEstimator | None = None
    if parts:
        joined = ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)
    if then:
        after = make_pipeline(*then)
        joined = after if joined is None else Pipeline([("columns", joined), ("then", after)])
    if joined is None:
        return None
    tabulated: BaseEstimator = joined.set_output(transform="pandas")
    return tabulated


def _read_column_steps(columns: Sequence[Mapping[str, Any]]) -> dict[tuple[str, ...], Sequence[Any]]:
    """Return the steps applied jointly to named columns instead of the steps of their kinds."""
    named: dict[tuple[str, ...], Sequence[Any]] = {}
    taken: set[str] = set()
    for position, node in enumerate(columns):
        key = f"preprocessing.columns[{position}]"
        if not isinstance(node, Mapping) or set(node) != {"names", "steps"}:
            raise UserError(f"{key} must have two keys: names, a list of columns, and steps, a list of transformers.")
        names = [node["names"]] if isinstance(node["names"], str) else [str(name) for name in node["names"]]
        repeated = sorted(taken.intersection(names))
        if repeated:
            raise UserError(
                f"{key}.names: column {repeated[0]!r} already has steps; name it in one entry, with all of its steps."
            )
        taken.update(names)
        _require_transformers(node["steps"], f"{key}.steps")
        named[tuple(names)] = node["steps"]
    return named


def _require_transformers(steps: Any, key: str) -> None:
    if not isinstance(steps, list | tuple):
        raise UserError(f"{key} must be a list of transformers, each with a _target_.")
    for step in steps:
        is_transformer = hasattr(step, "fit") and (hasattr(step, "transform") or hasattr(step, "fit_transform"))
        if not is_transformer:
            raise UserError(
                f"{key} holds {step!r}, which is not a transformer; "
                "give its class, as in {_target_: sklearn.preprocessing.StandardScaler}."
            )
