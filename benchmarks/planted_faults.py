"""Measure how often `bakeoff doctor` names planted faults, is wrong about healthy runs, and sees slices in noise.

    python benchmarks/planted_faults.py [faults] [healthy] [slices] [--tables 1000] [--only BK14]

- **faults**: each run or sweep has one fault; counted is whether its code is among the findings.
- **healthy**: learners that suit their tables, 8 x 5 runs; counted are the findings above a tip.
- **slices**: errors that are independent of all columns; counted are the tables on which a slice is found.

It asserts nothing.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

import bakeoff
from bakeoff.pipeline.commands.diff import changed_rows

N_ROWS = 400
KFOLD = "evaluation=kfold evaluation.folds=10"
N_PERMUTATIONS = 199
"""Fewer than the command uses, which does not change the level of the test."""


@dataclass(frozen=True)
class Plant:
    """A run or a sweep with one fault.

    Attributes
    ----------
    code : str
        The code of the fault.
    make : callable
        Returns the table of a generator; its target is y.
    words : str
        The words of the run; with -m, of a sweep.
    """

    code: str
    make: Callable[[np.random.Generator], pd.DataFrame]
    words: str


def make_line(rng: np.random.Generator, noise: float = 1.0, n: int = N_ROWS) -> pd.DataFrame:
    """Return two classes that a line separates, with noise."""
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    score = 1.5 * X["a"] + X["b"] + noise * rng.normal(size=n)
    return X.assign(y=np.where(score > 0, "yes", "no"))


def make_numbers(rng: np.random.Generator, n: int = N_ROWS) -> pd.DataFrame:
    """Return a number that depends on the square of a column."""
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return X.assign(y=X["a"] ** 2 + 0.5 * X["b"] + 0.3 * rng.normal(size=n))


def make_circles(rng: np.random.Generator) -> pd.DataFrame:
    """Return a class inside a circle, and one outside."""
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 2)), columns=list("ab"))
    return X.assign(y=np.where((X**2).sum(axis=1) > 1.4, "out", "in"))


def make_noise(rng: np.random.Generator) -> pd.DataFrame:
    """Return classes that depend on nothing."""
    return make_line(rng).assign(y=rng.choice(["no", "yes"], N_ROWS))


def make_leak(rng: np.random.Generator) -> pd.DataFrame:
    """Return a column that was filled in after the target was known."""
    table = make_line(rng)
    return table.assign(paid=np.where(table["y"] == "yes", 5.0, -5.0) + rng.normal(size=N_ROWS))


def make_gaps(rng: np.random.Generator) -> pd.DataFrame:
    """Return a column that has cells for one class alone."""
    table = make_line(rng)
    is_filled = (table["y"] == "yes") & (rng.random(N_ROWS) < 0.7)
    return table.assign(boat=np.where(is_filled, rng.integers(1, 9, N_ROWS), np.nan))


def make_numbered(rng: np.random.Generator) -> pd.DataFrame:
    """Return rows with numbers."""
    return make_line(rng).assign(record=rng.permutation(N_ROWS))


def make_same(rng: np.random.Generator) -> pd.DataFrame:
    """Return a column twice."""
    table = make_line(rng)
    return table.assign(again=table["a"])


def make_patients(rng: np.random.Generator) -> pd.DataFrame:
    """Return four rows of each patient."""
    return make_line(rng).assign(patient=rng.permutation(np.repeat(np.arange(N_ROWS // 4), 4)))


def make_copies(rng: np.random.Generator) -> pd.DataFrame:
    """Return 40 rows twice."""
    table = make_line(rng)
    return pd.concat([table, table[:40]], ignore_index=True)


def make_rare(rng: np.random.Generator) -> pd.DataFrame:
    """Return a class of three rows."""
    table = make_line(rng)
    table.loc[:2, "y"] = "other"
    return table


def make_days(rng: np.random.Generator) -> pd.DataFrame:
    """Return rows in the order of their dates."""
    return make_line(rng).assign(day=pd.date_range("2024-01-01", periods=N_ROWS).strftime("%Y-%m-%d"))


def make_batches(rng: np.random.Generator) -> pd.DataFrame:
    """Return a batch whose labels are exchanged."""
    table = make_line(rng).assign(batch=np.arange(N_ROWS) % 8)
    other = table["y"].map({"yes": "no", "no": "yes"})
    return table.assign(y=table["y"].where(table["batch"] != 3, other))


def make_repeated_columns(rng: np.random.Generator) -> pd.DataFrame:
    """Return a column with little noise ten times, which independence counts ten times."""
    table = make_line(rng, noise=2.0)
    near = {f"a{number}": table["a"] + 0.1 * rng.normal(size=N_ROWS) for number in range(10)}
    return table.assign(**near)


def make_rare_positive(rng: np.random.Generator, share: float = 0.1) -> pd.DataFrame:
    """Return a rare class that the columns tell in part."""
    table = make_line(rng, n=800)
    score = 1.2 * table["a"] + rng.normal(size=len(table))
    return table.assign(y=np.where(score > np.quantile(score, 1 - share), "yes", "no"))


def make_slice(rng: np.random.Generator) -> pd.DataFrame:
    """Return rows of which those of a town are noise."""
    table = make_line(rng, noise=0.3, n=600)
    town = rng.choice(["Bern", "Oslo", "Rome"], len(table), p=[0.2, 0.4, 0.4])
    is_noise = (town == "Bern") & (table["c"] > 0)
    return table.assign(town=town, y=table["y"].where(~is_noise, rng.choice(["no", "yes"], len(table))))


def make_sorted(rng: np.random.Generator) -> pd.DataFrame:
    """Return rows that are sorted by a number to predict."""
    return make_numbers(rng).sort_values("y", ignore_index=True)


def make_growing(rng: np.random.Generator) -> pd.DataFrame:
    """Return a number whose noise grows with it."""
    table = make_numbers(rng)
    mean = 3 + table["a"] + table["b"]
    return table.assign(y=mean + 0.5 * np.exp(mean / 3) * rng.normal(size=N_ROWS))


def make_widest(rng: np.random.Generator) -> pd.DataFrame:
    """Return a noisy line among many columns of noise."""
    return make_line(rng).assign(**{f"noise{number}": rng.normal(size=N_ROWS) for number in range(12)})


def make_wide(rng: np.random.Generator) -> pd.DataFrame:
    """Return a line among columns of noise."""
    table = make_line(rng, noise=0.3)
    return table.assign(**{f"noise{number}": rng.normal(size=N_ROWS) for number in range(4)})


COSTS = "evaluation.costs={yes: {no: 20}, no: {yes: 1}}"
PLANTS: Mapping[str, Plant] = {
    "leak by values": Plant("BK01", make_leak, f"learner=naive_bayes {KFOLD}"),
    "leak by missing cells": Plant("BK02", make_gaps, f"learner=naive_bayes {KFOLD}"),
    "row numbers": Plant("BK03", make_numbered, f"learner=naive_bayes {KFOLD} dataset.numeric=[record]"),
    "equal columns": Plant("BK04", make_same, f"learner=naive_bayes {KFOLD}"),
    "undeclared groups": Plant("BK06", make_patients, f"learner=naive_bayes {KFOLD} dataset.numeric=[patient]"),
    "copies of rows": Plant("BK07", make_copies, f"learner=naive_bayes {KFOLD}"),
    "class of three rows": Plant("BK08", make_rare, f"learner=naive_bayes {KFOLD} evaluation.metrics=[accuracy]"),
    "rows in the order of dates": Plant("BK10", make_days, f"learner=naive_bayes {KFOLD}"),
    "weaker than boosting": Plant("BK09", make_circles, f"learner=logistic_regression {KFOLD}"),
    "nothing to learn": Plant("BK11", make_noise, f"learner=naive_bayes {KFOLD}"),
    "overfit": Plant("BK12", make_widest, f"learner=decision_tree pruning=none {KFOLD}"),
    "underfit": Plant("BK13", make_circles, f"learner=logistic_regression {KFOLD}"),
    "edge of the space": Plant(
        "BK14", make_circles, f"learner=sklearn_decision_tree tuning=grid space.max_depth=[1,2] {KFOLD}"
    ),
    "not tuned": Plant("BK15", make_line, f"learner=knn learner.n_neighbors=1 {KFOLD}"),
    "useless columns": Plant("BK16", make_wide, f"learner=logistic_regression {KFOLD}"),
    "odd batch": Plant("BK17", make_batches, "learner=naive_bayes dataset.folds=batch evaluation=fixed_folds"),
    "unstable": Plant(
        "BK18", make_noise, "learner=decision_tree pruning=none evaluation=repeated_kfold evaluation.repeats=3"
    ),
    "miscalibrated": Plant("BK19", make_repeated_columns, f"learner=naive_bayes {KFOLD}"),
    "threshold against costs": Plant(
        "BK20", make_rare_positive, f"learner=logistic_regression {KFOLD} '{COSTS}' evaluation.metrics=[cost]"
    ),
    "weak slice": Plant("BK21", make_slice, f"learner=logistic_regression {KFOLD}"),
    "class never predicted": Plant(
        "BK22", lambda rng: make_rare_positive(rng, 0.04), f"learner=sklearn_svm learner.C=0.01 {KFOLD}"
    ),
    "growing residuals": Plant("BK23", make_growing, f"learner=linear_regression {KFOLD}"),
    "not converged": Plant("BK24", make_line, f"learner=sklearn_mlp learner.max_iter=3 {KFOLD}"),
    "undefined scores": Plant("BK25", make_rare, f"learner=naive_bayes {KFOLD} evaluation.metrics=[accuracy,recall]"),
    "accuracy of a rare class": Plant("BK27", make_rare_positive, f"learner=logistic_regression {KFOLD}"),
    "sorted rows": Plant("BK28", make_sorted, "learner=linear_regression evaluation=time_series"),
    "unequal tuning": Plant(
        "BK31",
        make_line,
        f"-m learner=knn,sklearn_decision_tree tuning=none,grid {KFOLD} "
        "'exclude=[{learner: knn, tuning: grid}, {learner: sklearn_decision_tree, tuning: none}]'",
    ),
    "no strong baseline": Plant("BK32", make_line, f"-m learner=knn,naive_bayes {KFOLD}"),
    "a study on one split": Plant("BK33", make_line, "-m learner=knn,naive_bayes"),
    "chosen by test scores": Plant("BK34", make_line, f"-m learner=knn learner.n_neighbors=1,3,9 {KFOLD}"),
    "one seed": Plant("BK38", make_line, f"-m learner=knn,naive_bayes {KFOLD}"),
    "small difference": Plant("BK41", make_line, f"-m learner=logistic_regression,sklearn_lda {KFOLD}"),
}
HEALTHY_LEARNERS = ("logistic_regression", "sklearn_lda", "svm", "random_forest", "sklearn_extra_trees")


def make_classes(seed: int, n_classes: int, distance: float) -> pd.DataFrame:
    """Return normal classes with equal spread, which each of the learners suits."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, 300)
    centres = rng.normal(size=(n_classes, 5))
    X = pd.DataFrame(distance * centres[codes] + rng.normal(size=(300, 5)), columns=list("abcde"))
    return X.assign(y=np.array(["p", "q", "r", "s"])[codes])


