"""A dimension of the search space of a study: one override key, with the values that it can take."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

from bakeoff.pipeline.errors import UserError

LOG_TAG = "log"
Distribution: TypeAlias = CategoricalDistribution | FloatDistribution | IntDistribution


@dataclass(frozen=True)
class Dimension:
    """One key that a study sets.

    Attributes
    ----------
    key : str
        The part of an override before its ``=``.
    name : str
        The name of the parameter in Optuna. It differs from the key where learners share a key: ``svm.C``.
    distribution : Distribution
    value_texts : tuple of str
        The values of a categorical dimension, each as written in an override.
    is_group : bool
        Whether the dimension chooses an option of a group, such as ``learner``, which decides what files are read.
    """

    key: str
    name: str
    distribution: Distribution
    value_texts: tuple[str, ...] = ()
    is_group: bool = False

    def suggest_value(self, trial: Trial) -> Any:
        """Return the value that Optuna chooses for a trial."""
        given = self.distribution
        if isinstance(given, CategoricalDistribution):
            return trial.suggest_categorical(self.name, given.choices)
        if isinstance(given, IntDistribution):
            return trial.suggest_int(self.name, given.low, given.high, step=given.step, log=given.log)
        return trial.suggest_float(self.name, given.low, given.high, step=given.step, log=given.log)

    @property
    def edge_values(self) -> tuple[Any, ...]:
        """All values of a categorical dimension, or the lowest and the highest number."""
        if isinstance(self.distribution, CategoricalDistribution):
            return tuple(self.distribution.choices)
        return (self.distribution.low, self.distribution.high)

    def format_override(self, value: Any) -> str:
        """Return ``key=value`` in the grammar of Hydra's overrides."""
        if isinstance(self.distribution, CategoricalDistribution):
            index = int(self.distribution.to_internal_repr(value))
            return f"{self.key}={self.value_texts[index]}"
        return f"{self.key}={value!r}"


def parse_dimension(override: Override) -> Dimension:
    """Return the dimension that an override such as ``x=interval(0,1)`` describes; ranges include their end.

    Parameters
    ----------
    override : Override
        With several values.

    Raises
    ------
    UserError
        The range is empty, a logarithmic range is not positive, or nothing reads a tag.
    """
    key = override.get_key_element()
    value = override.value()
    _require_read_tags(override)
    try:
        if isinstance(value, IntervalSweep):
            assert value.start is not None
            assert value.end is not None
            distribution = _make_number_distribution(value.start, value.end, None, LOG_TAG in value.tags)
            return Dimension(key, key, distribution)
        if isinstance(value, RangeSweep) and not value.shuffle:
            assert value.start is not None
            assert value.stop is not None
            distribution = _make_number_distribution(value.start, value.stop, value.step, LOG_TAG in value.tags)
            return Dimension(key, key, distribution)
    except ValueError as error:
        raise UserError(f"{override.input_line}: {error}") from error
    values = list(override.sweep_iterator())
    texts = tuple(override.sweep_string_iterator())
    return make_categorical(key, key, values, texts)


def _require_read_tags(override: Override) -> None:
    value = override.value()
    read = {LOG_TAG} if isinstance(value, IntervalSweep | RangeSweep) else set()
    unread = sorted({str(tag) for tag in getattr(value, "tags", ())} - read)
    if unread:
        raise UserError(
            f"{override.input_line}: nothing reads the tag {unread[0]}; a study reads tag({LOG_TAG},...) of an "
            "interval or a range."
        )


def make_categorical(key: str, name: str, values: Sequence[Any], value_texts: tuple[str, ...] = ()) -> Dimension:
    """Return a dimension with a list of values.

    Parameters
    ----------
    key : str
    name : str
    values : sequence
    value_texts : tuple of str, optional
        The values as written in overrides; made from the values if left out.
    """
    texts = value_texts or tuple(format_value(value) for value in values)
    choices = []
    for value, text in zip(values, texts, strict=True):
        unquoted = getattr(value, "text", value)
        # Optuna stores None, numbers, Booleans and strings. Other values, such as lists, are stored as text.
        is_storable = unquoted is None or isinstance(unquoted, str | int | float)
        choices.append(unquoted if is_storable else text)
    return Dimension(key, name, CategoricalDistribution(choices), texts)


def format_value(value: Any) -> str:
    """Write a value in the grammar of Hydra's overrides.

    Examples
    --------
    >>> [format_value(value) for value in (None, True, 1e-9, "a b", [50, 50])]
    ['null', 'true', '1e-09', '"a b"', '[50,50]']
    """
    if isinstance(value, list):
        return f"[{','.join(map(format_value, value))}]"
    if isinstance(value, Mapping):
        items = [f"{key}:{format_value(child)}" for key, child in value.items()]
        return "{" + ",".join(items) + "}"
    # json.dumps would write infinity as Infinity, which Hydra reads as a string.
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def _make_number_distribution(low: float, high: float, step: float | None, is_log: bool) -> Distribution:
    given = [low, high] if step is None else [low, high, step]
    if all(isinstance(number, int) for number in given):
        return IntDistribution(int(low), int(high), log=is_log, step=int(step or 1))
    return FloatDistribution(float(low), float(high), log=is_log, step=step)
