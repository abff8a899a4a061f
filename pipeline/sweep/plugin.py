"""Hydra's part of a sweep: each job is composed once, from files that are read once; other launchers are served."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.errors import HydraException
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from pipeline import config
from pipeline.refusal import Refusal
from pipeline.request import Request
from pipeline.sweep import search
from pipeline.sweep.jobs import KILLED, REFUSED, Draft, Job, Outcome
from pipeline.sweep.options import Options

BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"


def sweep(params: Sequence[str], context: HydraContext, task: Any, master: DictConfig) -> None:
    """Compose all jobs of a sweep, and hand them to the engine.

    Parameters
    ----------
    params : sequence of str
        Overrides that stand in the configuration of the sweeper; those of the command line go before.
    context : HydraContext
    task : Task
        Holds the overrides of the command line, and is told the outcomes.
    master : DictConfig
        Composed for the sweep itself.

    Raises
    ------
    Refusal
        The sweep itself is written wrong; of single jobs the plan tells.
    """
    from pipeline.sweep.engine import conduct

    HydraConfig.instance().set_config(master)
    parser = OverridesParser.create(config_loader=context.config_loader)
    overrides = parser.parse_overrides([*params, *task.arguments])
    for each in parser.parse_overrides(list(master.hydra.overrides.task)):
        if each.is_sweep_override() and each.key_or_group.split(".")[0] in config.SWEEP_KEYS:
            raise Refusal(f"{each.input_line}: {each.key_or_group} is a key of the whole sweep; give it one value.")
    options = _options(master)
    composer = Composer(context.config_loader, master)
    jobs = expand(overrides, options, composer) if task.jobs is None else task.jobs
    varying = tuple(dict.fromkeys(each.key_or_group for each in overrides if each.is_sweep_override()))
    varying += tuple(key for key in _varying(jobs) if key not in varying)
    drafts = [composer.draft(number, words, varying) for number, words in enumerate(jobs)]
    is_ours = master.hydra.launcher._target_ == BASIC
    folder = Path(str(master.hydra.sweep.dir))
    conduct(drafts, options, task, folder, None if is_ours else Elsewhere(context, master))
    if folder.is_dir():
        with read_write(master.hydra), open_dict(master):
            master.hydra.overrides.task = [*params, *task.arguments]
        OmegaConf.save(master, folder / "multirun.yaml")


def _options(master: DictConfig) -> Options:
    plain = OmegaConf.to_container(OmegaConf.masked_copy(master, list(config.SWEEP_KEYS)), resolve=True)
    assert isinstance(plain, dict)
    plain["search"] = plain["search"] or {"method": "none"}
    return Options(**{str(key): value for key, value in plain.items()})


@dataclass(frozen=True)
class Elsewhere:
    """Another launcher of Hydra's, which may run jobs on other machines."""

    context: HydraContext
    master: DictConfig

    def __call__(self, jobs: Sequence[Job], options: Options) -> Iterator[Outcome]:
        """Launch the jobs and yield their outcomes."""
        with read_write(self.master.hydra), open_dict(self.master):  # the others must not make a name of their own
            given = list(self.master.hydra.overrides.hydra)
            self.master.hydra.overrides.hydra = [*given, f"hydra.sweep.dir='{self.master.hydra.sweep.dir}'"]
        work = RemoteWork(options.resume, options.timeout, jobs[0].request.varying)
        launcher = Plugins.instance().instantiate_launcher(self.context, work, self.master)
        returned = launcher.launch([list(job.request.overrides) for job in jobs], initial_job_idx=0)
        try:
            for job, each in zip(jobs, returned, strict=True):
                yield replace(_arrived(job, each), number=job.number, name=job.name)
        finally:  # nobody waits for what still runs
            getattr(returned, "cancel", bool)()


def _arrived(job: Job, returned: JobReturn) -> Outcome:
    """Return the outcome of a job that ran elsewhere; one whose process died has none, and is told as killed."""
    try:
        outcome = returned.return_value
    except Refusal as refusal:
        return Outcome(job.number, job.name, REFUSED, str(refusal))
    except Exception as error:
        return Outcome(job.number, job.name, KILLED, str(error))
    assert isinstance(outcome, Outcome)
    return outcome


@dataclass(frozen=True)
class RemoteWork:
    """What another launcher calls for each job: it goes there by pickle, and what it has to say comes back so."""

    resume: bool
    timeout: float | None
    varying: tuple[str, ...]

    def __call__(self, composed: DictConfig) -> Outcome:
        """Run the job that Hydra composed there."""
        from pipeline.sweep.bench import Bench

        bench = Bench(self.resume, self.timeout)
        spec = config.settle(config.resolve(composed))
        return bench.run(bench.identify(0, spec, config.request(self.varying), asked=False))


