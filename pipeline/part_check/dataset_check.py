"""A dataset that is loaded twice: its size, its target, and what a run says about its columns."""

from __future__ import annotations

import time

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.part_check.finding import NOTE, OK, WRONG, Finding
from bakeoff.pipeline.part_check.part import Part
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.text.numbers import format_seconds
from bakeoff.pipeline.text.words import MISSING_VALUE

MIN_CLASSES = 2


def check_dataset(part: Part) -> list[Finding]:
    """Require a dataset with a target that can be learnt."""
    for key, value in part.node.items():
        if value == MISSING_VALUE:
            raise UserError(f"{key} is left open; give it a value in the file.")
    start = time.perf_counter()
    dataset = part.build()
    seconds = time.perf_counter() - start
    if not isinstance(dataset, Dataset):
        raise UserError(
            f"{part.target} returned {type(dataset).__name__} instead of a Dataset; return "
            "bakeoff.pipeline.stages.dataset.load_frame(frame, target=NAME)."
        )
    if len(dataset.y) != len(dataset.X):
        raise UserError(f"{len(dataset.X)} rows have {len(dataset.y)} targets.")
    findings = [Finding(OK, "dataset", f"{dataset.describe()}; read in {format_seconds(seconds, digits=2)}")]
    findings += [Finding(NOTE, "columns", line) for line in dataset.describe_columns()]
    return findings + [Finding(NOTE, "remark", remark) for remark in dataset.remarks]


def check_target(part: Part) -> list[Finding]:
    """Require two classes, or numbers that are finite."""
    dataset: Dataset = part.build()
    if not dataset.is_classification:
        if not np.isfinite(dataset.y).all():
            return [Finding(WRONG, "target", f"{dataset.target} holds values that are missing or infinite")]
        return [Finding(OK, "target", f"{dataset.target}, from {dataset.y.min():g} to {dataset.y.max():g}")]
    labels, counts = np.unique(dataset.y, return_counts=True)
    if len(labels) < MIN_CLASSES:
        return [Finding(WRONG, "target", f"{dataset.target} has one class only, {labels[0]}")]
    sizes = ", ".join(f"{label}: {count}" for label, count in zip(labels, counts, strict=True))
    return [Finding(OK, "target", f"{dataset.target} with the rows of each class: {sizes}")]


def check_cells(part: Part) -> list[Finding]:
    """Require features without infinite cells, and count those that are missing."""
    dataset: Dataset = part.build()
    numbers = dataset.X.select_dtypes("number")
    infinite = [str(name) for name in numbers if np.isinf(numbers[name].to_numpy(dtype=float)).any()]
    if infinite:
        return [Finding(WRONG, "cells", f"column {infinite[0]} holds infinite values; make them missing")]
    missing = dataset.X.isna().sum()
    with_missing = [f"{name}: {count}" for name, count in missing.items() if count]
    text = f"missing cells: {', '.join(with_missing)}" if with_missing else "no cell is missing"
    return [Finding(OK, "cells", text)]


def check_repetition(part: Part) -> list[Finding]:
    """Require that the dataset is the same whenever it is loaded, because runs are compared by its fingerprint."""
    first: Dataset = part.build()
    second: Dataset = part.build()
    if first.digest() != second.digest():
        text = "it differs when it is loaded again, so that no two runs can be compared; draw from a fixed seed"
        return [Finding(WRONG, "repetition", text)]
    return [Finding(OK, "repetition", f"the same each time, digest {first.digest()}")]
