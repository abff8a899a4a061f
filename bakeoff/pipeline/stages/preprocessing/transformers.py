"""The steps for each kind of column or for single columns, joined into one transformer; steps that scikit-learn lacks.

The latter are for nominal and ordered values, dates, text, and the selection of columns.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_object_dtype, is_string_dtype
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import validate_data

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


class EachColumn(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer that learns from each column of a table, and replaces the cells accordingly.

    Attributes
    ----------
    learned_ : list
        What was learned from each column.
    """

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Learn from the columns of X, of shape (n, d), and a target y of shape (n,)."""
        validate_data(self, X, skip_check_array=True)
        self.learned_ = [self._learn(X[name], y) for name in X.columns]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return a column for each column of X, of shape (m, d)."""
        pairs = zip(self.feature_names_in_, self.learned_, strict=True)
        return pd.DataFrame({name: self._replace(X[name], learned) for name, learned in pairs}, index=X.index)

    def _learn(self, column: pd.Series, y: Any) -> Any:
        """Return what is learned from a column (n,)."""
        raise NotImplementedError

    def _replace(self, column: pd.Series, learned: Any) -> Any:
        """Return the new cells of a column (m,)."""
        raise NotImplementedError


class AsNominal(EachColumn):
    """Make every column categorical, with the values of the training rows; used after imputing nominal columns.

    A value that the training rows lack becomes a missing cell.
    """

    def _learn(self, column: pd.Series, y: Any) -> list[str]:
        return sorted(map(str, column.dropna().unique()))

    def _replace(self, column: pd.Series, learned: list[str]) -> Any:
        cells = column.astype(object)
        return pd.Categorical(cells.where(cells.isin(learned)), categories=learned)


class OrderCodes(EachColumn):
    """Replace each value of an ordered column by its position in the order: 0, 1, 2, ….

    scikit-learn's OrdinalEncoder would number the values of a table in alphabetical order. The order covers all values
    that the column declares, including those absent from the training rows; any other value becomes a missing cell.
    """

    def _learn(self, column: pd.Series, y: Any) -> dict[Any, float]:
        return {value: float(position) for position, value in enumerate(column.cat.categories)}

    def _replace(self, column: pd.Series, learned: dict[Any, float]) -> pd.Series:
        return column.astype(object).map(learned).astype("float64")


class GroupRareValues(EachColumn):
    """Replace the rare values of each nominal column by one value; the columns stay nominal.

    scikit-learn's encoders can also group rare values, but only while encoding them. A value absent from the training
    rows counts as rare, and a missing cell stays missing.

    Parameters
    ----------
    min_frequency : int or float
        Values in fewer training rows are rare; below 1, a fraction of the training rows.
    name : str
        The value that replaces them.
    max_values : int or None
        The largest number of remaining values, including the replacement; None for no limit.
    """

    def __init__(self, min_frequency: float = 10, name: str = "other", max_values: int | None = None) -> None:
        self.min_frequency = min_frequency
        self.name = name
        self.max_values = max_values

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Count the values of each column of X, of shape (n, d)."""
        if not self.min_frequency > 0:
            raise ValueError(f"min_frequency={self.min_frequency} must be a number of rows, or a fraction below 1.")
        return super().fit(X, y)

    def _learn(self, column: pd.Series, y: Any) -> list[str]:
        min_rows = self.min_frequency * len(column) if self.min_frequency < 1 else self.min_frequency
        cells = column.astype(object).value_counts()
        counts = {str(value): count for value, count in cells.items() if count >= min_rows}
        most = None if self.max_values is None or len(counts) <= self.max_values else self.max_values - 1
        return sorted(sorted(counts, key=lambda value: (-counts[value], value))[:most])

    def _replace(self, column: pd.Series, learned: list[str]) -> Any:
        cells = column.astype(object)
        is_rare = cells.notna() & ~cells.isin(learned)
        return pd.Categorical(np.where(is_rare, self.name, cells), categories=sorted({*learned, self.name}))


DAY_SECONDS = 86400.0

PARTS = ("days", "year", "quarter", "month", "week", "day", "day_of_year", "weekday", "hour", "minute")
DEFAULT_PARTS = ("days", "year", "month", "day", "day_of_year", "weekday", "hour")


class DateParts(TransformerMixin, BaseEstimator):
    """Replace each column of dates by numeric columns, named ``<column>_<part>``.

    A part with a single value in all training rows, such as the hour of dates without a time, is left out.

    Parameters
    ----------
    parts : sequence of str
        Any of days (since 1970-01-01, with the time as a fraction), year, quarter, month, week (ISO 8601), day,
        day_of_year, weekday (Monday is 0), hour and minute.

    Attributes
    ----------
    parts_ : list of (str, str)
        The column and the part of each column of the result.
    """

    def __init__(self, parts: Sequence[str] = DEFAULT_PARTS) -> None:
        self.parts = parts

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Find the parts that vary over the rows of X, of shape (n, d)."""
        for part in self.parts:
            if part not in PARTS:
                raise ValueError(f"parts: {part!r} is not a part of a date. {did_you_mean(str(part), PARTS)}")
        validate_data(self, X, skip_check_array=True)
        pairs = [(str(name), part) for name in X.columns for part in self.parts]
        varying = [(name, part) for name, part in pairs if _compute_part(X[name], part).nunique() > 1]
        # A table without any columns would be an error in later steps.
        self.parts_ = varying or pairs[:1]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return a float64 column for each part; NaN where the date is missing."""
        columns = {f"{name}_{part}": _compute_part(X[name], part) for name, part in self.parts_}
        return pd.DataFrame(columns, index=X.index)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result, of shape (k,)."""
        return np.array([f"{name}_{part}" for name, part in self.parts_], dtype=object)


