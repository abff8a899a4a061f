"""Composition of the jobs of a sweep, from values on a command line or in a space to configurations."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from bakeoff.pipeline.config.compose_job import PRIVATE_MODE
from bakeoff.pipeline.config.engine import ConfigFiles, set_values
from bakeoff.pipeline.config.messages import explain_error
from bakeoff.pipeline.config.references import resolve_config
from bakeoff.pipeline.config.settle import settle_choices, settle_config
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.jobs import ComposedJob, Job, JobOutcome
from bakeoff.pipeline.sweep.options import SweepOptions, describe_excess, reject_tags
from bakeoff.pipeline.text.words import MISSING_VALUE, escape_text

JobWords = tuple[str, ...]
"""The overrides of a job."""
Choices = dict[str, str]
"""Group -> the chosen option."""
LaunchJobs = Callable[[Sequence[Job], SweepOptions], Iterator[JobOutcome]]
"""Another launcher: runs a batch of jobs and yields their outcomes in order."""
YAML_WORDS = ("null", "true", "false", "nan")
"""Strings that would be parsed as other values without quotation marks."""


@dataclass
class Composer:
    """Composes jobs: each file is read once, each combination of groups is composed once, values are set for each job.

    Attributes
    ----------
    loader : ConfigLoader
        The loader of Hydra.
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
            # Options determine which files are composed, which is slow. Jobs that only differ in values share this
            # step.
            group_words = tuple(word for word in words if self.chooses_option(word))
            value_words = [word for word in words if not self.chooses_option(word)]
            values = [self._parse(word)[0] for word in value_words]
            packed, choices = self._compose_groups(group_words)
            composed: DictConfig = pickle.loads(packed)  # a copy, three times as fast as deepcopy
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
            The job's number in the sweep, from 0.
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
        except Exception as error:  # one job must not prevent the composition of the others
            return ComposedJob(number, overrides, error=UserError(f"{type(error).__name__}: {error}"))

    def chooses_option(self, word: str) -> bool:
        """Whether an override chooses an option of a group, which determines the files to read."""
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
            # The settings of Hydra are large, and no job needs them.
            choices = {str(group): str(option) for group, option in composed.hydra.runtime.choices.items()}
            with open_dict(composed):
                del composed["hydra"]
            self._bases[group_words] = pickle.dumps(composed), choices
        return self._bases[group_words]


def override_text(value: Any) -> str:
    """Return a value in the grammar of Hydra, so that a string that looks like a number stays a string."""
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


Axis = tuple[str, list[str]]
"""A key and its overrides: ("seed", ["seed=1", "seed=2"]); one that does not vary has one."""
Grid = Mapping[str, Sequence[Any]]
"""Parameter -> list of values."""
Point = dict[str, Any]
"""Parameter -> value."""
SEARCHING_METHODS = ("grid", "random")
"""The values of ``search.method`` that read the space of a learner."""


@dataclass(frozen=True)
class SweepCommand:
    """The command of a sweep or a study, as Hydra parsed it.

    Attributes
    ----------
    words : tuple of str
        The overrides from which the jobs are made.
    overrides : list of Override
        The parsed overrides.
    options : SweepOptions
    composer : Composer
    launch : callable or None
        A launcher other than Hydra's basic one.
    folder : Path
        The folder of the sweep.
    master : DictConfig
        The configuration of the sweep itself.
    tracebacks : bool
        Whether to print the tracebacks of failures.
    quiet : bool
        Whether to print nothing.
    """

    words: tuple[str, ...]
    overrides: list[Override]
    options: SweepOptions
    composer: Composer
    launch: LaunchJobs | None
    folder: Path
    master: DictConfig
    tracebacks: bool
    quiet: bool

    def write_record(self) -> None:
        """Write the configuration of the sweep into its folder, unless nothing ran and there is no folder."""
        if not self.folder.is_dir():
            return
        # The sweep itself was composed without the overrides of its jobs; the record contains the whole command.
        with read_write(self.master.hydra), open_dict(self.master):
            self.master.hydra.overrides.task = list(self.words)
        file = self.folder / "multirun.yaml"
        file.touch(mode=PRIVATE_MODE)
        OmegaConf.save(self.master, file)


def expand_overrides(overrides: Sequence[Override], options: SweepOptions, composer: Composer) -> list[JobWords]:
    """Return the overrides of each job: every combination, or the values pairwise, and points of search spaces.

    Parameters
    ----------
    overrides : sequence of Override
        The overrides on the command line, where a key may have several values.
    options : SweepOptions
    composer : Composer
        Finds the search space that belongs to the chosen learner.

    Raises
    ------
    UserError
        A range of values is not a list, or the lists of ``zip`` differ in length.
    """
    axes = [_list_axis(override) for override in overrides]
    if options.method == "zip":
        return _pair_axes(axes)
    combinations = list(itertools.product(*(words for _, words in axes)))
    if options.method not in SEARCHING_METHODS:
        return combinations
    jobs: list[JobWords] = []
    for words in combinations:
        jobs += _search_space(words, composer, options, n_before=len(jobs))
    return jobs


