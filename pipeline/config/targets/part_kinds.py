"""What stands at each place of a configuration, and the methods by which it is recognized before it is built."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True)
class PartKind:
    """What a part of an experiment is.

    Attributes
    ----------
    noun : str
        As in "learner must be an estimator".
    methods : tuple of str
        Which it has, class and object alike.
    choices : tuple of str
        Names of those that may stand for another part or for none.
    """

    noun: str
    methods: tuple[str, ...]
    choices: tuple[str, ...] = ()


CHOOSING_PREPROCESSING = tuple(
    f"bakeoff.pipeline.stages.preprocessing.{name}" for name in ("AutoPreprocessing", "make_preprocessing")
)
TRANSFORMER = PartKind("a transformer with fit and transform", ("fit", "transform"))
KINDS: Mapping[str, PartKind] = {
    r"dataset": PartKind(
        "a Dataset, as bakeoff.pipeline.stages.dataset.load_frame(frame, target=NAME) returns it", ("digest",)
    ),
    r"learner": PartKind("an estimator with fit and predict", ("fit", "predict")),
    r"preprocessing": PartKind(TRANSFORMER.noun, TRANSFORMER.methods, CHOOSING_PREPROCESSING),
    r"preprocessing\.(numeric|nominal|ordered|dates|text|then)\[\d+\]": TRANSFORMER,
    r"preprocessing\.columns\[\d+\]\.steps\[\d+\]": TRANSFORMER,
    r"tuning": PartKind("one of `bakeoff list tuning`", ("tune", "count_fits")),
    r"pruning": PartKind("one of `bakeoff list pruning`", ("prune",)),
    r"balance": PartKind("one of `bakeoff list balance`", ("balance",)),
    r"balance\.sampler": PartKind("a sampler with a method fit_resample, as those of imblearn have", ("fit_resample",)),
    r"target": PartKind("one of `bakeoff list target`", ("fit", "is_on")),
    r"target\.transformer": PartKind(
        "a transformer with fit, transform and inverse_transform", ("fit", "transform", "inverse_transform")
    ),
    r"calibration": PartKind("one of `bakeoff list calibration`", ("calibrate", "add_methods")),
    r"threshold": PartKind("one of `bakeoff list threshold`", ("is_on", "is_chosen")),
    r"evaluation": PartKind(
        "a splitter: inherit from bakeoff.pipeline.stages.splitting.Splitter, as a frozen dataclass, and write "
        "iter_outer_splits(self, data, seed)",
        ("make_splits",),
    ),
    r"audit": PartKind("one of `bakeoff list audit`", ("check", "check_fold")),
    r"tracking": PartKind("one of `bakeoff list tracking`", ("open_store", "start_run")),
    r"figures?(\[\d+\])?": PartKind(
        "a figure: inherit from bakeoff.pipeline.figures.run_figure.RunFigure, as a frozen dataclass, and write "
        "draw(self, run)",
        ("check", "save"),
    ),
    r"hydra\.sweeper\.sampler": PartKind("a sampler of Optuna", ("sample_independent",)),
    r"hydra\.sweeper\.pruner": PartKind("a pruner of Optuna", ("prune",)),
}
"""Pattern of a key -> what stands there. Of parameters, such as the kernel of a learner, the constructor decides."""


def find_kind(key: str) -> PartKind | None:
    """Return what stands at a key of the configuration; None if the framework does not know it."""
    return next((kind for pattern, kind in KINDS.items() if re.fullmatch(pattern, key)), None)


def require_class_kind(found: Any, key: str, target: str) -> None:
    """Reject a class that is not of the kind of its place, before its constructor is called.

    Parameters
    ----------
    found : class or function
        What a function returns is checked by `require_kind`.
    key, target : str
        Of the part, and its dotted name.

    Raises
    ------
    UserError
    """
    # Objects of a class with __getattr__ may have methods that the class does not show.
    if inspect.isclass(found) and not hasattr(found, "__getattr__"):
        _require_methods(found, key, target, "it")


def require_kind(built: Any, key: str, target: str) -> None:
    """Reject an object that is not of the kind of its place.

    Parameters
    ----------
    built : object
        What the class or function has returned.
    key, target : str
        Of the part, and its dotted name.

    Raises
    ------
    UserError
    """
    _require_methods(built, key, target, f"the {type(built).__name__} that it returns")


def _require_methods(part: Any, key: str, target: str, subject: str) -> None:
    kind = find_kind(key)
    if kind is None or target in kind.choices:
        return
    missing = [method for method in kind.methods if not hasattr(part, method)]
    if missing:
        raise UserError(f"{key}._target_={target!r}: {subject} has no {missing[0]}, and {key} must be {kind.noun}.")