def _compute_part(dates: pd.Series, part: str) -> pd.Series:
    """Return a part of dates (n,) as float64, parsing dates given as text."""
    parsed = pd.to_datetime(dates, format="ISO8601")
    if parsed.dt.tz is not None:
        parsed = parsed.dt.tz_convert("UTC").dt.tz_localize(None)
    if part == "days":
        numbers = (parsed - pd.Timestamp(0).as_unit("s")).dt.total_seconds() / DAY_SECONDS
    else:
        # The day of the week has a different name in pandas.
        name = "day_of_week" if part == "weekday" else part
        numbers = parsed.dt.isocalendar().week if part == "week" else getattr(parsed.dt, name)
    return numbers.astype("float64")


class EncodeText(TransformerMixin, BaseEstimator):
    """Apply a vectorizer to each column of text, and return a dense table.

    scikit-learn's vectorizers take one column of text, reject missing cells, and return sparse matrices.

    Parameters
    ----------
    vectorizer : transformer
        A vectorizer of ``sklearn.feature_extraction.text``.

    Attributes
    ----------
    vectorizers_ : list of transformers
        One for each column, fitted.
    """

    def __init__(self, vectorizer: Any) -> None:
        self.vectorizer = vectorizer

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Fit a vectorizer on each column of X, of shape (n, d)."""
        validate_data(self, X, skip_check_array=True)
        self.vectorizers_ = [self._fit_column(X[name]) for name in X.columns]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that the vectorizers compute; a missing cell is an empty text."""
        tables = []
        for name, vectorizer in zip(self.feature_names_in_, self.vectorizers_, strict=True):
            counts = vectorizer.transform(_fill_cells(X[name])).toarray()  # (n, k)
            names = _name_columns(name, vectorizer, counts.shape[1])
            tables.append(pd.DataFrame(counts, index=X.index, columns=names))
        return pd.concat(tables, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result, of shape (k,)."""
        names: list[str] = []
        for column, vectorizer in zip(self.feature_names_in_, self.vectorizers_, strict=True):
            width = vectorizer.transform([""]).shape[1]
            names += _name_columns(column, vectorizer, width)
        return np.array(names, dtype=object)

    def _fit_column(self, column: pd.Series) -> Any:
        try:
            return clone(self.vectorizer).fit(_fill_cells(column))
        except ValueError as error:
            raise ValueError(f"text column {str(column.name)!r}: {error}; drop it, or use another step.") from error


def _fill_cells(column: pd.Series) -> list[str]:
    """Return the cells of a column (n,) as text."""
    return column.astype(object).where(column.notna(), "").map(str).tolist()


def _name_columns(column: str, vectorizer: Any, width: int) -> list[str]:
    if hasattr(vectorizer, "get_feature_names_out"):
        return [f"{column}_{term}" for term in vectorizer.get_feature_names_out()]
    return [f"{column}_{number}" for number in range(width)]


def make_selection(percentile: float = 50) -> TransformerMixin:
    """Return a step that selects the columns with the largest F statistics of a linear association with the target.

    Parameters
    ----------
    percentile : float
        The percentage of the columns to keep.

    Returns
    -------
    SelectPercentile
        scikit-learn's selector; its score functions are for either classes or numbers, so here the target determines
        which.
    """
    from sklearn.feature_selection import SelectPercentile

    return SelectPercentile(score_func=score_f_test, percentile=percentile)


def score_f_test(X: Any, y: np.ndarray) -> Any:
    """Return the F statistic and the p-value of each column of X (n, d), both of shape (d,)."""
    from sklearn.feature_selection import f_classif, f_regression

    is_numeric = np.asarray(y).dtype.kind == "f"  # classes are text or integers
    with warnings.catch_warnings():
        # scikit-learn warns about columns that are constant within every class, including those that separate the
        # classes.
        warnings.simplefilter("ignore")
        return f_regression(X, y) if is_numeric else f_classif(X, y)
