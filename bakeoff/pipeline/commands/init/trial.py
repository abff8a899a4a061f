"""Trials of a user-defined part: the default job with this part, run twice on generated tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_regressor

from bakeoff.pipeline.commands.init.project import PartFile
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.stages.scoring.choice import SCORING_KEYS
from bakeoff.pipeline.sweep.differences import compare_models, compare_values, measure_repeat, write_scores
from bakeoff.pipeline.sweep.job import JobResult, PreparedJob, execute_job, prepare_job
from bakeoff.pipeline.tracking import NoTracker

N_ROWS = 120
N_FEATURES = 5
NOISE = 1.5
MISSING_FRACTION = 0.05
COLOURS = ("red", "green", "blue")
SEED = 4127
"""The seed of each trial; no file has it by chance."""
CLASSES = "classes"
NUMBERS = "numbers"
LEARNERS = {CLASSES: "decision_tree", NUMBERS: "decision_tree_regressor"}
RESPONDING_LEARNERS = {CLASSES: "logistic_regression", NUMBERS: "ridge"}
"""Learners with every method that a metric may require."""
ROLES: Mapping[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "keeps_groups": ("groups", lambda order: order % 20),
    "keeps_order": ("time", lambda order: order),
    "keeps_parts": ("split", lambda order: np.where(order % 4 == 0, "test", "train")),
    "keeps_folds": ("folds", lambda order: order % 5),
}
"""A promise of a splitter class -> the dataset key of the column it refers to, and the cells of that column.

Parts and folds keep groups together.
"""


@dataclass(frozen=True)
class Trial:
    """A job with the part.

    Attributes
    ----------
    name : str
        The name of the table.
    spec : dict
        The settled configuration.
    """

    name: str
    spec: dict[str, Any]


def list_trials(part: PartFile, folder: Path, words: Sequence[str] = ()) -> list[Trial]:
    """Return the jobs that contain a part, before any of them has run.

    Parameters
    ----------
    part : PartFile
    folder : Path
        The folder for the tables.
    words : sequence of str
        Further overrides.

    Raises
    ------
    UserError
        The part cannot be composed or built.
    """
    first = Trial(CLASSES, _compose(part, CLASSES, folder, words))
    if part.group == "learner":
        is_for_numbers = is_regressor(build_object(first.spec["learner"], "learner", part.trust))
    elif part.group == "dataset":
        is_for_numbers = not PartCache().get_dataset(first.spec).is_classification
    else:
        return [first, Trial(NUMBERS, _compose(part, NUMBERS, folder, words))]
    return [Trial(NUMBERS, _compose(part, NUMBERS, folder, words))] if is_for_numbers else [first]


def prepare_trial(trial: Trial) -> PreparedJob:
    """Build and check a job that shares nothing with other jobs.

    Raises
    ------
    UserError
    """
    return prepare_job(trial.spec, Invocation({}), PartCache())


def run_trial(trial: Trial) -> JobResult:
    """Run a job and draw its figures; nothing is stored.

    Raises
    ------
    UserError
        The job was refused before the first fit.
    Exception
        Any other error of the part.
    """
    prepared = prepare_trial(trial)
    result = execute_job(prepared, NoTracker())
    with TemporaryDirectory(prefix="bakeoff-") as name:
        for figure in prepared.figure_choice.figures:
            figure.save(Path(name), prepared.experiment, result.folds, result.model)
    return result


def describe_difference(first: JobResult, second: JobResult) -> str:
    """Return how two runs of a trial differ in data, splits, or any bit of a number; empty if they do not."""
    experiment = first.prepared.experiment
    if experiment.dataset.digest() != second.prepared.experiment.dataset.digest():
        return "the dataset differs when it is loaded again, so runs cannot be compared; use a fixed seed"
    if first.prepared.splits.digest() != second.prepared.splits.digest():
        return "the same seed gives different splits; draw from numpy.random.default_rng(seed) alone"
    repeats = [measure_repeat(experiment, run.folds, run.model) for run in (first, second)]
    scores, again = map(write_scores, repeats)
    model, other = (run.model.predictor for run in (first, second))
    comparisons = (compare_values("scores", scores, again), compare_models(model, other, experiment.dataset))
    differences = [difference for comparison in comparisons for difference in comparison.differences]
    if not differences:
        return ""
    shown = f"{differences[0].name} is {differences[0].stored} and then {differences[0].now}"
    cure = "draw from random_state alone, and write random_state: ${seed} into the file"
    return f"two runs of the same job differ: {shown}; {cure}"


def _compose(part: PartFile, task: str, folder: Path, further: Sequence[str]) -> dict[str, Any]:
    """Return the settled job for a part and a task, and write its table into a folder."""
    words = ["audit=strict", f"seed={SEED}", *further]
    if part.group != "learner":
        learners = RESPONDING_LEARNERS if part.group == "metric" else LEARNERS
        words.append(f"learner={learners[task]}")
    if part.group == "dataset":
        return part.compose(words)
    frame = make_table(task, with_gaps=part.group == "learner")
    file = folder / f"{task}.csv"
    words += ["dataset=file", f"dataset.path='{file}'", "dataset.target=y"]
    frame.to_csv(file, index=False)
    spec = part.compose(words)
    if part.group == "evaluation":
        node = {key: value for key, value in spec["evaluation"].items() if key not in SCORING_KEYS}
        splitter = build_object(node, "evaluation", part.trust)
        order = np.random.default_rng(SEED).permutation(N_ROWS)  # (n,)
        for promise, (key, make_cells) in ROLES.items():
            if getattr(splitter, promise):
                frame[key] = make_cells(order)
                spec["dataset"][key] = key
        frame.to_csv(file, index=False)
    return spec


def make_table(task: str, *, with_gaps: bool) -> pd.DataFrame:
    """Return rows whose target ``y`` depends on their numbers; a table with classes also has a nominal column.

    Parameters
    ----------
    task : {"classes", "numbers"}
    with_gaps : bool
        Whether some cells are missing.
    """
    generator = np.random.default_rng(SEED)
    X = generator.normal(size=(N_ROWS, N_FEATURES))  # (n, d)
    target = X.sum(axis=1) + NOISE * generator.normal(size=N_ROWS)  # (n,)
    frame = pd.DataFrame(X, columns=[f"x{column}" for column in range(N_FEATURES)])
    if task == CLASSES:
        frame["colour"] = generator.choice(COLOURS, size=N_ROWS)
        target = np.where(target > np.median(target), "high", "low")  # (n,)
    if with_gaps:
        frame = frame.mask(generator.random(frame.shape) < MISSING_FRACTION)
    return frame.assign(y=target)
