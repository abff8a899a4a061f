"""Composing the jobs of a sweep: from the command line to the overrides of each job, and to its configuration."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, open_dict

from bakeoff.pipeline.config.engine import ConfigFiles, set_values
from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.config.messages import explain_error
from bakeoff.pipeline.config.references import resolve_config
from bakeoff.pipeline.config.settle import settle_choices, settle_config
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep import search
from bakeoff.pipeline.sweep.jobs import ComposedJob
from bakeoff.pipeline.sweep.options import SweepOptions
from bakeoff.pipeline.sweep.values import describe_excess, reject_tags
from bakeoff.pipeline.text.words import MISSING_VALUE, escape_text

JobWords = tuple[str, ...]
"""The overrides of a job."""
Choices = dict[str, str]
"""Group -> the chosen option."""
YAML_WORDS = ("null", "true", "false", "nan")
"""Strings that would be read as other values if they were not quoted."""


@dataclass
class Composer:
    """Composes jobs: each file is read once, each combination of groups is composed once, values are set for each job.

    Attributes
    ----------
    loader : ConfigLoader
        Hydra's.
    master : DictConfig
        The configuration of the sweep itself.
    """

    loader: Any
    master: DictConfig
    _parsed: dict[str, tuple[Override, bool]] = field(default_factory=dict)
    _bases: dict[JobWords, tuple[bytes, Choices]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Hydra would read the same files again for every job.
        self.loader.repository = ConfigFiles(self.loader.repository)
        self._sweep_name = Path(str(self.master.hydra.sweep.dir)).name
        self._parser = OverridesParser.create()

    def compose(self, words: Sequence[str]) -> tuple[dict[str, Any], Choices]:
        """Return the configuration of a job, resolved but not settled, and the chosen option of each group.

        Parameters
        ----------
        words : sequence of str
            The overrides of the job.

        Raises
        ------
        UserError
            An override is invalid.
        """
        try:
            # Options decide which files are composed, which is slow. Jobs that differ in values alone share that step.
            group_words = tuple(word for word in words if self.chooses_option(word))
            value_words = [word for word in words if not self.chooses_option(word)]
            values = [self._parse(word)[0] for word in value_words]
            packed, choices = self._compose_groups(group_words)
            composed: DictConfig = pickle.loads(packed)  # a copy, in a third of the time of deepcopy
            set_values(composed, values)
        except Exception as error:
            raise explain_error(error, words) from None
        return resolve_config(composed), choices

    def compose_job(
        self, number: int, words: Sequence[str], varying: tuple[str, ...], study: str | None = None
    ) -> ComposedJob:
        """Return a job of the sweep, with its settled configuration or the error that prevents it.

        Parameters
        ----------
        number : int
            In the sweep, from 0.
        words : sequence of str
            The overrides of the job.
        varying : tuple of str
            The keys that vary over the sweep.
        study : str, optional
            The name of the study that the job belongs to.
        """
        overrides = tuple(words)
        try:
            spec, choices = self.compose(overrides)
            settled = settle_config(spec)
            invocation = Invocation(
                settle_choices(settled, choices),
                varying=varying,
                sweep=self._sweep_name,
                number=number,
                overrides=overrides,
                study=study,
            )
            return ComposedJob(number, overrides, settled, invocation)
        except UserError as error:
            return ComposedJob(number, overrides, error=error)
        except Exception as error:  # one job must not keep the others from being composed
            return ComposedJob(number, overrides, error=UserError(f"{type(error).__name__}: {error}"))

    def chooses_option(self, word: str) -> bool:
        """Whether an override chooses an option of a group, which decides what files are read."""
        return self._parse(word)[1]

    def _parse(self, word: str) -> tuple[Override, bool]:
        """Return an override, and whether it chooses an option of a group."""
        if word not in self._parsed:
            override = self._parser.parse_override(word)
            is_group = bool(self.loader.repository.group_exists(override.key_or_group))
            self._parsed[word] = override, is_group or override.package is not None
        return self._parsed[word]

    def _compose_groups(self, group_words: JobWords) -> tuple[bytes, Choices]:
        """Return the pickled configuration of a combination of options, and the chosen option of each group."""
        if group_words not in self._bases:
            composed = self.loader.load_sweep_config(self.master, list(group_words))
            # Hydra's own part of the configuration is large, and no job needs it.
            choices = {str(group): str(option) for group, option in composed.hydra.runtime.choices.items()}
            with open_dict(composed):
                del composed["hydra"]
            self._bases[group_words] = pickle.dumps(composed), choices
        return self._bases[group_words]


def expand_overrides(overrides: Sequence[Override], options: SweepOptions, composer: Composer) -> list[JobWords]:
    """Return the overrides of each job.

    Parameters
    ----------
    overrides : sequence of Override
        As on the command line, where a key may have several values.
    options : SweepOptions
    composer : Composer
        Finds the search space that belongs to the chosen learner.

    Raises
    ------
    UserError
        A range of values is not a list, or the lists of ``zip`` differ in length.
    """
    method = str(options.search["method"])
    axes = [_axis(override) for override in overrides]
    combinations = search.combine_axes(axes, method)
    if method not in ("grid", "random"):
        return combinations
    n = int(options.search.get("n", 0))
    seed = int(options.search.get("seed", 0))
    jobs: list[JobWords] = []
    for words in combinations:
        jobs += _search_space(words, composer, SpaceDraw(method, n, seed, options.max_jobs, len(jobs)))
    return jobs


@dataclass(frozen=True)
class SpaceDraw:
    """How points of a search space become jobs.

    Attributes
    ----------
    method : {"grid", "random"}
    n : int
        The number of points for ``random``.
    seed : int
        Of the draw.
    max_jobs : int
    n_before : int
        The number of jobs that were made for other combinations.
    """

    method: str
    n: int
    seed: int
    max_jobs: int
    n_before: int


def _search_space(words: JobWords, composer: Composer, draw: SpaceDraw) -> Iterator[JobWords]:
    """Yield a job for each point of the learner's search space; without a space, the job as it is given.

    A key that the command line gives is not searched, as in a study.
    """
    try:
        space = composer.compose(words)[0].get("space")
    except UserError:  # the plan shows it
        space = None
    given_keys = {word.lstrip("+~").partition("=")[0] for word in words}
    grids = [_leave_out(grid, given_keys) for grid in ([space] if isinstance(space, Mapping) else space or [])]
    grids = [grid for number, grid in enumerate(grids) if grid and grid not in grids[:number]]
    if not grids:
        yield words
        return
    search.require_lists(grids)
    n_points = search.count_points(grids)
    n_made = n_points if draw.method == "grid" else min(n_points, draw.n)
    if draw.n_before + n_made > draw.max_jobs:
        asked = f"{draw.n_before + n_made:,} jobs or more (search={draw.method} makes {n_made:,} of {' '.join(words)})"
        raise UserError(describe_excess(asked, draw.max_jobs))
    # The space is not part of a job, so its overrides are left out.
    fixed_words = [word for word in words if not word.lstrip("+~").startswith("space")]
    for point in search.space_points(grids, draw.method, draw.n, draw.seed):
        point_words = [f"{_learner_key(name)}={override_text(value)}" for name, value in point.items()]
        yield (*fixed_words, *point_words)


def _leave_out(grid: Mapping[str, Any], given_keys: set[str]) -> dict[str, Any]:
    """Return a grid without the parameters whose keys are given."""
    return {name: values for name, values in grid.items() if _learner_key(name) not in given_keys}


def _learner_key(parameter: str) -> str:
    """Return the key of a parameter; scikit-learn writes that of a part as part__parameter."""
    return f"learner.{parameter.replace('__', '.')}"


def _axis(override: Override) -> search.Axis:
    key = override.get_key_element()
    if override.is_sweep_override():
        if not override.is_discrete_sweep():
            raise HydraException(
                f"{override.input_line}: an interval has infinitely many values; give a list, or range(...)."
            )
        reject_tags(override)
        return key, [f"{key}={value}" for value in override.sweep_string_iterator()]
    value = override.get_value_element_as_str()
    has_value = bool(value) or not override.is_delete()
    return key, [f"{key}={value}" if has_value else key]


def varying_keys(jobs: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the keys that have more than one value over the jobs."""
    values: dict[str, set[str]] = {}
    for words in jobs:
        for word in words:
            key, _, value = word.lstrip("+~").partition("=")
            values.setdefault(key, set()).add(value)
    return tuple(key for key, distinct in values.items() if len(distinct) > 1)


def override_text(value: Any) -> str:
    """Write a value in the grammar of Hydra, so that a string that looks like a number stays a string."""
    if isinstance(value, dict):
        value = {str(key): _quote_text(child) for key, child in value.items()}
    elif isinstance(value, list):
        value = [_quote_text(child) for child in value]
    return Override._get_value_element_as_str(_quote_text(value))


def _quote_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value == MISSING_VALUE:
        value = escape_text(value)
    is_plain = value.isidentifier() and value.lower() not in YAML_WORDS
    return value if is_plain else QuotedString(value, Quote.single)
