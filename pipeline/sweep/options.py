"""The keys of a whole sweep, which belong to no job, and bounds on the number of values of other keys."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.types import ChoiceSweep, Glob, Override, RangeSweep
from hydra.errors import ConfigCompositionException
from omegaconf import DictConfig, OmegaConf

from bakeoff.pipeline.config.options import GROUPS
from bakeoff.pipeline.config.requests import read_boolean
from bakeoff.pipeline.config.words import SWEEP_KEYS, list_words
from bakeoff.pipeline.errors import UserError, did_you_mean

BOOLEAN_KEYS = ("resume", "dry_run")
EXPERIMENT_KEY = "experiment"
HYDRA_KEYS = ("hydra.sweeper.params", "hydra.sweeper._target_", "hydra.launcher._target_")
"""Keys of Hydra of the same kind."""
SEARCH_METHODS = ("none", "zip", "grid", "random")
ON_INVALID = ("stop", "skip")


@dataclass(frozen=True)
class SweepOptions:
    """Options for making and running the jobs of a sweep.

    Attributes
    ----------
    resume : bool
        Whether to skip jobs that are FINISHED in the store.
    workers : int
        The number of processes on this machine.
    timeout : float or None
        The time limit of a job in seconds.
    on_error : str
        ``continue``, ``stop``, or ``stop_after:N``.
    on_invalid : {"stop", "skip"}
    dry_run : bool
        Whether to show the plan and run nothing.
    method : str
        A name in `SEARCH_METHODS`: how the jobs are chosen.
    n, seed : int
        The number of random points, and their seed.
    max_jobs : int
        The maximum number of jobs.
    """

    resume: bool
    workers: int
    timeout: float | None
    on_error: str
    on_invalid: str
    dry_run: bool
    method: str
    n: int
    seed: int
    max_jobs: int

    @classmethod
    def read(cls, master: DictConfig) -> SweepOptions:
        """Return the options in the configuration of a sweep.

        Parameters
        ----------
        master : DictConfig

        Raises
        ------
        UserError
            An option is missing or invalid.
        """
        options: Any = OmegaConf.to_container(OmegaConf.masked_copy(master, list(SWEEP_KEYS)), resolve=True)
        missing = [key for key in SWEEP_KEYS if key not in options]
        if missing:
            raise UserError(f"{missing[0]} cannot be removed, because every sweep needs it; leave ~{missing[0]} out.")
        options |= {key: read_boolean(key, options[key]) for key in BOOLEAN_KEYS}
        search = options.pop("search") or {}
        method = str(search.get("method", "none"))
        return cls(**options, method=method, n=search.get("n", 1), seed=search.get("seed", 0))

    def __post_init__(self) -> None:
        if self.max_jobs < 1:
            raise UserError(f"max_jobs={self.max_jobs} must be a positive number of jobs.")
        if self.workers < 1:
            raise UserError(f"workers={self.workers} must be a positive integer.")
        if self.timeout is not None and not self.timeout > 0:
            raise UserError(f"timeout={self.timeout} must be a positive number of seconds, or null.")
        if self.on_invalid not in ON_INVALID:
            raise UserError(
                f"on_invalid={self.on_invalid!r} is not allowed. {did_you_mean(self.on_invalid, ON_INVALID)}"
            )
        if self.method not in SEARCH_METHODS:
            suggestion = did_you_mean(self.method, SEARCH_METHODS)
            raise UserError(f"search.method={self.method!r} is not a method. {suggestion}")
        if not _is_whole(self.n, least=1):
            raise UserError(f"search.n={self.n!r} must be a positive integer.")
        if not _is_whole(self.seed, least=0):
            raise UserError(f"search.seed={self.seed!r} must be a whole number from 0.")
        _ = self.max_failures  # which checks on_error

    @property
    def max_failures(self) -> int | None:
        """The number of failures that ends the sweep; None if it continues after any number."""
        word, _, count = self.on_error.partition(":")
        if word == "continue" and not count:
            return None
        if word == "stop" and not count:
            return 1
        if word == "stop_after" and count.isdigit() and int(count) > 0:
            return int(count)
        raise UserError(f"on_error={self.on_error!r} must be continue, stop, or stop_after:N with N at least 1.")


def _is_whole(value: Any, least: int) -> bool:
    """Whether a value is a whole number; Booleans, which are integers in Python, are not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def require_one_value(override: Override) -> None:
    """Reject several values of a key of the whole sweep."""
    key = override.key_or_group
    if override.is_sweep_override() and key.split(".")[0] in SWEEP_KEYS:
        raise UserError(f"{override.input_line}: {key} is a key of the whole sweep; give it one value.")


