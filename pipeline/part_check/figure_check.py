"""A figure drawn for small runs of both tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult, evaluate_splits, fit_final_model
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment
from bakeoff.pipeline.part_check.finding import NOTE, OK, WRONG, Finding
from bakeoff.pipeline.part_check.part import Part
from bakeoff.pipeline.stages.splitting import Splits

STAGES = "bakeoff.pipeline.stages"
RUNS = {
    "three classes, a tree, one split": ("iris", "DecisionTreeClassifier", {"_target_": f"{STAGES}.splitting.Holdout"}),
    "two classes, logistic regression, five folds": (
        "breast_cancer",
        "LogisticRegression",
        {"_target_": f"{STAGES}.splitting.KFold"},
    ),
    "numbers, ridge regression, five folds": ("diabetes", "Ridge", {"_target_": f"{STAGES}.splitting.KFold"}),
}
"""Each run that a figure is drawn for: its dataset, its learner, and its evaluation."""
PICTURE_SUFFIX = ".png"
PICTURE_START = b"\x89PNG"


@dataclass(frozen=True)
class SmallRun:
    """A run of a few rows.

    Attributes
    ----------
    experiment : Experiment
    splits : Splits
    folds : sequence of FoldResult
    model : FittedModel
    """

    experiment: Experiment
    splits: Splits
    folds: Sequence[FoldResult]
    model: FittedModel


def check_figure(part: Part) -> list[Finding]:
    """Require a figure with the name of a file."""
    figure = part.build()
    file = str(getattr(figure, "file", ""))
    if not file.endswith(PICTURE_SUFFIX) or Path(file).name != file:
        raise UserError(f"file={file!r} must be the name of a file that ends in {PICTURE_SUFFIX}.")
    return [Finding(OK, "figure", f"writes {file}")]


def check_pictures(part: Part) -> list[Finding]:
    """Draw it for each of the small runs, twice, and require the same picture both times."""
    figure = part.build()
    findings = []
    for name in RUNS:
        run = make_run(name)
        try:
            figure.check(run.experiment, run.splits)
        except UserError as error:
            findings.append(Finding(NOTE, "picture", f"not for {name}: {error}"))
            continue
        first, second = (_draw(figure, run) for _ in range(2))
        findings.append(_judge(name, first, second))
    if all(finding.status == NOTE for finding in findings):
        findings.append(Finding(WRONG, "picture", "check refuses every run that was tried"))
    return findings


@cache
def make_run(name: str) -> SmallRun:
    """Return one of the small runs, which are fitted once."""
    dataset, learner, evaluation = RUNS[name]
    spec = {
        "dataset": {"_target_": f"{STAGES}.dataset.load_bundled", "name": dataset},
        "preprocessing": {
            "_target_": f"{STAGES}.preprocessing.make_preprocessing",
            "numeric": [{"_target_": "sklearn.preprocessing.StandardScaler"}],
        },
        "learner": {"_target_": f"bakeoff.learners.{learner}"},
        "tuning": {"_target_": f"{STAGES}.tuning.NoTuning"},
        "pruning": {"_target_": f"{STAGES}.pruning.NoPruning"},
        "balance": {"_target_": f"{STAGES}.balance.NoBalance"},
        "target": {"_target_": f"{STAGES}.target.NoTarget"},
        "calibration": {"_target_": f"{STAGES}.calibration.NoCalibration"},
        "threshold": {"_target_": f"{STAGES}.threshold.NoThreshold"},
        "evaluation": evaluation,
        "seed": 0,
        "trust": [],
    }
    experiment = build_experiment(spec, PartCache())
    splits = experiment.make_splits()
    folds = list(evaluate_splits(experiment, splits.folds))
    return SmallRun(experiment, splits, folds, fit_final_model(experiment, splits, folds[-1]))


def _draw(figure: Any, run: SmallRun) -> dict[str, bytes]:
    """Return the files that a figure writes: name -> content."""
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        figure.save(Path(folder), run.experiment, run.folds, run.model)
        return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}


def _judge(name: str, first: dict[str, bytes], second: dict[str, bytes]) -> Finding:
    pictures = [content for file, content in first.items() if file.endswith(PICTURE_SUFFIX)]
    if not pictures or not all(content.startswith(PICTURE_START) for content in pictures):
        return Finding(WRONG, "picture", f"{name}: save wrote no picture")
    sizes = ", ".join(f"{file} ({len(content):,} bytes)" for file, content in first.items())
    if first != second:
        return Finding(WRONG, "picture", f"{name}: the same run is drawn differently the second time")
    return Finding(OK, "picture", f"{name}: {sizes}")
