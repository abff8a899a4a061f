"""Learners that a pattern names: of ``learner=glob(*)``, those of a dataset's task become jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hydra.core.override_parser.types import Glob, Override
from sklearn.base import is_classifier, is_regressor

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.job import PartCache
from bakeoff.pipeline.sweep.jobs import ComposedJob

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
        left_out: dict[tuple[str, str], set[str]] = {}
        for composed in composed_jobs:
            other = _find_other_task(composed, resources)
            if other is None:
                kept.append(_renumber(composed, len(kept)))
            else:
                assert composed.invocation is not None
                left_out.setdefault(other, set()).add(composed.invocation.choices[LEARNER_KEY])
        if not left_out:
            return kept, ""
        counts = [
            f"{len(learners)} {noun if len(learners) > 1 else noun[:-1]} on {dataset}"
            for (noun, dataset), learners in left_out.items()
        ]
        if not kept:
            raise UserError(
                f"{self.text} names no learner for the task: it names {', '.join(counts)}. "
                "Choose another pattern; `bakeoff list learner` shows all learners."
            )
        return kept, f"{self.text}: left out, because they are for the other task: {', '.join(counts)}"


def find_learner_pattern(overrides: Sequence[Override]) -> LearnerPattern | None:
    """Return the pattern that names the learners; None if they are named explicitly."""
    for override in overrides:
        if override.key_or_group == LEARNER_KEY and isinstance(override.value(), Glob):
            return LearnerPattern(str(override.input_line), tuple(override.sweep_string_iterator()))
    return None


def _find_other_task(composed: ComposedJob, resources: PartCache) -> tuple[str, str] | None:
    """Return what the learner of a job is, and the name of its dataset, if the learner is for the other task only."""
    spec = composed.spec
    if spec is None:
        return None
    try:
        dataset = resources.get_dataset(spec)
        learner = resources.build(LEARNER_KEY, spec[LEARNER_KEY], spec["trust"])
    except UserError:
        return None
    if dataset.is_classification:
        is_other = is_regressor(learner) and not is_classifier(learner)
        return ("regressors", dataset.name) if is_other else None
    is_other = is_classifier(learner) and not is_regressor(learner)
    return ("classifiers", dataset.name) if is_other else None


def _renumber(composed: ComposedJob, number: int) -> ComposedJob:
    invocation = composed.invocation
    if invocation is not None:
        invocation = replace(invocation, number=number)
    return replace(composed, number=number, invocation=invocation)
