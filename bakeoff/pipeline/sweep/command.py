"""The command of a sweep: its options, its folder, and the overrides of the jobs that its words describe."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from bakeoff.pipeline.config.engine import make_named_part
from bakeoff.pipeline.config.trust import BASIC_LAUNCHER
from bakeoff.pipeline.config.words import SWEEP_KEYS, list_words, read_duration
from bakeoff.pipeline.errors import UserError, did_you_mean, is_whole
from bakeoff.pipeline.sweep.compose import Composer, JobWords, override_text
from bakeoff.pipeline.sweep.jobs import Job, JobOutcome
from bakeoff.pipeline.tables.output_file import require_output_folder, write_private
from bakeoff.pipeline.text import secrets

if TYPE_CHECKING:
    from bakeoff.pipeline.config.engine import ConfigSource

SPACE_METHODS = ("grid", "random")
"""The values of ``search.method`` that use the search space of a learner."""
ALLOWED = {
    "on_error": ("continue", "stop"),
    "on_invalid": ("stop", "skip"),
    "search.method": ("none", "zip", *SPACE_METHODS),
}


@dataclass(frozen=True)
class SweepRequest:
    """The request for a sweep.

    Attributes
    ----------
    words : sequence of str
        The overrides, of which those of jobs may have several values.
    source : ConfigSource
        The files from which the jobs are composed.
    jobs : sequence of sequence of str or None
        The overrides of each job if they are already known; None to derive them from `words`.
    composed : sequence of Job
        Jobs with settled configurations, which replace those of `words`.
    tracebacks : bool
        Whether to print the traceback of each failed job.
    quiet : bool
        Whether to print nothing, because the caller uses the report.
    """

    words: Sequence[str]
    source: ConfigSource
    jobs: Sequence[Sequence[str]] | None = None
    composed: Sequence[Job] = ()
    tracebacks: bool = False
    quiet: bool = False


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
    on_error : {"continue", "stop"}
        What to do after a failed job.
    on_invalid : {"stop", "skip"}
    dry_run : bool
        Whether to show the plan and run nothing.
    exclude : list of dict
        Values of the combinations that are left out.
    max_jobs : int
        The maximum number of jobs.
    method : {"none", "zip", "grid", "random"}
        How the jobs are chosen.
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
    exclude: list[dict[str, Any]]
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
        search = {"method": "none", "n": 1, "seed": 0, **(options.pop("search") or {})}
        return cls(**options, method=str(search["method"]), n=search["n"], seed=search["seed"])

    def __post_init__(self) -> None:
        numbers = (
            ("max_jobs", self.max_jobs, 1, "a positive number of jobs"),
            ("workers", self.workers, 1, "a positive integer"),
            ("search.n", self.n, 1, "a positive integer"),
            ("search.seed", self.seed, 0, "an integer of at least 0"),
        )
        for key, value, least, need in numbers:
            if not is_whole(value, least):
                raise UserError(f"{key}={value!r} must be {need}.")
        if not isinstance(self.exclude, list) or not all(each and isinstance(each, dict) for each in self.exclude):
            raise UserError(
                f"exclude={override_text(self.exclude)} must be a list of mappings of keys to values, such as "
                "exclude=[{learner: knn, preprocessing: none}]."
            )
        for name, key in zip((self.on_error, self.on_invalid, self.method), ALLOWED, strict=True):
            if name not in ALLOWED[key]:
                raise UserError(f"{key}={name!r} is not allowed. {did_you_mean(name, ALLOWED[key])}")

    @property
    def skips_invalid(self) -> bool:
        """Whether invalid jobs are skipped instead of refusing the whole sweep."""
        return self.on_invalid == "skip"

    @property
    def needs_workers(self) -> bool:
        """Whether jobs run in separate processes, which can be killed when a time limit expires."""
        return self.workers > 1 or self.timeout is not None


LaunchJobs = Callable[[Iterable[Job], SweepOptions], Iterator[JobOutcome]]
"""Another launcher, which runs a batch of jobs and yields their outcomes as they arrive."""


@dataclass(frozen=True)
class SweepCommand:
    """The command of a sweep or a study, as Hydra parsed it.

    Attributes
    ----------
    request : SweepRequest
        The request, with the words from which the jobs are made.
    grids : list of list of Override
        These words, parsed; the jobs of several grids are united.
    options : SweepOptions
    composer : Composer
    launch : callable or None
        A launcher other than Hydra's basic one.
    folder : Path
        The folder of the sweep.
    master : DictConfig
        The configuration of the sweep itself.
    """

    request: SweepRequest
    grids: list[list[Override]]
    options: SweepOptions
    composer: Composer
    launch: LaunchJobs | None
    folder: Path
    master: DictConfig

    @classmethod
    def read(cls, request: SweepRequest, params: Any, context: HydraContext, master: DictConfig) -> SweepCommand:
        """Return the command of a request.

        Parameters
        ----------
        request : SweepRequest
            The request, with the words of the jobs alone.
        params : mapping of str to str, sequence of such mappings, or None
            Overrides from the configuration of the sweeper; the words of the request take precedence.
        context : HydraContext
        master : DictConfig
            The configuration of the sweep itself.

        Raises
        ------
        UserError
            An option of the sweep is invalid.
        """
        words = [[*_list_params(grid, request.words), *request.words] for grid in _read_grids(params)]
        # Values of the configuration may refer to Hydra's settings.
        HydraConfig.instance().set_config(master)
        parser = OverridesParser.create(config_loader=context.config_loader)
        grids = [parser.parse_overrides(words_of_grid) for words_of_grid in words]
        # The words of the master configuration set options of the sweep itself, which cannot vary between jobs.
        for override in parser.parse_overrides(list_words(master.hydra.overrides.task)):
            key = override.key_or_group
            if override.is_sweep_override() and key.split(".")[0] in SWEEP_KEYS:
                raise UserError(f"{override.input_line}: {key} is a key of the whole sweep; give it a single value.")
        has_basic_launcher = master.hydra.launcher._target_ == BASIC_LAUNCHER
        options = SweepOptions.read(master)
        if options.budget is not None and not has_basic_launcher:
            raise UserError("budget limits the sweeps of this machine; leave out budget, or hydra/launcher.")
        return cls(
            request=replace(request, words=tuple(dict.fromkeys(itertools.chain(*words)))),
            grids=grids,
            options=options,
            composer=Composer(context.config_loader, master),
            launch=None if has_basic_launcher else make_named_part(master.hydra.launcher).launch,
            folder=Path(str(master.hydra.sweep.dir)),
            master=master,
        )

    def open_folder(self) -> None:
        """Create the folder of the sweep, and write the configuration of the sweep into it.

        Raises
        ------
        UserError
            The folder cannot be written.
        """
        # The sweep itself was composed without the overrides of its jobs; the record contains the whole command.
        with read_write(self.master.hydra), open_dict(self.master):
            self.master.hydra.overrides.task = list(self.request.words)
        require_output_folder(self.folder, "hydra.sweep.dir")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_private(self.folder / "multirun.yaml", OmegaConf.to_yaml(self.master))
        except OSError as error:
            raise UserError(
                f"hydra.sweep.dir={str(self.folder)!r} cannot be written: {error.strerror}; give another folder."
            ) from None


def _read_grids(params: Any) -> list[Mapping[str, str]]:
    """Return the mappings of ``hydra.sweeper.params``, whose values are texts of Hydra's grammar or single values."""
    grids = params if isinstance(params, list) else [params or {}]
    for grid in grids:
        values = grid.values() if isinstance(grid, Mapping) else [grid]
        if any(isinstance(value, Mapping | list) for value in values) or not isinstance(grid, Mapping):
            raise UserError(
                f"hydra.sweeper.params={override_text(grid)}: the values of a key are a text, as in "
                "{learner: 'knn,svm'}, and several grids a list of such mappings."
            )
    return [
        {str(key): value if isinstance(value, str) else override_text(value) for key, value in grid.items()}
        for grid in grids
    ]


