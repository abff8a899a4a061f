"""Compare tuning along a path with an evaluation in as many folds and with scikit-learn's grid search.

    python benchmarks/tuning.py

The spaces are k from 1 to 50 for k-NN, depths from 1 to 20 for a tree, and a hundred pruning levels, each in ten folds
on one core. The table gives the CPU seconds of

- ``tuning``: bakeoff's tuning over all candidates, and the fit of the best one on all rows;
- ``one``: the same with a single candidate, the default, so that no work is shared;
- ``run``: an evaluation of the default in ten folds, with all metrics on training and test rows;
- ``GridSearchCV``: the same candidates and folds with scikit-learn's learner.

Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from bakeoff import learners
from bakeoff.pipeline.experiment import Experiment, evaluate_splits, fit_model
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.pruning import NoPruning
from bakeoff.pipeline.stages.scoring.choice import choose_metrics
from bakeoff.pipeline.stages.splitting import KFold, Split
from bakeoff.pipeline.stages.tuning import GridTuning, NoTuning
from benchmarks.measuring import Task
from benchmarks.tables import machine, replace_part
from benchmarks.tasks import bundled, made

FOLDS = 10


class Sweep(NamedTuple):
    """The values of one parameter, with our learner and scikit-learn's."""

    parameter: str
    values: list[Any]
    ours: Any
    theirs: Any


def main() -> None:
    """Measure every sweep on every task, print the table, and with ``--docs`` write it into docs/benchmarks.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=["breast_cancer", "digits"], help="bundled data")
    parser.add_argument("--rows", nargs="*", type=int, default=[2000], help="n of made data")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md too")
    asked = parser.parse_args()
    lines = [
        "| task | space | tuning s | one s | run s | GridSearchCV s | tuning / one | tuning / run | grid / tuning |",
        "| --- | --- |" + " ---: |" * 7,
    ]
    print(*lines, sep="\n")
    for task in [*map(bundled, asked.data), *(made(n, 20, 2) for n in asked.rows)]:
        for sweep in sweeps(task):
            ours, one, single, theirs = measure(task, sweep, asked.repeats)
            space = f"{len(sweep.values)} values of {sweep.parameter}"
            lines.append(
                f"| {task.name} | {space} | {ours:.3f} | {one:.3f} | {single:.3f} | {theirs:.2f} | {ours / one:.2f} "
                f"| {ours / single:.2f} | {theirs / ours:.1f} |"
            )
            print(lines[-1], flush=True)
    if asked.docs:
        command = "python benchmarks/tuning.py " + " ".join(sys.argv[1:])
        replace_part("tuning", "\n".join([machine(command), "", *lines]))


def sweeps(task: Task) -> Iterator[Sweep]:
    """Yield the three spaces of one parameter."""
    yield Sweep("n_neighbors", list(range(1, 51)), learners.KNeighborsClassifier(), KNeighborsClassifier())
    ours, theirs = learners.DecisionTreeClassifier(random_state=0), DecisionTreeClassifier(random_state=0)
    yield Sweep("max_depth", list(range(1, 21)), ours, theirs)
    levels = theirs.cost_complexity_pruning_path(task.X, task.y).ccp_alphas.clip(0)
    yield Sweep("ccp_alpha", np.quantile(levels, np.linspace(0, 1, 100)).tolist(), ours, theirs)


def measure(task: Task, sweep: Sweep, repeats: int) -> list[float]:
    """Return the median CPU seconds of our tuning, of one candidate, of a run in ten folds, and of GridSearchCV."""
    names = [f"x{j}" for j in range(task.X.shape[1])]
    dataset = Dataset(task.name, pd.DataFrame(task.X, columns=names), task.y, "classification", "y")
    everything = Split(np.arange(len(task.y)), np.empty(0, dtype=int), np.empty(0, dtype=int))

    def experiment(tuning: Any) -> Experiment:
        metrics = choose_metrics(None, "classification", sweep.ours)
        return Experiment(dataset, None, sweep.ours, tuning, NoPruning(), KFold(folds=FOLDS), metrics, seed=0)

    def tune(values: list[Any]) -> None:
        fit_model(experiment(GridTuning({sweep.parameter: values}, folds=FOLDS)), everything)

    single = experiment(NoTuning())
    splits = single.make_splits().folds
    cut = StratifiedKFold(FOLDS, shuffle=True, random_state=derive_seed(0, "tuning"))
    grid = GridSearchCV(sweep.theirs, {sweep.parameter: sweep.values}, cv=cut, scoring="accuracy", refit=False)
    return _in_turn(
        [
            lambda: tune(sweep.values),
            lambda: tune([sweep.ours.get_params()[sweep.parameter]]),
            lambda: list(evaluate_splits(single, splits)),
            lambda: grid.fit(task.X, task.y),
        ],
        repeats,
    )


def _in_turn(works: list[Callable[[], Any]], repeats: int) -> list[float]:
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for taken, work in zip(seconds, works, strict=True):
            started = time.process_time()
            work()
            taken.append(time.process_time() - started)
    return [float(np.median(taken)) for taken in seconds]


if __name__ == "__main__":
    main()
