"""Notes: what a reader must know beside the numbers of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.comparison.analysis.choices import ChosenRows, describe_chosen
from bakeoff.pipeline.comparison.comparison import ComparedDataset, ComparedMetric, Settings
from bakeoff.pipeline.text.words import join_words


def write_notes(
    chosen: ChosenRows,
    metrics: Sequence[ComparedMetric],
    datasets: Sequence[ComparedDataset],
    settings: Settings,
) -> list[str]:
    """Return what a reader must know beside the numbers.

    Parameters
    ----------
    chosen : ChosenRows
    metrics : sequence of ComparedMetric
    datasets : sequence of ComparedDataset
    settings : Settings
    """
    notes = [choice.sentence for choice in chosen.choices]
    notes += [f"Chosen: {describe_chosen(cell)}." for cell in chosen.cells.values() if cell.chosen]
    rows = {row.name for row in chosen.rows}
    empty = [cell for cell in chosen.cells.values() if cell.reason and cell.configuration in rows]
    notes += [f"Empty: {cell.configuration} on {cell.dataset}: {cell.reason}." for cell in empty]
    notes += [f"{row.name} has no scores, and is left out." for row in chosen.others if _is_empty(row.name, chosen)]
    notes += _write_ratio_notes(chosen, datasets)
    notes += _write_look_notes(chosen, datasets)
    relative = [metric.label for metric in metrics if metric.is_rope_relative]
    if relative:
        notes.append(
            f"The region of practical equivalence of {join_words(relative)} is a fraction of the base's mean on each "
            "dataset, because the size of these values depends on the dataset."
        )
    if not settings.is_base_given:
        by = " by mean rank" if len(datasets) > 1 else ""
        notes.append(f"The base is {settings.base}, the best{by}; base=NAME names another.")
    return notes


def _write_look_notes(chosen: ChosenRows, datasets: Sequence[ComparedDataset]) -> list[str]:
    """Say where more configurations have been scored on the same test rows than are compared."""
    # The configurations of this comparison are looks as well, but the reader sees them here.
    n_compared = len(chosen.rows) + len(chosen.others)
    seen = [f"{dataset.n_looks} on {dataset.name}" for dataset in datasets if dataset.n_looks > n_compared]
    if not seen:
        return []
    return [
        f"This store has scored more configurations on the same test rows than the {n_compared} here: "
        f"{', '.join(seen)}. The more looks, the more the best score is optimistic."
    ]


def _write_ratio_notes(chosen: ChosenRows, datasets: Sequence[ComparedDataset]) -> list[str]:
    """Say where configurations were fitted on different numbers of rows."""
    notes = []
    for dataset in datasets:
        own = [chosen.cells[row.name, dataset.name] for row in chosen.rows]
        sizes = sorted({cell.n_train for cell in own if not cell.reason})
        if len(sizes) > 1:
            notes.append(
                f"On {dataset.name}, training parts have from {sizes[0]:.0f} to {sizes[-1]:.0f} rows, because some "
                "configurations set validation rows aside; each pair is corrected by its larger n_test / n_train."
            )
    return notes


def _is_empty(name: str, chosen: ChosenRows) -> bool:
    return all(cell.reason for (own, _), cell in chosen.cells.items() if own == name)
