"""The time of a fit on tables of two sizes, and of predictions for a thousand rows, and how it grows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from bakeoff.pipeline.part_check.finding import NOTE, UNCHECKED, Finding
from bakeoff.pipeline.part_check.learner_check import find_task, fit_quietly
from bakeoff.pipeline.part_check.made_tables import make_numbers
from bakeoff.pipeline.part_check.part import Part
from bakeoff.pipeline.text.numbers import format_count, format_seconds
from bakeoff.pipeline.text.words import count_nouns

SMALL_ROWS = 1_000
LARGE_ROWS = 10_000
N_FEATURES = 10
WARM_ROWS = 100
PREDICTED_ROWS = 1_000
MAX_SECONDS = 60.0
"""The larger table is left out if it may take longer."""
STEEP = 1.5
"""The power of the number of rows above which the growth is said."""


def check_speed(part: Part) -> list[Finding]:
    """Measure a fit on 1,000 and on 10,000 rows of ten columns, and predictions for 1,000 rows after each."""
    learner = part.build()
    # The first call of many functions is the slow one.
    _measure(learner, WARM_ROWS)
    small = _measure(learner, SMALL_ROWS)
    findings = [Finding(NOTE, "speed", _describe(SMALL_ROWS, small))]
    growth = (LARGE_ROWS / SMALL_ROWS) ** 2
    if max(small) * growth > MAX_SECONDS:
        text = f"{count_nouns(LARGE_ROWS, 'row')}, which may take more than {format_seconds(MAX_SECONDS)}"
        return [*findings, Finding(UNCHECKED, "speed", text)]
    large = _measure(learner, LARGE_ROWS)
    powers = [math.log(after / before, LARGE_ROWS / SMALL_ROWS) for before, after in zip(small, large, strict=True)]
    text = f"{_describe(LARGE_ROWS, large)}; they grow as n^{powers[0]:.1f} and n^{powers[1]:.1f}"
    if max(powers) > STEEP:
        text += f", so that 100,000 training rows take about {format_seconds(_extrapolate(large, powers), digits=2)}"
    return [*findings, Finding(NOTE, "speed", text)]


def _measure(learner: Any, n: int) -> tuple[float, float]:
    """Return the seconds of a fit on n rows of ten columns, and of predictions for 1,000 of such rows."""
    made = make_numbers(find_task(learner), n, N_FEATURES)
    further = make_numbers(find_task(learner), PREDICTED_ROWS, N_FEATURES).X
    fitted, fit_seconds = _time(lambda: fit_quietly(learner, made))
    _, predict_seconds = _time(lambda: fitted.predict(further))
    return fit_seconds, predict_seconds


def _time(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    returned = call()
    return returned, time.perf_counter() - start


def _describe(n: int, seconds: tuple[float, float]) -> str:
    fit, predict = (format_seconds(each) for each in seconds)
    rows = count_nouns(n, "row")
    return f"fit on {rows} of {N_FEATURES} columns {fit}, predict {format_count(PREDICTED_ROWS)} {predict}"


def _extrapolate(seconds: tuple[float, float], powers: list[float]) -> float:
    """Return the seconds of both at ten times the rows."""
    ratio = LARGE_ROWS / SMALL_ROWS
    return sum(each * ratio**power for each, power in zip(seconds, powers, strict=True))
