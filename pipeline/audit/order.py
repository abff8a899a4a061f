"""The order of the rows: an evaluation in the order of time that does not know the times of the rows."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.dataset.column import DATE


def find_unread_dates(experiment: Experiment) -> Iterator[str]:
    """Yield a sentence if rows are taken in the order of the source, although a column has dates that order them."""
    dataset = experiment.dataset
    if not experiment.splitter.keeps_order or dataset.times is not None:
        return
    names = [column.name for column in dataset.columns if column.kind == DATE]
    if names:
        yield (
            f"dataset={dataset.name}: the evaluation takes the rows in the order of the source, but column "
            f"{names[0]!r} holds dates; order the rows by it with dataset.time={names[0]}."
        )
