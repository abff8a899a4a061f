"""Exercises: a calculation with boxes in place of some of its results."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count, dropwhile, islice, takewhile
from typing import Any

import numpy as np

from bakeoff.learners.definitions.steps import Step
from bakeoff.pipeline.commands.work.calculation import BOX, EQUALS, HandCalculation

FUNCTIONS = re.compile(r"\b(?:log2|ln|exp|max|min)\b")
LETTER = re.compile("[a-zα-ω]", re.IGNORECASE)
DATUM = re.compile(r"(?<![\w.])\d*\.?\d|\(-?\d+,")
"""A number, which is none within a name such as x1."""
LONG_DATUM = re.compile(r"(?<!\w)\d+[./]\d|\d{2}|\(-?\d+,")
"""Numbers that occur in calculations, but not in an equation of names such as G = Σ π (1 - π)."""
EQUATIONS = re.compile(r", (?=[^=,()]+ = )")
"""Separates the equations of a formula."""
GIVEN = ("α", "λ", "η", "h", "q", "C")
"""Parameters and the query, which the reader cannot calculate."""
SECRET = re.compile(r"\d+\.\d{2,}(e[+-]?\d+)?|\d+/\d+|√\d+|\(.*,.*\)")
"""A result that is recognised where it occurs again, unlike a single digit."""
CONDITION = re.compile(" [=<≥] ")
"""Separates the name of a feature in the place of a node."""
ROWS = "rows "
NAME_LINE = f"Name: {'…' * 20}"
MARKED = "Boxes with a name, such as b1, are marked; in the others and beside them is room to calculate."
WORKING = re.compile(r"(·| \+ )[^=]*$|y f\(x\)")
"""Occurs in what is written into a box on the way to a result, which has no single form."""
CHOICE = "→"
RULES = (
    "Fill in the boxes: numbers as fractions, or calculated from exact ones and then rounded to {} decimals; after an "
    "arrow, what is chosen. Branches and classes are in alphabetical order."
)


def blank_results(
    calculation: HandCalculation, share: float, seed: int | None = None, digits: int = 4
) -> HandCalculation:
    """Return a calculation without its last line and without a share of its results.

    Parameters
    ----------
    calculation : HandCalculation
    share : float
        The share of the steps with results whose results are left out.
    seed : int, optional
        Draws these steps, later ones with a higher probability; by default they are the last ones.
    digits : int
        Decimals of the numbers that the reader fills in.
    """
    # The last step states the learner's own answer; a single step has none.
    steps = calculation.steps if calculation.learner is None else calculation.steps[:-1]
    blanked = choose_steps(steps, share, seed)
    sheet = "" if seed is None else f" Sheet {seed}"
    return replace(
        calculation,
        header=(NAME_LINE + sheet, *calculation.header, RULES.format(digits)),
        steps=tuple(_hide_results(steps, blanked)),
        answer=(),
        learner_answer=(),
    )


def choose_steps(steps: Sequence[Step], share: float, seed: int | None) -> list[int]:
    """Return the positions of the steps whose results are left out, in order."""
    # Statements at the beginning, such as the initial values, are given.
    following = dropwhile(lambda pair: not (pair[1].values or pair[1].table or pair[1].chosen), enumerate(steps))
    positions = [position for position, step in following if has_result(step)]
    count = min(max(1, round(share * len(positions))), len(positions))
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
    chosen = set(re.findall(r"\d+", step.chosen))
    if chosen.issuperset(str(row[0]) for row in rows):
        # The rows of the table are themselves the choice.
        rows = tuple((BOX,) * len(row) for row in rows)
    return replace(
        step,
        formula=blank_formula(step.formula),
        chosen=_blank_choice(step),
        table=(*headings, *((name, *map(_blank_cell, cells)) for name, *cells in rows)),
        rows=() if chosen.issuperset(map(str, step.rows)) else step.rows,
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
    >>> blank_formula("P = (count + α)/(Σ count + 2·α), α = 1, b = 0.5")
    'P = (count + α)/(Σ count + 2·α), α = 1, b = [………]'
    """
    return ", ".join(map(_blank_equation, EQUATIONS.split(formula)))


def _blank_choice(step: Step) -> str:
    """Return the box of a choice, after what is chosen: rows, the target, or a name that the sentence gives as well."""
    if step.chosen.startswith(ROWS):
        return ROWS + BOX
    name, sign, _ = step.chosen.rpartition(EQUALS)
    is_given = step.answer is not None or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", step.sentence)
    return name + sign + BOX if sign and is_given else BOX if step.chosen else ""