@dataclass
class Composer:
    """Composes jobs: files are read once, groups are chosen once per combination, values are set for each job."""

    loader: Any
    master: DictConfig
    _parsed: dict[str, tuple[Override, bool]] = field(default_factory=dict)
    _bases: dict[tuple[str, ...], tuple[bytes, dict[str, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.loader.repository = CachingConfigRepository(self.loader.repository)
        self._name = Path(str(self.master.hydra.sweep.dir)).name
        self._parser = OverridesParser.create()

    def compose(self, words: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return a job's configuration, not settled, and the chosen option of each group.

        Raises
        ------
        Refusal
        """
        try:
            parsed = [self._parse(word) for word in words]
            chosen = tuple(word for word, (_, chooses) in zip(words, parsed, strict=True) if chooses)
            packed, choices = self._base(chosen)
            composed = pickle.loads(packed)  # a copy, in a third of deepcopy's time
            ConfigLoaderImpl._apply_overrides_to_config([each for each, chooses in parsed if not chooses], composed)
        except Exception as error:
            raise config.explain(error) from None
        return config.resolve(composed), choices

    def draft(self, number: int, words: Sequence[str], varying: tuple[str, ...]) -> Draft:
        """Return a job of the sweep."""
        words = tuple(words)
        try:
            spec, choices = self.compose(words)
            request = Request(choices, varying=varying, sweep=self._name, number=number, overrides=words)
            return Draft(number, words, config.settle(spec), request)
        except Refusal as refusal:
            return Draft(number, words, refusal=refusal)

    def _parse(self, word: str) -> tuple[Override, bool]:
        """Return an override, and whether it chooses an option of a group, on which files depend."""
        if word not in self._parsed:
            override = self._parser.parse_override(word)
            is_group = bool(self.loader.repository.group_exists(override.key_or_group))
            self._parsed[word] = override, is_group or override.package is not None
        return self._parsed[word]

    def _base(self, chosen: tuple[str, ...]) -> tuple[bytes, dict[str, str]]:
        if chosen not in self._bases:
            composed = self.loader.load_sweep_config(self.master, list(chosen))
            choices = {str(group): str(option) for group, option in composed.hydra.runtime.choices.items()}
            with open_dict(composed):
                del composed["hydra"]
            self._bases[chosen] = pickle.dumps(composed), choices
        return self._bases[chosen]


def expand(overrides: Sequence[Override], options: Options, composer: Composer) -> list[tuple[str, ...]]:
    """Return the overrides of each job.

    Parameters
    ----------
    overrides : sequence of Override
        As on the command line.
    options : Options
    composer : Composer
        Finds the space that goes with the chosen learner.

    Raises
    ------
    Refusal
    """
    method = str(options.search["method"])
    combined = search.combine([_axis(each) for each in overrides], method)
    if method not in ("grid", "random"):
        return combined
    n, seed = int(options.search.get("n", 0)), int(options.search.get("seed", 0))
    return [job for words in combined for job in _searched(words, composer, method, n, seed)]


def _searched(words: tuple[str, ...], composer: Composer, method: str, n: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield a job for each point of its learner's space; a learner without one is taken as it is written."""
    try:
        space = composer.compose(words)[0].get("space")
    except Refusal:  # the plan will tell of it
        space = None
    if not space:
        yield words
        return
    own = tuple(word for word in words if not word.lstrip("+~").startswith("space"))
    for point in search.points(space, method, n, seed):
        yield (*own, *(f"learner.{name}={_text(value)}" for name, value in point.items()))


def _axis(override: Override) -> search.Axis:
    key = override.get_key_element()
    if not override.is_sweep_override():
        value = override.get_value_element_as_str()
        return key, [f"{key}={value}" if value or not override.is_delete() else key]
    if not override.is_discrete_sweep():
        raise HydraException(f"{override.input_line}: an interval has no end of values; give a list, or range(...).")
    return key, [f"{key}={value}" for value in override.sweep_string_iterator()]


def _varying(jobs: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the keys that have more than one value over jobs."""
    values: dict[str, set[str]] = {}
    for words in jobs:
        for word in words:
            key, _, value = word.lstrip("+~").partition("=")
            values.setdefault(key, set()).add(value)
    return tuple(key for key, different in values.items() if len(different) > 1)


def _text(value: Any) -> str:
    """Write a value of a space in Hydra's grammar; a text stays a text though it looks like a number."""
    if isinstance(value, dict):
        value = {str(key): _quoted(child) for key, child in value.items()}
    elif isinstance(value, list):
        value = [_quoted(child) for child in value]
    return Override._get_value_element_as_str(_quoted(value))


def _quoted(value: Any) -> Any:
    plain = isinstance(value, str) and value.isidentifier() and value.lower() not in ("null", "true", "false", "nan")
    return value if not isinstance(value, str) or plain else QuotedString(value, Quote.single)