def reject_sweep_params(params: Sequence[str]) -> None:
    """Reject keys of the whole sweep and of Hydra among the overrides of its jobs, which would ignore them.

    Parameters
    ----------
    params : sequence of str
        The overrides in the configuration of the sweeper.

    Raises
    ------
    UserError
    """
    for word in params:
        key = word.partition("=")[0]
        part = re.split(r"[./@]", key)[0]
        if part == "hydra" or part in SWEEP_KEYS:
            raise UserError(
                f"hydra.sweeper.params.{key}: {key} is a key of the whole sweep and not of its jobs; write it at the "
                "top of the file, or on the command line."
            )


def reject_lost_keys(overrides: Sequence[Override], loader: Any, master: DictConfig) -> None:
    """Reject experiments of one sweep whose files set keys of the whole sweep, which would be ignored.

    Parameters
    ----------
    overrides : sequence of Override
        The overrides of the jobs.
    loader : ConfigLoader
        The loader of Hydra.
    master : DictConfig
        The configuration of the sweep itself, to which a single experiment belongs.

    Raises
    ------
    UserError
    """
    words = [str(word) for word in _iterate_experiments(overrides)]
    if len(words) < 2:
        return
    given = {word.lstrip("+~").partition("=")[0] for word in list_words(master.hydra.overrides.task)}
    plain = loader.load_sweep_config(master, [])
    for word in words:
        composed = loader.load_sweep_config(master, [word])
        for key in (*SWEEP_KEYS, *HYDRA_KEYS):
            value = _read_value(composed, key)
            is_lost = value not in (_read_value(plain, key), _read_value(master, key))
            if is_lost and key not in given:
                shown = key.removesuffix("._target_")
                raise UserError(
                    f"{word} sets {shown}, a key of the whole sweep, which several experiments in one sweep cannot "
                    f"set; give it on the command line and take it out of the file, or run {word} by itself."
                )


def _iterate_experiments(overrides: Sequence[Override]) -> Iterator[str]:
    for override in overrides:
        if override.key_or_group == EXPERIMENT_KEY and override.is_discrete_sweep():
            for value in override.sweep_string_iterator():
                yield f"{EXPERIMENT_KEY}={value}"


def _read_value(config: DictConfig, key: str) -> Any:
    value = OmegaConf.select(config, key)
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def check_values(overrides: Iterable[Override]) -> None:
    """Reject keys without values to vary; null is a value.

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
        elif isinstance(value, RangeSweep) and not count_values(override):
            bounds = f"begins at {value.start} and ends before {value.stop}, in steps of {value.step}"
            raise UserError(f"{override.input_line} has no values; range(START,STOP,STEP) {bounds}.")
        elif isinstance(value, ChoiceSweep) and not value.list:
            raise UserError(f"{override.input_line} has no values; write at least one.")


def reject_tags(override: Override) -> None:
    """Reject tags in a sweep over listed values, which would ignore them."""
    value = override.value()
    if isinstance(value, ChoiceSweep | RangeSweep) and value.tags:
        tag = min(map(str, value.tags))
        raise UserError(
            f"{override.input_line}: the tag {tag} is for studies; leave it out, or add hydra/sweeper=optuna."
        )


def _require_options(override: Override) -> None:
    """Require that a pattern matches an option."""
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
    """Reject a command whose values result in more jobs than allowed.

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
    """Return the reason for rejecting a sweep with too many jobs.

    Parameters
    ----------
    asked : str
        A description of the requested jobs.
    max_jobs : int
        The value of the key.
    """
    return f"the sweep would have {asked}, but max_jobs={max_jobs}; give fewer values, or a larger max_jobs."


def count_values(override: Override) -> int:
    """Return the number of values of an override.

    Parameters
    ----------
    override : Override

    Raises
    ------
    UserError
        The value is a range without an end.
    """
    value = override.value()
    if not override.is_sweep_override() or not override.is_discrete_sweep():
        return 1
    if isinstance(value, RangeSweep):
        return _count_range(value, str(override.input_line))
    if isinstance(value, ChoiceSweep):
        return len(value.list)
    # A pattern matches options, each of which is a file.
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