def _list_axis(override: Override) -> Axis:
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


def _pair_axes(axes: Sequence[Axis]) -> list[JobWords]:
    """Return the overrides of each job, with the values of all keys paired; a key that does not vary is repeated.

    Examples
    --------
    >>> _pair_axes([("a", ["a=1", "a=2"]), ("b", ["b=0"]), ("c", ["c=3", "c=4"])])
    [('a=1', 'b=0', 'c=3'), ('a=2', 'b=0', 'c=4')]
    """
    lengths = {key: len(words) for key, words in axes if len(words) > 1}
    if len(set(lengths.values())) > 1:
        given = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise UserError(f"search=zip needs the same number of values for each key, but {given}.")
    n_jobs = max(lengths.values(), default=1)
    columns = [words if len(words) > 1 else words * n_jobs for _, words in axes]
    return list(zip(*columns, strict=True))


def _search_space(words: JobWords, composer: Composer, options: SweepOptions, n_before: int) -> Iterator[JobWords]:
    """Yield a job for each point of the learner's search space; without a space, the given job.

    A key set on the command line is not searched, as in a study.
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
    _require_lists(grids)
    n_points = sum(map(_count_points, grids))
    indices: Sequence[int] = range(n_points)
    if options.method == "random" and options.n < n_points:
        # The points are drawn by index, so that spaces of any size need no memory.
        indices = _draw_indices(n_points, options.n, options.seed)
    n_jobs = n_before + len(indices)
    if n_jobs > options.max_jobs:
        made = f"search={options.method} makes {len(indices):,} of {' '.join(words)}"
        raise UserError(describe_excess(f"{n_jobs:,} jobs or more ({made})", options.max_jobs))
    # The space is not part of a job, so its overrides are left out.
    fixed_words = [word for word in words if not word.lstrip("+~").startswith("space")]
    for index in indices:
        point = space_point(grids, index)
        yield (*fixed_words, *(f"{_learner_key(name)}={override_text(value)}" for name, value in point.items()))


def _leave_out(grid: Grid, given_keys: set[str]) -> Grid:
    """Return a grid without the parameters with given keys."""
    return {name: values for name, values in grid.items() if _learner_key(name) not in given_keys}


def _learner_key(parameter: str) -> str:
    """Return the key of a parameter; scikit-learn writes nested parameters as part__parameter."""
    return f"learner.{parameter.replace('__', '.')}"


def _require_lists(grids: Iterable[Grid]) -> None:
    """Reject a grid in which the values of a parameter are not a list."""
    for grid in grids:
        for name, values in grid.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise UserError(f"space.{name}={values!r} must be a list of values to try.")


def _count_points(grid: Grid) -> int:
    return math.prod(len(values) for values in grid.values())


def _draw_indices(n_points: int, n: int, seed: int) -> list[int]:
    """Return n different indices below `n_points`, which may be too large for a permutation."""
    generator = np.random.default_rng(seed)
    drawn: dict[int, None] = {}
    while len(drawn) < n:
        drawn[int(generator.integers(n_points))] = None
    return list(drawn)


def space_point(grids: Sequence[Grid], index: int) -> Point:
    """Return the point of an index in several grids, one after the other; the last parameter varies fastest.

    Examples
    --------
    >>> [space_point([{"k": [1, 3], "p": [1, 2]}, {"k": [5]}], index) for index in (0, 1, 2, 4)]
    [{'k': 1, 'p': 1}, {'k': 1, 'p': 2}, {'k': 3, 'p': 1}, {'k': 5}]
    """
    grid, *others = grids
    if index >= _count_points(grid):
        return space_point(others, index - _count_points(grid))
    point = {}
    # The positions of the values are the digits of the index, and the last parameter is the lowest digit.
    for name, values in reversed(list(grid.items())):
        index, position = divmod(index, len(values))
        point[name] = values[position]
    return dict(reversed(point.items()))


def varying_keys(jobs: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the keys that have more than one value over the jobs."""
    values: dict[str, set[str]] = {}
    for words in jobs:
        for word in words:
            key, _, value = word.lstrip("+~").partition("=")
            values.setdefault(key, set()).add(value)
    return tuple(key for key, distinct in values.items() if len(distinct) > 1)
