"""The values of a key that varies over a sweep: there is at least one, and nothing of what is written is lost."""

from __future__ import annotations

from collections.abc import Iterable

from hydra.core.override_parser.types import ChoiceSweep, Glob, IntervalSweep, Override, RangeSweep
from hydra.errors import ConfigCompositionException

from bakeoff.pipeline.config.options import GROUPS
from bakeoff.pipeline.errors import UserError, did_you_mean

TAGS = ("log",)
"""Tags of intervals and ranges that a study reads."""


def check_values(overrides: Iterable[Override]) -> None:
    """Reject keys that would vary over no value, and tags that nothing reads.

    Parameters
    ----------
    overrides : iterable of Override

    Raises
    ------
    UserError
    """
    for override in overrides:
        if override.is_sweep_override():
            check_tags(override)
            _require_values(override)


def check_tags(override: Override) -> None:
    """Reject tags that do not exist, and those of values that have none."""
    value = override.value()
    if not isinstance(value, ChoiceSweep | IntervalSweep | RangeSweep):
        return
    word = override.input_line
    for tag in sorted(map(str, value.tags)):
        if tag not in TAGS:
            raise UserError(f"{word}: {tag} is not a tag. {did_you_mean(tag, TAGS)}")
        if isinstance(value, ChoiceSweep):
            raise UserError(f"{word}: the tag {tag} has no effect on a list of values; leave it out.")


def reject_tags(override: Override) -> None:
    """Reject the tags of a range in a sweep that lists its values."""
    value = override.value()
    if isinstance(value, RangeSweep) and value.tags:
        raise UserError(
            f"{override.input_line}: the tag {sorted(map(str, value.tags))[0]} is for studies; leave it out, or add "
            "hydra/sweeper=optuna."
        )


def _require_values(override: Override) -> None:
    """Require that a key varies over at least one value."""
    value = override.value()
    word = str(override.input_line)
    key = override.key_or_group
    if isinstance(value, Glob):
        _require_options(word, key, override)
        return
    if isinstance(value, IntervalSweep):
        return
    if next(iter(override.sweep_iterator()), None) is None and not _holds_null(value):
        raise UserError(f"{word} has no values; {_describe_cure(value)}.")


def _holds_null(value: object) -> bool:
    return isinstance(value, ChoiceSweep) and bool(value.list)


def _describe_cure(value: object) -> str:
    if not isinstance(value, RangeSweep):
        return "write at least one"
    return f"range(START,STOP,STEP) begins at {value.start} and ends before {value.stop}, in steps of {value.step}"


def _require_options(word: str, group: str, override: Override) -> None:
    """Require that a pattern names an option."""
    group_list = group if "/" in group else f"`bakeoff list {group}`"
    if group not in GROUPS and "/" not in group:
        raise UserError(
            f"{word}: glob(...) names options of a group, such as learner, and {group} is none; write the values, as "
            f"in {group}=1,2."
        )
    try:
        names = list(override.sweep_iterator())
    except ConfigCompositionException as error:
        raise UserError(f"{word}: {' '.join(str(error).split())}") from error
    if not names:
        raise UserError(f"{word} names no option; {group_list} shows the names.")
