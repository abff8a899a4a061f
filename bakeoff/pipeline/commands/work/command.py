"""``bakeoff work``: a calculation by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.work.request import WorkRequest


def work_by_hand(request: WorkRequest) -> int:
    """Show the calculation of a learner on a small table, step by step as on paper, and the learner's own answer.

    Raises
    ------
    UserError
        The learner has no calculation, the table is too large, or a query does not fit it.
    """
    from bakeoff.pipeline.commands.work.sheets import write_calculation

    write_calculation(request)
    return 0
