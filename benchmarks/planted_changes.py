"""Planted changes on real datasets, whose effects `bakeoff.diff` measures.

The two runs of each diff differ in several changes at once: one that helps, one that hurts, one without expected effect
that changes the scores (another random state, or one column of noise for another), and on wine one that changes no
prediction.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

import bakeoff
from benchmarks.verdicts import ALPHA

TITANIC = Path(__file__).resolve().parents[1] / "examples" / "titanic" / "titanic.csv"
WINE_FILE = "wine.csv"
TITANIC_COLUMNS = "name,ticket,cabin,boat,body,home.dest"
COMMON_WORDS = ("evaluation=repeated_kfold", "evaluation.folds=5", "evaluation.repeats=2", "tracking.models=false")
HELPS, HURTS, NIL, IDLE = "helps", "hurts", "no expected effect", "no effect"


@dataclass(frozen=True)
class Plant:
    """Changes of known kinds between two runs.

    Attributes
    ----------
    dataset : str
    words : tuple of str
        Words that both runs share.
    before, after : mapping of str to str
        The kind of a change -> its word in the first and in the second run.
    """

    dataset: str
    words: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str]

    def find_kind(self, key: str) -> str:
        """Return the kind of a change."""
        return next(kind for kind, word in self.after.items() if word.split("=")[0] == key)


PLANTS = (
    Plant(
        "wine",
        ("dataset=file", f"dataset.path={WINE_FILE}", "dataset.target=target", "learner=knn"),
        {
            HELPS: "preprocessing=none", HURTS: "learner.n_neighbors=5",
            NIL: "dataset.drop=[noise_1]", IDLE: "learner.algorithm=brute",
        },
        {
            HELPS: "preprocessing=standardize", HURTS: "learner.n_neighbors=100",
            NIL: "dataset.drop=[noise_2]", IDLE: "learner.algorithm=kd_tree",
        },
    ),
    Plant(
        "breast_cancer",
        ("dataset=breast_cancer", "learner=random_forest"),
        {
            HELPS: "learner.n_estimators=1", HURTS: "learner.max_depth=null",
            NIL: "learner.random_state=1001",
        },
        {
            HELPS: "learner.n_estimators=20", HURTS: "learner.max_depth=1",
            NIL: "learner.random_state=1002",
        },
    ),
    Plant(
        "titanic",
        ("dataset=file", "dataset.target=survived", "learner=decision_tree"),
        {
            HELPS: f"dataset.drop=[{TITANIC_COLUMNS},sex]", HURTS: "learner.max_depth=6",
            NIL: "dataset.path=first/titanic.csv",
        },
        {
            HELPS: f"dataset.drop=[{TITANIC_COLUMNS}]", HURTS: "learner.max_depth=1",
            NIL: "dataset.path=second/titanic.csv",
        },
    ),
)  # fmt: skip


def measure_planted_changes(seeds: Iterable[int]) -> str:
    """Return a Markdown table with the effects of planted changes over seeds, and the deviation of their sums."""
    lines = [
        "| dataset | planted change | mean effect | right sign | told apart from 0 |",
        "| --- | --- | ---: | --- | --- |",
    ]
    largest = 0.0
    seeds = list(seeds)
    with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore", bakeoff.BakeoffWarning)
        for plant in PLANTS:
            found = []
            for seed in seeds:
                result = explain_plant(plant, seed)
                largest = max(largest, abs(result.changes["effect"].sum() - result.difference))
                found.append(result.changes.assign(kind=[plant.find_kind(key) for key in result.changes["key"]]))
            for kind in plant.after:
                rows = pd.concat(found).query("kind == @kind")
                lines.append(_describe_kind(plant, kind, rows))
                print(lines[-1], flush=True)
    return "\n".join([*lines, "", f"The effects add up to the difference to {largest:.1e}."])


def explain_plant(plant: Plant, seed: int) -> bakeoff.DifferenceResult:
    """Write new columns of noise, run both configurations of a plant, and return their difference."""
    _write_tables(np.random.default_rng(seed))
    shared = (*plant.words, *COMMON_WORDS, f"seed={seed}")
    before, after = (bakeoff.run(*shared, *words.values()) for words in (plant.before, plant.after))
    return bakeoff.diff(before, after)


def _write_tables(rng: np.random.Generator) -> None:
    """Write wine with two columns of noise as wide as its widest, and titanic with one column of noise, twice."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    noise = {f"noise_{i}": rng.normal(scale=X.std().max(), size=len(X)) for i in (1, 2)}
    X.assign(**noise, target=y.map("class_{}".format)).to_csv(WINE_FILE, index=False)
    titanic = pd.read_csv(TITANIC)
    for folder in ("first", "second"):
        Path(folder).mkdir(exist_ok=True)
        titanic.assign(noise=rng.normal(size=len(titanic))).to_csv(f"{folder}/titanic.csv", index=False)


def _describe_kind(plant: Plant, kind: str, rows: pd.DataFrame) -> str:
    """Return the line of the table about the changes of one kind."""
    sign = {HELPS: 1, HURTS: -1}.get(kind)
    n_right = "" if sign is None else f"{np.sum(np.sign(rows['effect']) == sign)} of {len(rows)}"
    n_told_apart = f"{np.sum(rows['p_value'] <= ALPHA)} of {len(rows)}"
    change = f"{kind}: `{plant.before[kind].replace(TITANIC_COLUMNS, '…')}` → `{plant.after[kind].split('=')[1]}`"
    change = change.replace(TITANIC_COLUMNS, "…")
    return f"| {plant.dataset} | {change} | {rows['effect'].mean():+.4f} | {n_right} | {n_told_apart} |"
