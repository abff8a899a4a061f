"""Configurations that students hand in, run in a process with limits and without trust, and compared with a claim."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from bakeoff.pipeline.commands.grade.answers import read_text
from bakeoff.pipeline.config.options import load_yaml
from bakeoff.pipeline.config.requests import Bounds, Request, Word
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.python.call import make_words
from bakeoff.pipeline.text.wording import format_score

PROCESS = "bakeoff.pipeline.commands.grade.claim_process"
EXAMPLE = "{task: …, words: [dataset=wine], may: [learner], at_least: {accuracy: 0.9}}"
INHERITED = ("PATH", "PYTHONPATH", "SYSTEMROOT", "HOME", "TMPDIR")
"""Variables of the environment that the process receives."""


@dataclass(frozen=True, kw_only=True)
class Exercise(Request):
    """An exercise that asks for a configuration.

    Attributes
    ----------
    task : str
        What is asked for.
    words : tuple of str
        What is given, such as dataset=wine.
    may : tuple of str
        The keys that an answer may set, with all keys below them.
    at_least, at_most : mapping of str to float
        The claim: a mean score on test rows, or a number of the configuration -> its bound.
    seconds : float
        The time that a run may take.
    gigabytes : float
        The memory that a run may take.
    """

    task: str
    words: tuple[str, ...]
    may: tuple[str, ...]
    at_least: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)
    seconds: Annotated[float, Word(allowed=Bounds(1, 3600))] = 60.0
    gigabytes: Annotated[float, Word(allowed=Bounds(1, 64))] = 4.0

    def list_bounds(self) -> Iterator[tuple[str, str, float]]:
        """Yield name, sign and bound of each part of the claim."""
        yield from ((name, "≥", bound) for name, bound in self.at_least.items())
        yield from ((name, "≤", bound) for name, bound in self.at_most.items())

    def run(self, answer: Path) -> dict[str, float]:
        """Return the scores and numbers of the configuration that an answer describes.

        Raises
        ------
        UserError
            The answer is no configuration, sets a key that it may not, or its run failed or exceeded the limits.
        """
        given = load_yaml(read_text(answer), str(answer))
        if not isinstance(given, dict) or not given:
            raise UserError(f"{answer.name} is no configuration, such as {{{self.may[0]}: VALUE}}")
        words = make_words(given)
        for key in (word.partition("=")[0] for word in words):
            if not any(key == allowed or key.startswith(f"{allowed}.") for allowed in self.may):
                raise UserError(f"{answer.name} sets {key}. {did_you_mean(key, self.may)}")
        command = [sys.executable, "-m", PROCESS, str(self.gigabytes), *self.words, *words]
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        try:
            ended = subprocess.run(command, env=environment, capture_output=True, timeout=self.seconds, check=False)
            return dict(json.loads(ended.stdout))
        except subprocess.TimeoutExpired:
            raise UserError(f"the run took more than {self.seconds:g} seconds") from None
        except ValueError:
            lines = ended.stderr.decode(errors="replace").strip().splitlines()
            raise UserError(f"the run failed: {lines[-1] if lines else 'it was ended'}") from None


def read_exercise(path: Path) -> Exercise:
    """Read the file of an exercise.

    Raises
    ------
    UserError
        A key is unknown or missing, or a bound is no number.
    """
    given = load_yaml(read_text(path), str(path))
    fields = Exercise.__dataclass_fields__
    for key in given if isinstance(given, dict) else [path.name]:
        if key not in fields:
            raise UserError(f"{path}: {key} is not a key. {did_you_mean(str(key), fields)}")
    try:
        exercise = Exercise(**given)
        bounds = [float(bound) for _, _, bound in exercise.list_bounds()]
    except (TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path} is no exercise ({error}); write {EXAMPLE}.") from None
    if not bounds or not exercise.may:
        raise UserError(
            f"{path} claims nothing; give at_least: {{accuracy: 0.9}}, and the keys in may: that answers set."
        )
    return exercise


def judge_claim(exercise: Exercise, answer: Path) -> dict[str, Any]:
    """Return the points of an answer, one for each part of the claim that holds, and the reasons."""
    bounds = [*exercise.list_bounds()]
    try:
        found = exercise.run(answer)
        reasons, points = [], 0
        for name, sign, bound in bounds:
            number = found.get(name, math.nan)
            holds = number >= bound if sign == "≥" else number <= bound
            points += holds
            reasons.append(f"{name} = {format_score(number)} is {'' if holds else 'not '}{sign} {bound:g}")
    except UserError as error:
        points, reasons = 0, [str(error)]
    return {"answer": answer.name, "points": points, "of": len(bounds), "reason": "; ".join(reasons)}