def list_healthy_tables() -> dict[str, pd.DataFrame]:
    """Return eight tables on which the learners above are about equally good."""
    made = {
        f"{n_classes} classes, distance {distance}": make_classes(seed, n_classes, distance)
        for seed, (n_classes, distance) in enumerate([(2, 0.7), (2, 1.0), (3, 0.8), (3, 1.2), (4, 1.0)])
    }
    for name, load in (("wine", load_wine), ("breast_cancer", load_breast_cancer), ("digits", load_digits)):
        frame = load(as_frame=True).frame.rename(columns={"target": "y"})[:600]
        made[name] = frame.assign(y="class " + frame["y"].astype(str))
    return made


def diagnose(frame: pd.DataFrame, words: str) -> bakeoff.Diagnosis:
    """Run words on a table in a store of its own, and return the diagnosis."""
    import shlex

    split = shlex.split(words)
    call = bakeoff.sweep if "-m" in split else bakeoff.run
    result = call(*[word for word in split if word != "-m"], dataset=frame, target="y")
    return bakeoff.doctor(result, keep=False)


def measure_faults(only: str) -> Iterator[str]:
    """Yield a line for each fault, and the number of those that were named."""
    n_named = 0
    for number, (name, plant) in enumerate(PLANTS.items()):
        if only not in plant.code:
            continue
        started = time.perf_counter()
        diagnosis = diagnose(plant.make(np.random.default_rng(number)), plant.words)
        codes = [finding.code for finding in diagnosis.findings]
        is_named = plant.code in codes
        n_named += is_named
        seconds = time.perf_counter() - started
        yield f"{'named ' if is_named else 'MISSED'} {plant.code} {name}: {' '.join(codes)} ({seconds:.0f} s)"
    yield f"{n_named} of {len(PLANTS)} faults named"


