"""What further rows have that training did not have, a sentence or more for each column."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset.columns import FurtherRows

MAX_SHOWN_VALUES = 5


def report_rows(record: TrainingRecord, rows: FurtherRows) -> list[str]:
    """Return a sentence for each column with values or missing cells that training did not have.

    Parameters
    ----------
    record : TrainingRecord
    rows : FurtherRows
    """
    lines = []
    m = len(rows.frame)
    for trained, found in zip(record.feature_columns, rows.columns, strict=True):
        # The cure of a training file, which follows the key, is none for the rows of a model.
        lines += [sentence.partition(" dataset.")[0] for sentence in found.suspicions if trained.kind == "numeric"]
        unseen = rows.unseen.get(trained.name)
        if unseen:
            lines.append(f"{trained.name}: {_list_unseen(unseen, m)}")
        if not record.is_partial and found.n_missing and not trained.n_missing:
            lines.append(f"{trained.name}: {found.n_missing} of {m} cells are missing; none was missing in training.")
    return lines


def _list_unseen(unseen: Mapping[str, int], m: int) -> str:
    """Return which values were not seen in training, the most frequent first."""
    ranked = sorted(unseen, key=lambda value: -unseen[value])
    # A value with spaces around it cannot be told from one without them unless it is quoted.
    shown = ", ".join(repr(value) if value != value.strip() else value for value in ranked[:MAX_SHOWN_VALUES])
    n_more = len(ranked) - MAX_SHOWN_VALUES
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"{sum(unseen.values())} of {m} rows hold values not seen in training: {shown}{more}"
