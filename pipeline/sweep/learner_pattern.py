"""Learners that a pattern names: of ``learner=glob(*)``, those of a dataset's task become jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hydra.core.override_parser.types import Glob, Override
from sklearn.base import is_classifier, is_regressor

from bakeoff.pipeline.checks.cells import exceeds_memory
from bakeoff.pipeline.errors import MissingPackage, UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.sweep.jobs import ComposedJob
from bakeoff.pipeline.text.words import count_nouns

LEARNER_KEY = "learner"


@dataclass(frozen=True)
class LearnerPattern:
    """An override that names learners by a pattern.

    A learner that is named explicitly is refused if it is for the other task; a pattern does not ask for it.

    Attributes
    ----------
    text : str
        As it was written: ``learner=glob(*)``.
    names : tuple of str
        The learners of any task that it names.
    """

    text: str
    names: tuple[str, ...]

    def select_jobs(self, composed_jobs: Sequence[ComposedJob], resources: PartCache) -> tuple[list[ComposedJob], str]:
        """Return the jobs whose learner is for the task of their dataset, numbered anew, and a sentence on the others.

        Parameters
        ----------
        composed_jobs : sequence of ComposedJob
            Those that could not be composed, or whose data cannot be read, are kept: the plan shows why.
        resources : PartCache
            Reads the datasets.

        Raises
        ------
        UserError
            No job is left.
        """
        kept: list[ComposedJob] = []
        left_out: dict[LeftOut, set[str]] = {}
        for composed in composed_jobs:
            reason = _find_reason(composed, resources)
            if reason is None:
                kept.append(_renumber(composed, len(kept)))
            else:
                assert composed.invocation is not None
                left_out.setdefault(reason, set()).add(composed.invocation.choices[LEARNER_KEY])
        if not left_out:
            return kept, ""
        sentence = _describe(left_out)
        if not kept:
            raise UserError(
                f"{self.text} names no learner that can be fitted: {sentence}. "
                "Choose another pattern; `bakeoff list learner` shows all learners."
            )
        return kept, f"{self.text}: left out, because {sentence}"


class LeftOut(NamedTuple):
    """Why learners that a pattern names cannot be fitted.

    Attributes
    ----------
    reason : str
    place : str
        The dataset, or how a package is installed.
    noun : str
        What the learners are, if they are counted and not named.
    """

    reason: str
    place: str
    noun: str = ""

    def describe(self, names: set[str]) -> str:
        """Return the learners and the place."""
        return f"{count_nouns(len(names), self.noun) if self.noun else ', '.join(sorted(names))} {self.place}"


def _find_reason(composed: ComposedJob, resources: PartCache) -> LeftOut | None:
    """Return why a job is to be left out; None if it is kept, also with an error that the plan shows."""
    spec = composed.spec
    if spec is None:
        return None
    try:
        learner = resources.build(LEARNER_KEY, spec[LEARNER_KEY], spec["trust"])
        dataset = resources.get_dataset(spec)
    except MissingPackage as error:
        cure = str(error).partition("; ")[2].rstrip(".")
        return LeftOut("their package is not installed", f"({cure})")
    except Exception:  # the plan shows it as the reason of this job
        return None
    place = f"on {dataset.name}"
    kinds = {"classifier": is_classifier(learner), "regressor": is_regressor(learner)}
    wanted = "classifier" if dataset.is_classification else "regressor"
    other = next((noun for noun, is_kind in kinds.items() if is_kind), wanted)
    if not kinds[wanted] and other != wanted:
        return LeftOut("they are for the other task", place, other)
    return LeftOut("this machine has too little memory", place) if exceeds_memory(learner, len(dataset.y)) else None


def _describe(left_out: Mapping[LeftOut, set[str]]) -> str:
    """Return each reason once, with the learners and the places."""
    texts: dict[str, list[str]] = {}
    for each, names in left_out.items():
        texts.setdefault(each.reason, []).append(each.describe(names))
    return "; ".join(f"{reason}: {', '.join(described)}" for reason, described in texts.items())


def find_learner_pattern(overrides: Sequence[Override]) -> LearnerPattern | None:
    """Return the pattern that names the learners; None if they are named explicitly."""
    for override in overrides:
        if override.key_or_group == LEARNER_KEY and isinstance(override.value(), Glob):
            return LearnerPattern(str(override.input_line), tuple(override.sweep_string_iterator()))
    return None


def _renumber(composed: ComposedJob, number: int) -> ComposedJob:
    invocation = composed.invocation
    if invocation is not None:
        invocation = replace(invocation, number=number)
    return replace(composed, number=number, invocation=invocation)
