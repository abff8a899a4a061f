"""What a command about a line prints, the same for programs, and the page of a line in MLflow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.commands.accept.line import Decision, Final, Line
from bakeoff.pipeline.tables.markup import render_markdown
from bakeoff.pipeline.tables.table import align_lines, make_table
from bakeoff.pipeline.text.wording import count_nouns, format_change, format_score, shorten_id
from bakeoff.pipeline.tracking.store_writer import MAX_TAG_LETTERS

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.accept.judgement import Answer

FORMAT = 1
"""The version of the JSON document."""
UNDEFINED = (math.inf, -math.inf)
MAX_ROWS = 40
WORDS = {True: "KEEP", False: "NO"}
COLUMNS = ["answer", "try", "gain", "p", "run", "configuration"]


def list_lines(answer: Answer) -> list[str]:
    """Return an answer as lines of text."""
    line = answer.line
    if answer.is_final:
        return [_describe_line(line), *_list_final(line)]
    if answer.decision is None:
        return _list_overview(answer)
    return [*_list_decision(line, answer.decision), f"    {_describe_reserve(line)}"]


def _list_decision(line: Line, decision: Decision) -> list[str]:
    interval = f"({format_change(decision.lower)} to {format_change(decision.upper)})"
    level = write_p(decision.level)
    lines = [
        f"try {decision.number} of {line.tries} on these rows: {decision.name}",
        f"    against the {_name_champion(line, decision)}",
        f"{WORDS[decision.is_kept]}  {format_change(decision.difference)} {interval} {line.metric}, "
        f"p = {write_p(decision.p)}; a keep in this line needs p < {level}",
    ]
    if math.isnan(decision.findable):
        return [*lines, "    all folds differ by the same amount, which does not show how much chance moves it"]
    return [
        *lines,
        f"    these folds would find {format_change(decision.findable)} four times of five at this level; "
        f"{count_nouns(max(0, line.tries - len(line.counted)), 'try', 'tries')} left",
    ]


def _name_champion(line: Line, decision: Decision) -> str:
    kept = next((each for each in line.kept if each.run_id == decision.champion), None)
    when = "the base" if kept is None else f"kept at try {kept.number}"
    return f"champion (run {shorten_id(decision.champion)}, {when})"


def _describe_line(line: Line) -> str:
    direction = "greater" if line.is_greater_better else "smaller"
    return (
        f"line {line.name}: {line.metric} ({direction} is better) on {len(line.base.scores)} folds of {line.dataset}, "
        f"alpha {line.alpha:g}, margin {line.margin:g}"
    )


def _list_overview(answer: Answer) -> list[str]:
    line = answer.line
    n_left = line.tries - len(line.counted)
    used = "used up: no run can be kept any more" if n_left <= 0 else f"{n_left} left"
    lines = [
        _describe_line(line),
        f"{len(line.counted)} of {count_nouns(line.tries, 'try', 'tries')} ({used}); "
        f"{len(line.decisions)} judged, {len(line.kept)} kept; each needs p < {write_p(line.level)}",
        f"champion: {line.champion.name} (run {shorten_id(line.champion.run_id)})",
    ]
    lines += align_lines(make_table("", [""] * len(COLUMNS), _list_rows(line.decisions))) if line.decisions else []
    return [*lines, *(_list_final(line) if line.final else [_describe_reserve(line)]), f"SHA-256 {answer.digest}"]


def _describe_reserve(line: Line) -> str:
    if not line.reserve:
        return "reserved rows: none (evaluation.reserve=0.2 sets some aside for a new line)"
    return "reserved rows: untouched" if line.final is None else "reserved rows: scored, so the line has ended"


def _list_final(line: Line) -> list[str]:
    final = line.final
    assert final is not None
    lines = [
        f"{line.champion.name} against the first base, {line.base.name}, on {final.n_rows} reserved rows: "
        f"{format_score(final.champion)} and {format_score(final.base)} {line.metric}",
        f"{'BETTER' if final.is_better else 'NOT SHOWN TO BE BETTER'}  {format_change(final.difference)} "
        f"({format_change(final.lower)} to {format_change(final.upper)}), p = {write_p(final.p)}",
    ]
    if final.unproved:
        lines.append(
            f"    {len(final.unproved)} of {len(line.earlier) + len(line.counted)} configurations do not show that "
            "they left these rows alone"
        )
    return lines


def write_p(p: float) -> str:
    """Return a p-value or a level with two digits.

    Examples
    --------
    >>> write_p(0.0005), write_p(0.213)
    ('.0005', '.21')
    """
    return f"{p:.2g}".removeprefix("0")


def describe_answer(answer: Answer) -> dict[str, Any]:
    """Return an answer for programs: plain values, numbers unrounded, and None for what is not defined."""
    line, decision = answer.line, answer.decision
    verdict = "open" if decision is None else WORDS[decision.is_kept].lower()
    return {
        "version": FORMAT,
        "verdict": _name_final(line.final) if answer.is_final else verdict,
        "line": line.name,
        "decision": _tidy(asdict(decision)) if decision else None,
        "tries": line.tries,
        "counted": len(line.counted),
        "left": max(0, line.tries - len(line.counted)),
        "alpha": line.alpha,
        "level": line.level,
        "margin": line.margin,
        "metric": line.metric,
        "greater_is_better": line.is_greater_better,
        "dataset": line.dataset,
        "base": {"run_id": line.base.run_id, "name": line.base.name},
        "champion": {"run_id": line.champion.run_id, "name": line.champion.name},
        "decisions": [_tidy(asdict(each)) for each in line.decisions],
        "reserve": "scored" if line.final else "untouched" if line.reserve else "none",
        "final": _tidy(asdict(line.final)) if line.final else None,
        "notes": list(answer.notes),
        "sha256": answer.digest,
    }


def _name_final(final: Final | None) -> str:
    return "better" if final is not None and final.is_better else "not better"


def _tidy(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in values.items()
    }


def _list_rows(decisions: Sequence[Decision]) -> list[list[str]]:
    return [
        [
            WORDS[each.is_kept],
            f"try {each.number}",
            format_change(each.difference),
            f"p = {write_p(each.p)}",
            f"run {shorten_id(each.run_id)}",
            each.name,
        ]
        for each in decisions
    ]


def write_page(line: Line) -> str:
    """Return the page of a line in MLflow: its rules, and a table of its last decisions."""
    rows = _list_rows(line.decisions[-MAX_ROWS:])
    champion = f"champion: {line.champion.name} (run {line.champion.run_id})"
    counted = f"{len(line.counted)} of {line.tries} tries are used; each needs p < {write_p(line.level)}"
    ending = _list_final(line) if line.final else [_describe_reserve(line)]
    table = render_markdown(make_table("decisions", COLUMNS, rows)) if rows else []
    return "\n\n".join([_describe_line(line), counted, champion, *ending, "\n".join(table)])[:MAX_TAG_LETTERS]
