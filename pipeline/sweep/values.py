"""The values of the keys that vary over a sweep: there is at least one, none is lost, and their jobs are few enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from hydra.core.override_parser.types import ChoiceSweep, Glob, Override, RangeSweep
from hydra.errors import ConfigCompositionException

from bakeoff.pipeline.config.options import GROUPS
from bakeoff.pipeline.errors import UserError


def check_values(overrides: Iterable[Override]) -> None:
    """Reject keys that would vary over no value.

    Parameters
    ----------
    overrides : iterable of Override

    Raises
    ------
    UserError
    """
    for override in overrides:
        value = override.value()
        if isinstance(value, Glob):
            _require_options(override)
        elif isinstance(value, ChoiceSweep | RangeSweep):
            _require_values(override, value)


def reject_tags(override: Override) -> None:
    """Reject tags in a sweep that lists its values, which reads none."""
    value = override.value()
    if isinstance(value, ChoiceSweep | RangeSweep) and value.tags:
        tag = min(map(str, value.tags))
        raise UserError(
            f"{override.input_line}: the tag {tag} is for studies; leave it out, or add hydra/sweeper=optuna."
        )


def _require_values(override: Override, value: ChoiceSweep | RangeSweep) -> None:
    """Require that a key varies over at least one value, which may be null."""
    if count_values(override):
        return
    cure = "write at least one"
    if isinstance(value, RangeSweep):
        bounds = f"begins at {value.start} and ends before {value.stop}, in steps of {value.step}"
        cure = f"range(START,STOP,STEP) {bounds}"
    raise UserError(f"{override.input_line} has no values; {cure}.")


def _require_options(override: Override) -> None:
    """Require that a pattern names an option."""
    word = str(override.input_line)
    group = override.key_or_group
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


def require_few_jobs(overrides: Sequence[Override], method: str, max_jobs: int) -> None:
    """Reject a command whose values make more jobs than are allowed.

    Parameters
    ----------
    overrides : sequence of Override
        As on the command line, where a key may have several values.
    method : str
        ``zip`` pairs the values; every other method combines them.
    max_jobs : int

    Raises
    ------
    UserError
    """
    counts = {override.get_key_element(): count_values(override) for override in overrides}
    several = {key: count for key, count in counts.items() if count > 1}
    n_jobs = max(several.values(), default=1) if method == "zip" else math.prod(several.values())
    if n_jobs > max_jobs:
        factors = " × ".join(f"{count:,} of {key}" for key, count in several.items())
        raise UserError(describe_excess(f"{n_jobs:,} jobs ({factors})", max_jobs))


def describe_excess(asked: str, max_jobs: int) -> str:
    """Return why a sweep with too many jobs is refused.

    Parameters
    ----------
    asked : str
        What the command asks for.
    max_jobs : int
        The value of the key.
    """
    return f"the sweep would have {asked}, but max_jobs={max_jobs}; give fewer values, or a larger max_jobs."


def count_values(override: Override) -> int:
    """Return the number of values that an override gives its key.

    Parameters
    ----------
    override : Override

    Raises
    ------
    UserError
        It is a range without an end.
    """
    value = override.value()
    if not override.is_sweep_override() or not override.is_discrete_sweep():
        return 1
    if isinstance(value, RangeSweep):
        return _count_range(value, str(override.input_line))
    if isinstance(value, ChoiceSweep):
        return len(value.list)
    # A pattern names options, of which there are as many as files.
    return len(list(override.sweep_string_iterator()))


def _count_range(values: RangeSweep, word: str) -> int:
    """Return the number of values of ``range(start,stop,step)``, as Python and Hydra count them."""
    assert values.start is not None
    assert values.stop is not None
    bounds = (values.start, values.stop, values.step)
    if not all(math.isfinite(bound) for bound in bounds) or values.step == 0:
        raise UserError(f"{word} has no end; give range(START,STOP,STEP) finite numbers, and a step that is not 0.")
    if all(isinstance(bound, int) for bound in bounds):
        return max(0, -int((values.start - values.stop) // values.step))
    return max(0, math.ceil((values.stop - values.start) / values.step))
