"""The options of a sweep, and the composition of its jobs from values on a command line or in a space."""

from __future__ import annotations

import itertools
import math
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import getitem
from pathlib import Path
from random import Random
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from bakeoff.pipeline.config import engine, settle
from bakeoff.pipeline.config.compose_job import resolve_config
from bakeoff.pipeline.config.targets import Path as KeyPath
from bakeoff.pipeline.config.words import SWEEP_KEYS, Invocation, read_duration
from bakeoff.pipeline.errors import UserError, did_you_mean, is_whole
from bakeoff.pipeline.sweep.jobs import INVALID, Job, JobOutcome
from bakeoff.pipeline.tables.output_file import require_output_folder, write_private
from bakeoff.pipeline.text import secrets, wording

JobWords = tuple[str, ...]
"""The overrides of a job."""
Choices = dict[str, str]
"""Group -> the chosen option."""
YAML_WORDS = ("null", "true", "false", "nan")
"""Strings that would be parsed as other values without quotation marks."""
SEARCH_METHODS = ("none", "zip", "grid", "random")
SPACE_METHODS = ("grid", "random")
"""The values of ``search.method`` that use the search space of a learner."""
ON_INVALID = ("stop", "skip")
ON_ERROR = ("continue", "stop")


@dataclass(frozen=True)
class SweepOptions:
    """Options for making and running the jobs of a sweep.

    Attributes
    ----------
    resume : bool
        Whether to skip jobs that have a FINISHED run in the store.
    workers : int
        The number of processes on this machine.
    timeout : float or None
        The time limit of a job in seconds.
    budget : float or None
        The time limit of the sweep in seconds.
    on_error : str
        Whether to ``continue`` or to ``stop`` after a failed job.
    on_invalid : {"stop", "skip"}
    dry_run : bool
        Whether to show the plan and run nothing.
    max_jobs : int
        The maximum number of jobs.
    method : str
        A name in `SEARCH_METHODS`, which determines how the jobs are chosen.
    n, seed : int
        The number of random points and their seed.
    """

    resume: bool
    workers: int
    timeout: float | None
    budget: float | None
    on_error: str
    on_invalid: str
    dry_run: bool
    max_jobs: int
    method: str
    n: int
    seed: int

    @classmethod
    def read(cls, master: DictConfig) -> SweepOptions:
        """Return the options contained in the configuration of a sweep.

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
        for key in ("timeout", "budget"):
            options[key] = read_duration(key, options[key])
        search = options.pop("search") or {}
        return cls(
            **options, method=str(search.get("method", "none")), n=search.get("n", 1), seed=search.get("seed", 0)
        )

    def __post_init__(self) -> None:
        numbers = (
            ("max_jobs", self.max_jobs, self.max_jobs >= 1, "a positive number of jobs"),
            ("workers", self.workers, self.workers >= 1, "a positive integer"),
            ("search.n", self.n, is_whole(self.n, 1), "a positive integer"),
            ("search.seed", self.seed, is_whole(self.seed, 0), "an integer of at least 0"),
        )
        for key, value, is_valid, need in numbers:
            if not is_valid:
                raise UserError(f"{key}={value!r} must be {need}.")
        names = (
            ("on_error", self.on_error, ON_ERROR),
            ("on_invalid", self.on_invalid, ON_INVALID),
            ("search.method", self.method, SEARCH_METHODS),
        )
        for key, name, allowed in names:
            if name not in allowed:
                raise UserError(f"{key}={name!r} is not allowed. {did_you_mean(name, allowed)}")

    @property
    def skips_invalid(self) -> bool:
        """Whether invalid jobs are skipped instead of refusing the whole sweep."""
        return self.on_invalid == "skip"

    @property
    def needs_workers(self) -> bool:
        """Whether jobs run in separate processes, which can be killed when a time limit expires."""
        return self.workers > 1 or self.timeout is not None


def require_single_values(overrides: Sequence[Override]) -> None:
    """Reject several values for a key of the sweep itself.

    Parameters
    ----------
    overrides : sequence of Override
        The overrides from which the sweep itself is composed.

    Raises
    ------
    UserError
    """
    for override in overrides:
        key = override.key_or_group
        if override.is_sweep_override() and key.split(".")[0] in SWEEP_KEYS:
            raise UserError(f"{override.input_line}: {key} is a key of the whole sweep; give it a single value.")


LaunchJobs = Callable[[Sequence[Job], SweepOptions], Iterator[JobOutcome]]
"""Another launcher, which runs a batch of jobs and yields their outcomes in order."""


INTEGER_WORD = re.compile(r"^((?:seed|\+*\w+\.[\w.]+)=)(-?(?:0|[1-9][0-9]{0,17}))\Z", re.ASCII)
"""A word that sets an integer of 64 bits, spelled as Hydra reads it; of the keys without a dot, only the seed is no
part."""
PLAIN_REFERENCE = re.compile(r"\$\{(\w+(?:\.\w+)*)\}")
Shape = tuple[int | str, ...]
"""Which words of a job set an integer, and the words without these integers."""
Pattern = tuple[bytes, Choices, list[tuple[KeyPath, int]]]
"""The resolved configuration, pickled, of jobs whose words differ in integers alone; the chosen option of each group;
and where an integer occurs, with the position of its word."""


@dataclass
class Composer:
    """Composes jobs: reads each file once, composes each combination of groups once, and sets the values for each job.

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
    _patterns: dict[Shape, Pattern | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Hydra would otherwise read the same files again for every job.
        self.loader.repository = engine.ConfigFiles(self.loader.repository)
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
        found = ((place, INTEGER_WORD.match(word)) for place, word in enumerate(words))
        integers = {place: int(match[2]) for place, match in found if match}
        shape: Shape = (*integers, *(INTEGER_WORD.sub(r"\1", word) for word in words))
        if integers and shape not in self._patterns:
            self._patterns[shape] = self._find_pattern(words, integers)
        pattern = self._patterns.get(shape)
        if pattern is None:
            tree, choices = self._compose_tree(words)
            return resolve_config(tree), choices
        packed, choices, places = pattern
        spec: dict[str, Any] = pickle.loads(packed)
        for path, place in places:
            reduce(getitem, path[:-1], spec)[path[-1]] = integers[place]
        return spec, choices

    def _find_pattern(self, words: Sequence[str], integers: Mapping[int, int]) -> Pattern | None:
        """Return the pattern of words, or None if their integers may affect more than their own places.

        Parameters
        ----------
        words : sequence of str
            The words of the first job.
        integers : mapping of int to int
            Position of a word that sets an integer -> the integer.
        """
        place_of = {words[place].lstrip("+").partition("=")[0]: place for place in integers}
        try:
            tree, choices = self._compose_tree(words)
            spec: Any = resolve_config(tree)
            unresolved = OmegaConf.to_container(tree, resolve=False)
            values = list(_walk_sources(unresolved, unresolved))
            places = [(path, place_of[source]) for path, source, _ in values if source in place_of]
            is_unchanged = all(reduce(getitem, path, spec) == integers[place] for path, place in places)
        except Exception:  # the words of a job have their own error
            return None
        # A text that contains a reference, and a resolver, may make anything of an integer.
        has_other_reference = any(isinstance(value, str) and "${" in value for _, _, value in values)
        return (pickle.dumps(spec), choices, places) if is_unchanged and not has_other_reference else None

    def _compose_tree(self, words: Sequence[str]) -> tuple[DictConfig, Choices]:
        """Return the configuration of a job with its references, and the chosen option of each group."""
        try:
            # Options determine which files are composed, which is slow. Jobs that differ only in values share this
            # step.
            group_words = tuple(word for word in words if self.chooses_option(word))
            value_words = [word for word in words if not self.chooses_option(word)]
            values = [self._parse(word)[0] for word in value_words]
            packed, choices = self._compose_groups(group_words)
            tree: DictConfig = pickle.loads(packed)  # a copy, three times as fast as deepcopy
            engine.set_values(tree, values)
        except Exception as error:
            raise engine.explain_error(error) from None
        return tree, choices

    def compose_job(self, number: int, words: Sequence[str], varying: tuple[str, ...], study: str | None = None) -> Job:
        """Return a job of the sweep with its settled configuration; an invalid job has a reason.

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
        name = " ".join(overrides) or "default"
        given = Invocation({}, varying, self._sweep_name, number, overrides, study)
        try:
            spec, choices = self.compose(overrides)
            settled = settle.settle_config(spec)
            return Job(number, name, replace(given, choices=settle.settle_choices(settled, choices)), settled)
        except Exception as error:  # one job must not prevent the composition of the others
            return Job(number, name, given, state=INVALID, reason=secrets.describe_error(error))

    def chooses_option(self, word: str) -> bool:
        """Whether an override chooses an option of a group, which determines which files are read."""
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


def _walk_sources(node: Any, tree: Any, path: KeyPath = (), source: str = "") -> Iterator[tuple[KeyPath, str, Any]]:
    """Yield each value below a node with its path, and with the key at which it is set.

    These differ for a reference that is a whole value: what it leads to is yielded in its place.

    Parameters
    ----------
    node : object
    tree : dict
        The composed configuration, with its references.
    path : tuple
        The path of the node.
    source : str
        The key at which the node is set.

    Raises
    ------
    KeyError, TypeError
        A reference leads through another one.

    Examples
    --------
    >>> tree = {"seed": 3, "learner": {"random_state": "${seed}"}}
    >>> list(_walk_sources(tree, tree))
    [(('seed',), 'seed', 3), (('learner', 'random_state'), 'seed', 3)]
    """
    while isinstance(node, str) and (found := PLAIN_REFERENCE.fullmatch(node)):
        source = found[1]
        node = reduce(getitem, source.split("."), tree)
    if isinstance(node, dict | list):
        children = node.items() if isinstance(node, dict) else enumerate(node)
        for name, child in children:
            yield from _walk_sources(child, tree, (*path, name), f"{source}.{name}".lstrip("."))
    else:
        yield path, source, node


def override_text(value: Any) -> str:
    """Return a value in Hydra's grammar, so that a string that looks like a number remains a string.

    Examples
    --------
    >>> [override_text(value) for value in (None, True, 1e-9, "scale", "a b", "1", [50, 50])]
    ['null', 'True', '1e-09', 'scale', "'a b'", "'1'", '[50,50]']
    """
    if isinstance(value, dict):
        value = {str(key): _quote_text(child) for key, child in value.items()}
    elif isinstance(value, list):
        value = [_quote_text(child) for child in value]
    return Override._get_value_element_as_str(_quote_text(value))


def _quote_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value == wording.MISSING_VALUE:
        value = wording.escape_text(value)
    is_plain = value.isidentifier() and value.lower() not in YAML_WORDS
    return value if is_plain else QuotedString(value, Quote.single)


@dataclass(frozen=True)
class SweepCommand:
    """The command of a sweep or a study, as Hydra parsed it.

    Attributes
    ----------
    words : tuple of str
        The overrides from which the jobs are made.
    overrides : list of Override
        The overrides, parsed.
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

    def open_folder(self) -> None:
        """Create the folder of the sweep, and write the configuration of the sweep into it.

        Raises
        ------
        UserError
            The folder cannot be written.
        """
        # The sweep itself was composed without the overrides of its jobs; the record contains the whole command.
        with read_write(self.master.hydra), open_dict(self.master):
            self.master.hydra.overrides.task = list(self.words)
        require_output_folder(self.folder, "hydra.sweep.dir")
        file = self.folder / "multirun.yaml"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_private(file, OmegaConf.to_yaml(self.master))
        except OSError as error:
            raise UserError(
                f"hydra.sweep.dir={str(self.folder)!r} cannot be written: {error.strerror}; give another folder."
            ) from None


def expand_overrides(overrides: Sequence[Override], options: SweepOptions, composer: Composer) -> list[JobWords]:
    """Return the overrides of each job: all combinations or paired values, and points of search spaces.

    Parameters
    ----------
    overrides : sequence of Override
        The overrides on the command line, where a key may have several values.
    options : SweepOptions
    composer : Composer
        Finds the search space of the chosen learner.

    Raises
    ------
    UserError
        A range of values is not a list, the lists for ``zip`` differ in length, or there are too many jobs.
    """
    axes = {override.get_key_element(): _list_words(override, options.max_jobs) for override in overrides}
    lengths = {key: len(words) for key, words in axes.items() if len(words) > 1}
    n_jobs = max(lengths.values(), default=1) if options.method == "zip" else math.prod(lengths.values())
    require_few_jobs(n_jobs, f"the values of {', '.join(lengths)}", options.max_jobs)
    if options.method == "zip":
        if len(set(lengths.values())) > 1:
            given = ", ".join(f"{key} has {length}" for key, length in lengths.items())
            raise UserError(f"search=zip needs the same number of values for each key, but {given}.")
        return list(zip(*(words if len(words) > 1 else words * n_jobs for words in axes.values()), strict=True))
    jobs: list[JobWords] = list(dict.fromkeys(itertools.product(*axes.values())))
    if options.method not in SPACE_METHODS:
        return jobs
    points: list[JobWords] = []
    for words in jobs:
        points += _search_space(words, composer, options)
        require_few_jobs(len(points), f"search={options.method} of {' '.join(words)}", options.max_jobs)
    return points


def require_few_jobs(n_jobs: int, cause: str, max_jobs: int) -> None:
    """Reject more jobs than allowed; the cause begins the message."""
    if n_jobs > max_jobs:
        raise UserError(f"{cause} make more than max_jobs={max_jobs} jobs; give fewer values, or a larger max_jobs.")


def _list_words(override: Override, max_jobs: int) -> list[str]:
    """Return an override for each value of a key; if there are too many, return one more than allowed."""
    key = override.get_key_element()
    if not override.is_sweep_override():
        value = override.get_value_element_as_str()
        return [f"{key}={value}" if value or not override.is_delete() else key]
    if not override.is_discrete_sweep():
        raise UserError(f"{override.input_line}: an interval has infinitely many values; give a list, or range(...).")
    try:
        values = list(itertools.islice(override.sweep_string_iterator(), max_jobs + 1))
    except (ArithmeticError, ValueError, HydraException):  # of Decimal, range and the types of Hydra
        raise UserError(
            f"{override.input_line}: these values cannot be listed; write them out, as in KEY=A,B, or as one range "
            "with finite ends and a step other than 0."
        ) from None
    if not values:
        raise UserError(f"{override.input_line} has no values; write at least one.")
    return [f"{key}={value}" for value in values]


def _search_space(words: JobWords, composer: Composer, options: SweepOptions) -> Iterator[JobWords]:
    """Yield a job for each point of the learner's search space, or the given job if there is no space.

    A key set on the command line is not searched, as in a study.
    """
    from sklearn.model_selection import ParameterGrid  # invalid words are refused before this import

    try:
        space = composer.compose(words)[0].get("space")
    except UserError:
        yield words  # the plan reports it
        return
    given_keys = {word.lstrip("+~").partition("=")[0] for word in words}
    found = [
        {name: values for name, values in grid.items() if _learner_key(name) not in given_keys}
        for grid in ([space] if isinstance(space, Mapping) else space or [])
    ]
    try:
        points = ParameterGrid(found or {})
    except (TypeError, ValueError) as error:
        raise UserError(f"space: {error}") from error
    indices: Sequence[int] = range(min(len(points), options.max_jobs + 1))
    if options.method == "random" and options.n < len(points):
        # The points are drawn by index, so spaces of any size need no memory.
        indices = Random(options.seed).sample(range(len(points)), options.n)
    # The search space is not part of a job, so its overrides are left out.
    fixed = [word for word in words if not word.lstrip("+~").startswith("space")]
    for index in indices:
        yield (*fixed, *(f"{_learner_key(name)}={override_text(value)}" for name, value in points[index].items()))


def _learner_key(parameter: str) -> str:
    """Return the key of a parameter; scikit-learn writes nested parameters as part__parameter."""
    return f"learner.{parameter.replace('__', '.')}"


def varying_keys(jobs: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the keys that take more than one value over the jobs."""
    values: dict[str, set[str]] = {}
    for words in jobs:
        for word in words:
            key, _, value = word.lstrip("+~").partition("=")
            values.setdefault(key, set()).add(value)
    return tuple(key for key, distinct in values.items() if len(distinct) > 1)
