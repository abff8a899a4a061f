"""Learners that a pattern names: of ``learner=glob(*)``, those of a dataset's task become jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hydra.core.override_parser.types import Glob, Override
from sklearn.base import is_classifier, is_regressor

from bakeoff.pipeline.checks.cells import exceeds_memory
from bakeoff.pipeline.errors import MissingPackage, UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.stages.dataset import Dataset
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
        left_out = LeftOut()
        for composed in composed_jobs:
            if not left_out.takes(composed, resources):
                kept.append(_renumber(composed, len(kept)))
        sentence = left_out.describe()
        if not sentence:
            return kept, ""
        if not kept:
            raise UserError(
                f"{self.text} names no learner that can be fitted: {sentence}. "
                "Choose another pattern; `bakeoff list learner` shows all learners."
            )
        return kept, f"{self.text}: left out, because {sentence}"


@dataclass(frozen=True)
class LeftOut:
    """Learners that a pattern names and that cannot be fitted, by the reason.

    Attributes
    ----------
    other_task : dict
        What they are and the name of the dataset -> learners.
    too_large : dict
        The name of the dataset -> learners that would need more memory than the machine has.
    not_installed : dict
        The learner -> why its package is needed.
    """

    other_task: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    too_large: dict[str, set[str]] = field(default_factory=dict)
    not_installed: dict[str, str] = field(default_factory=dict)

    def takes(self, composed: ComposedJob, resources: PartCache) -> bool:
        """Return whether a job is to be left out, and keep the reason."""
        spec = composed.spec
        if spec is None:
            return False
        assert composed.invocation is not None
        name = composed.invocation.choices[LEARNER_KEY]
        try:
            learner = resources.build(LEARNER_KEY, spec[LEARNER_KEY], spec["trust"])
            dataset = resources.get_dataset(spec)
        except MissingPackage as error:
            self.not_installed[name] = str(error).partition("; ")[2]
            return True
        except Exception:  # the plan shows it as the reason of this job
            return False
        other = _find_other_task(learner, dataset)
        if other:
            self.other_task.setdefault((other, dataset.name), set()).add(name)
            return True
        if exceeds_memory(learner, len(dataset.y)):
            self.too_large.setdefault(dataset.name, set()).add(name)
            return True
        return False

    def describe(self) -> str:
        """Return the reasons; empty if nothing was left out."""
        others = [
            f"{len(names)} {noun if len(names) > 1 else noun[:-1]} on {dataset}"
            for (noun, dataset), names in self.other_task.items()
        ]
        reasons = [f"they are for the other task: {', '.join(others)}"] if others else []
        for dataset_name, names in self.too_large.items():
            reasons.append(f"this machine has too little memory: {', '.join(sorted(names))} on {dataset_name}")
        cures: dict[str, list[str]] = {}
        for name, cure in self.not_installed.items():
            cures.setdefault(cure, []).append(name)
        for cure, names_of_cure in cures.items():
            reasons.append(f"their package is not installed: {', '.join(sorted(names_of_cure))} ({cure.rstrip('.')})")
        return "; ".join(reasons)


def find_learner_pattern(overrides: Sequence[Override]) -> LearnerPattern | None:
    """Return the pattern that names the learners; None if they are named explicitly."""
    for override in overrides:
        if override.key_or_group == LEARNER_KEY and isinstance(override.value(), Glob):
            return LearnerPattern(str(override.input_line), tuple(override.sweep_string_iterator()))
    return None


def _find_other_task(learner: Any, dataset: Dataset) -> str:
    """Return what a learner is if it is for the other task only; empty if it is for the task of the dataset."""
    if dataset.is_classification:
        return "regressors" if is_regressor(learner) and not is_classifier(learner) else ""
    return "classifiers" if is_classifier(learner) and not is_regressor(learner) else ""


def _renumber(composed: ComposedJob, number: int) -> ComposedJob:
    invocation = composed.invocation
    if invocation is not None:
        invocation = replace(invocation, number=number)
    return replace(composed, number=number, invocation=invocation)
