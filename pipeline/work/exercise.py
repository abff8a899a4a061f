"""Exercises: a calculation with boxes in place of some of its results."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bakeoff.learners.definitions.steps import Step
from bakeoff.pipeline.work.calculation import HandCalculation
from bakeoff.pipeline.work.numbers import BOX, EQUALS

DIGIT = re.compile(r"(?<![\w.])\.?\d+(?!\w)")
"""The beginning of a number, unless it is a part of a name or a factor, as in x1, log2 and 2v."""
EQUATIONS = re.compile(r", (?=[^=,()]+ = )")
"""Separates the equations of a formula."""
DECIMAL = re.compile(r"\d+\.\d{2,}(e[+-]?\d+)?")
"""A number that is long enough to be recognised where it occurs again."""
CONDITION = re.compile("[=<>≤≥]")
NAME_LINE = f"Name: {'…' * 20}"


def blank_results(calculation: HandCalculation, share: float, seed: int | None = None) -> HandCalculation:
    """Return a calculation without its last line and without a share of its results.

    Parameters
    ----------
    calculation : HandCalculation
    share : float
        The share of the steps with results whose results are left out.
    seed : int, optional
        Draws these steps, later ones with a higher probability; by default they are the last ones.
    """
    # The last step states the learner's own answer; a single step has none.
    steps = calculation.steps if calculation.learner is None else calculation.steps[:-1]
    blanked = choose_steps(steps, share, seed)
    sheet = "" if seed is None else f" Sheet {seed}"
    return replace(
        calculation,
        header=(NAME_LINE + sheet, *calculation.header),
        steps=tuple(_hide_results(steps, blanked)),
        answer=(),
        learner_answer=(),
    )


def choose_steps(steps: Sequence[Step], share: float, seed: int | None) -> list[int]:
    """Return the positions of the steps whose results are left out, in order."""
    positions = [position for position, step in enumerate(steps) if has_result(step)]
    count = round(share * len(positions))
    if seed is None:
        return positions[len(positions) - count :]
    weights = np.arange(1, len(positions) + 1)
    drawn = np.random.default_rng(seed).choice(positions, count, replace=False, p=weights / weights.sum())
    return sorted(drawn.tolist())


def has_result(step: Step) -> bool:
    """Whether a step has a number or a choice that can be left out."""
    blank = blank_step(step)
    return BOX in f"{blank.formula}{blank.chosen}{blank.table}"


def blank_step(step: Step) -> Step:
    """Return a step with boxes in place of its results, and without its drawing."""
    headings, rows = step.table[:1], step.table[1:]
    words = set(re.findall(r"\w+", step.chosen))
    if words.issuperset(str(row[0]) for row in rows):
        # The rows of the table are themselves the choice.
        rows = tuple((BOX,) * len(row) for row in rows)
    return replace(
        step,
        formula=blank_formula(step.formula),
        chosen=_blank_choice(step),
        table=(*headings, *((name, *map(_blank_cell, cells)) for name, *cells in rows)),
        rows=() if words.issuperset(map(str, step.rows)) else step.rows,
        values={},
        drawing=None,
        answer=None,
        response=(),
    )


def blank_formula(formula: str) -> str:
    """Return a formula with boxes from the first part with numbers on.

    Examples
    --------
    >>> blank_formula("H = -Σ p log2 p = 5/14·log2(14/5) + 9/14·log2(14/9) = 0.94")
    'H = -Σ p log2 p = [………] = [………]'
    >>> blank_formula("ω = (0.0, 1.0), b = 0.5")
    'ω = [………], b = [………]'
    """
    return ", ".join(map(_blank_equation, EQUATIONS.split(formula)))


def _blank_choice(step: Step) -> str:
    """Return the box of a choice, after its name if the sentence gives it as well."""
    name, sign, _ = step.chosen.rpartition(EQUALS)
    is_given = sign and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", step.sentence)
    return name + sign + BOX if is_given else BOX if step.chosen else ""


def _blank_equation(equation: str) -> str:
    first, *others = equation.split(EQUALS)
    is_shown = True
    parts = [first]
    for part in others:
        is_shown = is_shown and DIGIT.search(part) is None
        parts.append(part if is_shown else BOX)
    return EQUALS.join(parts)


def _blank_cell(cell: Any) -> Any:
    return BOX if DIGIT.search(str(cell)) else cell


def _hide_results(steps: Sequence[Step], blanked: Collection[int]) -> Iterator[Step]:
    """Yield steps; what is left out in one is left out of the following ones as well."""
    choices: list[str] = []
    numbers: list[str] = []
    places = {""}
    for position, step in enumerate(steps):
        is_first = min(blanked, default=position) >= position
        shown = blank_step(step) if position in blanked else step
        if is_first:
            places.add(step.place)
            yield shown
        elif position in blanked and CONDITION.search(step.place) and step.place not in places:
            # The condition of a node is a choice, and its rows follow from it.
            yield _conceal(replace(shown, place="", rows=()), choices, numbers)
        else:
            yield _conceal(shown, choices, numbers)
        if position in blanked:
            choices += [step.chosen] if step.chosen else []
            numbers += filter(DECIMAL.fullmatch, (f"{abs(value)}" for value in step.values.values()))


def _conceal(step: Step, choices: Sequence[str], numbers: Sequence[str]) -> Step:
    """Return a step without its drawing, and with boxes in place of earlier choices and numbers."""

    def hide(cell: Any) -> Any:
        return _hide(f"{cell}", numbers) if isinstance(cell, str | float) else cell

    return replace(
        step,
        formula=hide(step.formula),
        chosen=hide(step.chosen),
        place=_hide(step.place, choices),
        table=tuple(tuple(map(hide, row)) for row in step.table),
        drawing=None,
    )


def _hide(text: str, secrets: Sequence[str]) -> str:
    if not secrets:
        return text
    return re.sub(rf"(?<![\w.])(?:{'|'.join(map(re.escape, secrets))})(?![\w.])", BOX, text)