def _list_params(params: Mapping[str, str], words: Sequence[str]) -> list[str]:
    """Return the overrides of a sweeper's configuration without the keys that the words of a command set."""
    # Otherwise each combination would contain both values of a key and use the last one.
    given = {word.lstrip("+~").partition("=")[0] for word in words}
    for key, value in params.items():
        word = f"{key}={value}"
        if key in SWEEP_KEYS:
            raise UserError(f"hydra.sweeper.params: {key} applies to the whole sweep; give {word} beside -m.")
        if secrets.hide_secrets(word) != word:
            raise UserError(f"hydra.sweeper.params: {key} contains the value of a secret; give {key} beside -m.")
    return [f"{key}={value}" for key, value in params.items() if key not in given]


def expand_overrides(command: SweepCommand) -> list[JobWords]:
    """Return the overrides of each job of all grids; grids may repeat one another.

    Parameters
    ----------
    command : SweepCommand

    Raises
    ------
    UserError
        A range of values is not a list, the lists for ``zip`` differ in length, or there are too many jobs.
    """
    return [words for grid in command.grids for words in _expand_grid(grid, command.composer, command.options)]


def _expand_grid(grid: Sequence[Override], composer: Composer, options: SweepOptions) -> list[JobWords]:
    """Return the overrides of the jobs of a grid: all combinations or paired values, and points of search spaces."""
    axes = {override.get_key_element(): _list_words(override, options.max_jobs) for override in grid}
    lengths = {key: len(words) for key, words in axes.items() if len(words) > 1}
    n_jobs = max(lengths.values(), default=1) if options.method == "zip" else math.prod(lengths.values())
    require_few_jobs(n_jobs, f"the values of {', '.join(lengths)}", options.max_jobs)
    if options.method == "zip":
        if len(set(lengths.values())) > 1:
            given = ", ".join(f"{key} has {length}" for key, length in lengths.items())
            raise UserError(f"search=zip needs the same number of values for each key, but {given}.")
        return list(zip(*(words if len(words) > 1 else words * n_jobs for words in axes.values()), strict=True))
    jobs: list[JobWords] = list(itertools.product(*axes.values()))
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


def list_varying_keys(jobs: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the keys that take more than one value over the jobs, or are set by some of them."""
    values: dict[str, list[str]] = {}
    for words in jobs:
        for word in words:
            key, _, value = word.lstrip("+~").partition("=")
            values.setdefault(key, []).append(value)
    # A key that only some jobs set, such as those of one grid, has its default in the others, unless it is a parameter
    # that other learners lack.
    n_jobs = len(jobs)
    return tuple(
        key
        for key, found in values.items()
        if len(set(found)) > 1 or (len(found) < n_jobs and not key.startswith("learner."))
    )