def measure_healthy() -> Iterator[str]:
    """Yield each finding above a tip in healthy runs, and their number."""
    n_runs, n_found = 0, 0
    for name, frame in list_healthy_tables().items():
        for learner in HEALTHY_LEARNERS:
            found = [each for each in diagnose(frame, f"learner={learner} {KFOLD}").findings if each.severity != "tip"]
            n_runs += 1
            n_found += len(found)
            yield from (f"{name}, {learner}: {finding} (p = {finding.p_value:.2g})" for finding in found)
    yield f"{n_found} findings above a tip in {n_runs} runs"


def measure_slices(n_tables: int) -> Iterator[str]:
    """Yield the share of tables of which a slice was found although the errors depend on nothing."""
    n_found = 0
    with patch.object(changed_rows, "N_PERMUTATIONS", N_PERMUTATIONS):
        for seed in range(n_tables):
            rng = np.random.default_rng(seed)
            n = int(rng.integers(150, 400))
            X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
            X["town"] = pd.Categorical(rng.choice(["Bern", "Oslo", "Rome"], n))
            is_wrong = rng.random(n) < rng.uniform(0.1, 0.4)
            n_found += bool(changed_rows.find_groups(X, is_wrong, X, 0.05, 20))
    yield f"slices: found on {n_found} of {n_tables} tables ({n_found / n_tables:.1%})"


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["faults", "healthy", "slices"])
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--only", default="", help="the code of a fault")
    arguments = parser.parse_args()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    warnings.simplefilter("ignore")
    measures = {
        "faults": lambda: measure_faults(arguments.only),
        "healthy": measure_healthy,
        "slices": lambda: measure_slices(arguments.tables),
    }
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        start = Path.cwd()
        os.chdir(folder)
        for part in arguments.parts:
            for line in measures[part]():
                print(line, flush=True)
        os.chdir(start)


if __name__ == "__main__":
    main()
