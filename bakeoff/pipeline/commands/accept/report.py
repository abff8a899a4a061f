"""What a command about a line prints, the same for programs, and the page of a line in MLflow."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bakeoff.pipeline.commands.accept.line import Decision, Line
from bakeoff.pipeline.tables.table import align_lines, make_table
from bakeoff.pipeline.text.wording import count_nouns, format_change, format_score, shorten_id
from bakeoff.pipeline.tracking.store_writer import MAX_TAG_LETTERS

MAX_ROWS = 40
"""The number of decisions on a page, whose length MLflow limits."""


def list_lines(line: Line, decision: Decision | None, is_final: bool, digest: str) -> list[str]:
    """Return an answer as lines of text."""
    if is_final:
        return _list_final(line)
    if decision is None:
        return [*_list_overview(line, line.decisions), f"SHA-256 {digest}"]
    kept = line.kept.get(decision.champion)
    when = f"kept at try {kept.number}" if kept else "the base"
    found = f"would find {format_change(decision.findable)} four times of five at this level"
    if math.isnan(decision.findable):
        found = "differ by the same amount, which does not show how much chance moves it"
    return [
        f"try {decision.number} of {line.tries} on these rows: {decision.name}",
        f"    against the champion (run {shorten_id(decision.champion)}, {when})",
        f"{decision.answer.upper()}  {_write_gain(decision.difference, decision.lower, decision.upper)} "
        f"{line.rules.metric}, p = {write_p(decision.p)}; a keep in this line needs p < {write_p(decision.level)}",
        f"    these {decision.n_folds} folds {found}; {count_nouns(line.n_left, 'try', 'tries')} left",
        *_list_final(line),
    ]


def _list_overview(line: Line, decisions: Sequence[Decision]) -> list[str]:
    rules = line.rules
    direction = "greater" if rules.greater_is_better else "smaller"
    used = f"{line.n_left} left" if line.n_left else "used up: what is scored from now on cannot be kept"
    rows = [
        [
            each.answer.upper(),
            f"try {each.number}",
            format_change(each.difference),
            f"p = {write_p(each.p)}",
            f"run {shorten_id(each.run_id)}",
            each.name,
        ]
        for each in decisions
    ]
    return [
        f"line {line.name}: {rules.metric} ({direction} is better) on {len(line.base.scores)} folds of "
        f"{rules.dataset}, alpha {line.alpha:g}, margin {line.margin:g}",
        f"{len(line.counted)} of {count_nouns(line.tries, 'try', 'tries')} ({used}); {len(line.decisions)} judged, "
        f"{len(line.kept)} kept; each needs p < {write_p(line.level)}",
        f"champion: {line.champion.name} (run {shorten_id(line.champion.run_id)})",
        *(align_lines(make_table("", [""] * len(rows[0]), rows)) if rows else []),
        *_list_final(line),
    ]


def _list_final(line: Line) -> list[str]:
    """Return what is known of the reserved rows."""
    final = line.final
    if final is None:
        cure = "none; evaluation.reserve=0.2 sets some aside for a new line"
        return [f"    reserved rows: {'untouched' if line.rules.reserve else cure}"]
    lines = [
        f"{line.champion.name} against the first base, {line.base.name}, on {final.n_rows} reserved rows: "
        f"{format_score(final.champion)} and {format_score(final.base)} {line.rules.metric}",
        f"{'BETTER' if final.is_better else 'NOT SHOWN TO BE BETTER'}  "
        f"{_write_gain(final.difference, final.lower, final.upper)}, p = {write_p(final.p)}",
    ]
    if final.unproved:
        n_all = len(line.earlier) + len(line.counted)
        lines.append(f"    {len(final.unproved)} of {n_all} configurations do not show that they left these rows alone")
    return lines


def _write_gain(difference: float, lower: float, upper: float) -> str:
    return f"{format_change(difference)} ({format_change(lower)} to {format_change(upper)})"


def write_p(p: float) -> str:
    """Return a p-value or a level with two digits.

    Examples
    --------
    >>> write_p(0.0005), write_p(0.213)
    ('.0005', '.21')
    """
    return f"{p:.2g}".removeprefix("0")


def write_page(line: Line) -> str:
    """Return the page of a line in MLflow: its rules, and a table of its last decisions."""
    listed = [each.replace("```", "'''") for each in _list_overview(line, line.decisions[-MAX_ROWS:])]
    return "\n".join(["```", *listed, "```"])[:MAX_TAG_LETTERS]