def _blank_equation(equation: str) -> str:
    name, *others = equation.split(EQUALS)
    if name in GIVEN and len(others) == 1:
        return equation
    shown = [*takewhile(_is_symbolic, others)]
    return EQUALS.join([name, *shown, *(BOX for _ in others[len(shown) :])])


def _is_symbolic(part: str) -> bool:
    """Whether a part of an equation consists of names rather than of numbers."""
    has_names = LETTER.search(FUNCTIONS.sub("", part)) is not None
    return not (LONG_DATUM if has_names else DATUM).search(part)


def _blank_cell(cell: Any) -> Any:
    return BOX if DATUM.search(str(cell)) else cell


def _hide_results(steps: Sequence[Step], blanked: Collection[int]) -> Iterator[Step]:
    """Yield steps; what is left out in one is left out of the following ones as well."""
    choices: list[str] = []
    results: list[str] = []
    for position, step in enumerate(steps):
        shown = blank_step(step) if position in blanked else step
        yield _conceal(shown, choices, results) if position > min(blanked, default=position) else shown
        if position in blanked:
            choices.append(step.chosen)
            results += list_results(step)


def list_places(step: Step) -> Iterator[tuple[str, str, str]]:
    """Yield the places of results in a step: the column, the row, and the text there.

    The column of an equation is its symbol, and that of the choice is `CHOICE`.
    """
    for equation in EQUATIONS.split(step.formula):
        yield equation.split(EQUALS)[0], "", equation
    headings, *rows = step.table or [()]
    for row in rows:
        yield from ((str(heading), str(row[0]), f"{cell}") for heading, cell in zip(headings, row, strict=True))
    yield CHOICE, "", step.chosen


def write_places(step: Step, texts: Iterator[str]) -> Step:
    """Return a step with other texts in the places of its results."""
    return replace(
        step,
        formula=", ".join(islice(texts, len(EQUATIONS.split(step.formula)))),
        table=(*step.table[:1], *(tuple(islice(texts, len(row))) for row in step.table[1:])),
        chosen=next(texts),
    )


def name_boxes(sheet: HandCalculation, key: HandCalculation, code: str) -> tuple[HandCalculation, HandCalculation]:
    """Return a sheet and its key with the names b1, b2, … of the boxes whose results can be marked.

    The code of the sheet follows the line for the name of a student.
    """
    numbers = count(1)
    blanks, solved = [], []
    for blank, step in zip(sheet.steps, key.steps, strict=False):
        results = [result for *_, result in list_places(step)]
        texts = [text for *_, text in list_places(blank)]
        is_marked = [
            text.endswith(BOX) and not WORKING.search(result) for text, result in zip(texts, results, strict=True)
        ]
        names = [f"b{next(numbers)}" if each else "" for each in is_marked]
        boxes = (
            f"{text.removesuffix(BOX)}{name}{BOX}" if name else text for name, text in zip(names, texts, strict=True)
        )
        blanks.append(write_places(blank, boxes))
        tags = (f"{result} [{name}]" if name else result for name, result in zip(names, results, strict=True))
        solved.append(write_places(step, tags))
    return (
        replace(sheet, header=(f"{NAME_LINE} Sheet {code}", *sheet.header[1:], MARKED), steps=(*blanks,), code=code),
        replace(key, steps=(*solved, *key.steps[len(solved) :]), code=code),
    )


def list_results(step: Step) -> Iterator[str]:
    """Yield the results of a step that could be recognised in the following steps."""
    calculated = [each for each in EQUATIONS.split(step.formula) if BOX in _blank_equation(each)]
    texts = [*calculated, *(f"{cell}" for row in step.table[1:] for cell in row[1:])]
    for text in texts:
        result = text.split(EQUALS)[-1].lstrip("-")
        if SECRET.fullmatch(result):
            yield result


def _conceal(step: Step, choices: Sequence[str], results: Sequence[str]) -> Step:
    """Return a step without its drawing, and without what follows from earlier choices and results."""
    # Nothing matches (?!).
    pattern = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, results)) or '(?!)'})(?![\w.])")

    def hide(cell: Any) -> Any:
        return pattern.sub(BOX, f"{cell}") if isinstance(cell, str | float) else cell

    names = {CONDITION.split(choice)[0] for choice in choices}
    parts = step.place.split(", ")
    known = [part for part in parts if CONDITION.split(part)[0] not in names]
    numbers = set(re.findall(r"\d+", " ".join(choices)))
    return replace(
        step,
        formula=hide(step.formula),
        chosen=hide(step.chosen),
        place=", ".join(known),
        rows=step.rows if known == parts and not numbers.issuperset(map(str, step.rows)) else (),
        table=(*step.table[:1], *(tuple(map(hide, row)) for row in step.table[1:])),
        drawing=None,
    )
