"""The memory that a fit needs for pairs of rows, compared with that of this machine before the first fit."""

from __future__ import annotations

from typing import Any

from bakeoff import learners
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.machine_memory import BYTES_OF_GIGABYTE, read_machine_bytes, to_gigabytes
from bakeoff.pipeline.stages.splitting import Splits

NOTED_BYTES = BYTES_OF_GIGABYTE // 2
"""A fit that needs more memory is said before it begins."""


def check_memory(experiment: Experiment, splits: Splits) -> None:
    """Reject a fit that needs more memory for pairs of rows than the machine has.

    Raises
    ------
    UserError
    """
    n_rows = max(len(split.train) for split in splits.fitted)
    if exceeds_memory(experiment.learner, n_rows):
        raise UserError(
            f"learner: {describe_memory(experiment.learner, n_rows)}; this machine has "
            f"{to_gigabytes(read_machine_bytes())}. Choose another learner, or fewer rows for training."
        )


def exceeds_memory(learner: Any, n_rows: int) -> bool:
    """Return whether a fit on some number of rows needs more memory for pairs of them than the machine has."""
    needed = learners.estimate_pairwise_bytes(learner, n_rows)
    return needed > 0 and needed > read_machine_bytes()


def note_memory(experiment: Experiment) -> str:
    """Return a sentence about a fit that needs much memory for pairs of rows; empty for all others."""
    n_rows = len(experiment.dataset.y)
    if learners.estimate_pairwise_bytes(experiment.learner, n_rows) < NOTED_BYTES:
        return ""
    return describe_memory(experiment.learner, n_rows)


def describe_memory(learner: Any, n_rows: int) -> str:
    """Return what a fit on some number of rows needs, and how it grows."""
    needed = to_gigabytes(learners.estimate_pairwise_bytes(learner, n_rows))
    return (
        f"{type(learner).__name__} needs about {needed} for the pairs of {n_rows:,} rows; its memory grows with the "
        "square of the rows, its time with the cube"
    )
