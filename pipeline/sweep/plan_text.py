"""A plan in words: how many jobs there are, in which states, and how long they take."""

from __future__ import annotations

from bakeoff.pipeline.sweep.planning import DONE, DUPLICATE, INVALID, TO_DO, Plan

SECONDS_PER_MINUTE = 60
SECONDS_PER_HOUR = 3600


def summarize_plan(plan: Plan) -> str:
    """Return how many jobs there are, and how many of each state.

    The state "to do" is always named, the others only if there are such jobs.
    """
    words = {TO_DO: "to run", DONE: "already done", DUPLICATE: "given twice", INVALID: "invalid"}
    counts = {state: len(plan.with_state(state)) for state in words}
    shown = [f"{count} {words[state]}" for state, count in counts.items() if count or state == TO_DO]
    return f"{count_jobs(len(plan.entries))}: {', '.join(shown)}"


def count_jobs(n: int) -> str:
    """Return a number of jobs with its noun."""
    return "1 job" if n == 1 else f"{n} jobs"


def format_duration(seconds: float) -> str:
    """Return a duration in the largest unit that fits.

    Examples
    --------
    >>> format_duration(8), format_duration(125), format_duration(7300)
    ('8 s', '2 min', '2.0 h')
    """
    if seconds < SECONDS_PER_MINUTE:
        return f"{seconds:.0f} s"
    if seconds < SECONDS_PER_HOUR:
        return f"{seconds / SECONDS_PER_MINUTE:.0f} min"
    return f"{seconds / SECONDS_PER_HOUR:.1f} h"
