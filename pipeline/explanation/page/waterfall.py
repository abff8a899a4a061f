"""The way from the mean prediction to that of a row, one step for each column, as coordinates of a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bakeoff.pipeline.explanation.numbers import format_change, format_output
from bakeoff.pipeline.explanation.page.charts import BAR_WIDTH
from bakeoff.pipeline.explanation.row_explanation import RowExplanation


@dataclass(frozen=True)
class Step:
    """One row of a waterfall.

    Attributes
    ----------
    name, amount, error : str
    x, width : float
        Of the bar, in CSS pixels.
    kind : {"plus", "minus", "total"}
    end : float
        Where the sum is after this step.
    """

    name: str
    amount: str
    error: str
    x: float
    width: float
    kind: str
    end: float


@dataclass(frozen=True)
class Change:
    """What a column, or the rest of them, adds to an output."""

    name: str
    amount: float
    error: str = ""


def draw_waterfall(row: RowExplanation, output: int, background: str, max_steps: int) -> list[Step]:
    """Return the way from the mean prediction to that of a row, one step for each column.

    Parameters
    ----------
    row : RowExplanation
    output : int
        The position of the output.
    background : str
        The rows that the mean is of.
    max_steps : int
        The smallest contributions beyond this number are one step, and so are those that are rounded to zero.
    """
    changes = _list_changes(row, output, max_steps)
    mean = row.means[output]
    sums = [mean]
    for change in changes:
        sums.append(sums[-1] + change.amount)
    low = min(sums)
    span = (max(sums) - low) or 1.0

    def place(value: float) -> float:
        return round((value - low) / span * BAR_WIDTH, 2)

    start = _make_total(f"mean of {row.background} {background}", mean, place)
    steps = [start]
    for position, change in enumerate(changes):
        steps.append(_make_step(change, place(sums[position]), place(sums[position + 1])))
    return [*steps, _make_total("this row", row.outputs[output], place)]


def _list_changes(row: RowExplanation, output: int, max_steps: int) -> list[Change]:
    """Return the contributions to an output, the largest first; the smallest ones together."""
    ranked = sorted(row.contributions, key=lambda each: -abs(each.values[output]))
    n_seen = sum(bool(format_output(each.values[output]).strip("−0.")) for each in ranked)
    n_shown = min(n_seen, max_steps)
    changes = []
    for each in ranked[:n_shown]:
        error = "" if row.is_exact else format_output(each.errors[output])
        changes.append(Change(f"{each.column} = {each.cell}", each.values[output], error))
    rest = ranked[n_shown:]
    if rest:
        name = "1 further column" if len(rest) == 1 else f"{len(rest)} further columns"
        changes.append(Change(name, sum(each.values[output] for each in rest)))
    return changes


def _make_step(change: Change, before: float, after: float) -> Step:
    kind = "plus" if change.amount >= 0 else "minus"
    width = round(abs(after - before), 2)
    return Step(change.name, format_change(change.amount), change.error, min(before, after), width, kind, after)


def _make_total(name: str, value: float, place: Callable[[float], float]) -> Step:
    x = place(value)
    return Step(name, format_output(value), "", x, 0.0, "total", x)
