"""Measure a study of 96 jobs beside the loop that a researcher would write with pandas and scikit-learn.

    python benchmarks/study.py --keel keel                       about ten minutes
    python benchmarks/study.py --keel keel --learners knn,svm    only these learners
    python benchmarks/study.py --keel keel --docs                also writes docs/benchmarks.md

Eight learners are scored by four metrics on 10 folds of 12 small files of KEEL, which examples/study/README.md
downloads. Both sides standardize numbers and encode text one-hot, in one process. The loop keeps its scores in a CSV
file; the sweep has its store, its audit and a model of all rows for each job. The CPU time of whole processes counts,
start-up included, in turn. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pandas as pd

from benchmarks.sweep import measure, ours
from benchmarks.tables import machine, replace_part

KEEL = (
    "iris", "tae", "hayes-roth", "wine", "sonar", "housevotes", "heart", "breast", "bupa", "ionosphere", "bands",
    "monk-2",
)  # fmt: skip
LEARNERS = (
    "naive_bayes", "decision_tree", "knn", "perceptron", "logistic_regression", "svm", "mlp", "random_forest",
)  # fmt: skip
FOLDS = 10
SWEEP = (
    "dataset=file", "dataset.target=last", "dataset.header=false", "dataset.strip=true", "preprocessing=one_hot",
    "preprocessing.numeric=[{_target_:sklearn.preprocessing.StandardScaler}]", "evaluation=kfold",
    f"evaluation.folds={FOLDS}", "evaluation.metrics=[accuracy,precision_macro,recall_macro,f1_macro]",
)  # fmt: skip
LOOP = f"""
import sys
import warnings
from pathlib import Path

import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

warnings.simplefilter("ignore")
learners = {{  # with the settings of conf/learner/sklearn_*.yaml
    "naive_bayes": GaussianNB(),
    "decision_tree": DecisionTreeClassifier(random_state=0),
    "knn": KNeighborsClassifier(),
    "perceptron": Perceptron(max_iter=100, tol=None, random_state=0),
    "logistic_regression": LogisticRegression(max_iter=300, random_state=0),
    "svm": SVC(random_state=0),
    "mlp": MLPClassifier(random_state=0),
    "random_forest": RandomForestClassifier(random_state=0),
}}
results = []
for path in sys.argv[2].split(","):
    table = pd.read_csv(path, header=None, skipinitialspace=True)
    X, y = table.iloc[:, :-1], table.iloc[:, -1]
    for name in sys.argv[1].split(","):
        columns = ColumnTransformer([
            ("numbers", StandardScaler(), make_column_selector(dtype_include="number")),
            ("text", OneHotEncoder(handle_unknown="ignore", sparse_output=False),
             make_column_selector(dtype_exclude="number")),
        ])
        scores = cross_validate(
            make_pipeline(columns, learners[name]), X, y,
            cv=StratifiedKFold({FOLDS}, shuffle=True, random_state=0),
            scoring=["accuracy", "precision_macro", "recall_macro", "f1_macro"],
        )
        results.append(pd.DataFrame(scores).assign(dataset=Path(path).stem, learner=name))
pd.concat(results).to_csv("scores.csv", index=False)
"""
TITLES = ("learner", "fit", "predict", "whole jobs", "loop: fit", "loop: predict and score")


def main(words: Sequence[str] | None = None) -> None:
    """Measure both sides in turn, print the ratio and the seconds of each learner, and write them into the page."""
    asked = _parse_arguments(words)
    files = ",".join(str((asked.keel / f"{name}.dat").resolve()) for name in asked.data.split(","))
    loop = [sys.executable, "-c", LOOP, asked.learners, files]
    sweep = ours("-m", *SWEEP, f"learner={asked.learners}", f"dataset.path={files}")
    cpu: dict[str, list[float]] = {"bakeoff": [], "loop": []}
    for _ in range(asked.repeats):
        with TemporaryDirectory() as name:
            cpu["loop"].append(measure(loop, Path(name)).cpu)
            cpu["bakeoff"].append(measure(sweep, Path(name)).cpu)
            seconds = read_seconds(Path(name))
    text = "\n".join([tell_ratio(cpu, len(seconds) * len(files.split(","))), "", tabulate_seconds(seconds)])
    print(text)
    if asked.docs:
        replace_part("study", "\n".join([machine("python benchmarks/study.py --keel keel"), "", text]))


def read_seconds(folder: Path) -> pd.DataFrame:
    """Return the wall seconds of the parts of each learner on both sides, from the store and from the scores."""
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder}/outputs/mlflow.db")
    runs = mlflow.search_runs(experiment_names=["bakeoff"])
    assert isinstance(runs, pd.DataFrame)
    parts = {
        "learner": runs["params.learner"],
        "fit": runs["metrics.time/fit"] * FOLDS,
        "predict": runs["metrics.time/predict"] * FOLDS,
        "whole": (runs["end_time"] - runs["start_time"]).dt.total_seconds(),
    }
    sweep = pd.DataFrame(parts).groupby("learner").sum()
    loop = pd.read_csv(folder / "scores.csv").groupby("learner")[["fit_time", "score_time"]].sum()
    return sweep.join(loop)


def tell_ratio(cpu: dict[str, list[float]], n_jobs: int) -> str:
    """Return the median CPU times, and the median and range of their ratios."""
    ratios = [own / other for own, other in zip(cpu["bakeoff"], cpu["loop"], strict=True)]
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    own, other = (median(times) for times in cpu.values())
    return f"{n_jobs} jobs: {own:.1f} s of CPU, the loop {other:.1f} s: **{median(ratios):.2f}** times ({spread})."


def tabulate_seconds(seconds: pd.DataFrame) -> str:
    """Return a Markdown table of the seconds of the last sweep and loop, with their sums."""
    rows = [*seconds.iterrows(), ("all", seconds.sum())]
    lines = [f"| {name} | {' | '.join(f'{value:.2f}' for value in row)} |" for name, row in rows]
    return "\n".join([f"| {' | '.join(TITLES)} |", "| --- |" + " ---: |" * (len(TITLES) - 1), *lines])


def _parse_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keel", type=Path, default=Path("keel"), help="the folder of KEEL's files")
    parser.add_argument("--data", default=",".join(KEEL), help="names of files")
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
