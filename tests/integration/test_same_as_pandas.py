"""Tables of R, Excel, pandas and Orange score as in a pipeline of pandas and scikit-learn on the same folds."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bakeoff.pipeline.experiment import Experiment, evaluate_splits
from bakeoff.pipeline.stages.dataset import read_table
from bakeoff.pipeline.stages.preprocessing import AutoPreprocessing, choose_preprocessing
from bakeoff.pipeline.stages.pruning import NoPruning
from bakeoff.pipeline.stages.scoring.choice import choose_metrics
from bakeoff.pipeline.stages.splitting import KFold
from bakeoff.pipeline.stages.tuning import NoTuning

NUMERIC, NOMINAL = ["mass", "size"], ["colour"]


class Table(NamedTuple):
    """A file, the function that writes it, how pandas reads it, and the target."""

    name: str
    write: Callable[[pd.DataFrame, Path], None]
    read: Callable[[Path], pd.DataFrame]
    target: str


def make_frame() -> pd.DataFrame:
    """Return a table with missing cells in a numeric column."""
    rng = np.random.default_rng(0)
    mass, size = rng.normal(5, 2, 90).round(3), rng.uniform(0, 9, 90).round(2)
    colour = rng.choice(["red", "green", "blue"], 90)
    price = (2 * mass + size + 3 * (colour == "red") + rng.normal(size=90)).round(4)
    frame = pd.DataFrame({"mass": mass, "size": size, "colour": colour, "price": price})
    frame["sold"] = np.where(price > np.median(price), "yes", "no")
    frame.loc[frame.index % 11 == 3, "mass"] = np.nan
    return frame


def write_r(frame: pd.DataFrame, file: Path) -> None:
    """Write the table as R's ``write.table`` does: the header has no cell for the names of the rows."""
    rows = frame.to_csv(sep=" ", na_rep="NA", quoting=2, header=False)
    file.write_text(" ".join(f'"{name}"' for name in frame) + "\n" + rows)


def write_quarters(frame: pd.DataFrame, file: Path) -> None:
    """Write the table of a time series as Excel does, with the mark of UTF-8."""
    frame.assign(period=pd.period_range("1974Q1", periods=90, freq="Q")).to_csv(file, index=False, encoding="utf-8-sig")


def write_orange(frame: pd.DataFrame, file: Path) -> None:
    """Write the table as Orange does, with types and roles in the second and third rows."""
    head = "mass\tsize\tcolour\tprice\tsold\nc\tc\td\tc\td\n\t\t\tmeta\tclass\n"
    file.write_text(head + frame.to_csv(sep="\t", na_rep="?", index=False, header=False))


def write_units(frame: pd.DataFrame, file: Path) -> None:
    """Write the table with a unit in each cell of a column."""
    frame.assign(size=frame["size"].map("{:.2f} kWh/(m²·a)".format)).to_csv(file, index=False)


def read_units(file: Path) -> pd.DataFrame:
    """Read a table with a unit in each cell of a column."""
    frame = pd.read_csv(file)
    return frame.assign(size=frame["size"].str.removesuffix(" kWh/(m²·a)").astype(float))


TABLES = (
    Table("r.txt", write_r, lambda file: pd.read_csv(file, sep=" ", index_col=0), "price"),
    Table(
        "comma.csv",
        lambda frame, file: frame.to_csv(file, sep=";", decimal=",", index=False),
        lambda file: pd.read_csv(file, sep=";", decimal=","),
        "price",
    ),
    Table("quarters.csv", write_quarters, pd.read_csv, "price"),
    Table("orange.tab", write_orange, lambda file: pd.read_csv(file, sep="\t", skiprows=[1, 2], na_values="?"), "sold"),
    Table("archive.csv.zip", lambda frame, file: frame.to_csv(file, index=False), pd.read_csv, "sold"),
    Table(
        "split.json",
        lambda frame, file: frame.to_json(file, orient="split"),
        lambda file: pd.read_json(file, orient="split"),
        "sold",
    ),
    Table("units.csv", write_units, read_units, "price"),
)


def make_model(target: str) -> Pipeline:
    """Return a pipeline of scikit-learn."""
    numeric = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = make_column_transformer((numeric, NUMERIC), (OneHotEncoder(handle_unknown="ignore"), NOMINAL))
    return make_pipeline(columns, LogisticRegression() if target == "sold" else Ridge())


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.name))
def test_a_table_scores_as_in_a_pipeline_of_pandas_and_scikit_learn(tmp_path: Path, table: Table) -> None:
    file = tmp_path / table.name
    table.write(make_frame(), file)
    other = "price" if table.target == "sold" else "sold"
    dataset = read_table(str(file), table.target, drop=[other])
    assert {*dataset.X} == {*NUMERIC, *NOMINAL}
    learner = make_model(table.target)[-1]
    chosen = choose_preprocessing(AutoPreprocessing(), [learner], dataset.X).transformer
    metrics = choose_metrics(None, dataset.task, learner)
    experiment = Experiment(dataset, chosen, learner, NoTuning(), NoPruning(), KFold(folds=3), metrics, seed=0)

    frame = table.read(file)
    score, metric = (accuracy_score, "test_accuracy") if table.target == "sold" else (r2_score, "test_r2")
    for fold in evaluate_splits(experiment, experiment.make_splits().folds):
        train, test = frame.iloc[fold.split.train], frame.iloc[fold.split.test]
        predicted = make_model(table.target).fit(train, train[table.target]).predict(test)
        assert fold.scores[metric] == pytest.approx(score(test[table.target], predicted), abs=1e-9)
        assert fold.scores[metric] > 0.7
