"""Composing jobs: each once, from files that are read once; and from a command line to the overrides of each job."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, open_dict

from bakeoff.pipeline.config.explain_error import explain_error
from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.config.settle import resolve_config, settle_config
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep import search
from bakeoff.pipeline.sweep.jobs import ComposedJob
from bakeoff.pipeline.sweep.options import SweepOptions


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
        UserError
        """
        try:
            parsed = [self._parse(word) for word in words]
            chosen = tuple(word for word, (_, chooses) in zip(words, parsed, strict=True) if chooses)
            packed, choices = self._base(chosen)
            composed = pickle.loads(packed)  # a copy, in a third of deepcopy's time
            ConfigLoaderImpl._apply_overrides_to_config([each for each, chooses in parsed if not chooses], composed)
        except Exception as error:
            raise explain_error(error) from None
        return resolve_config(composed), choices

    def compose_job(
        self, number: int, words: Sequence[str], varying: tuple[str, ...], study: str | None = None
    ) -> ComposedJob:
        """Return a job of the sweep."""
        words = tuple(words)
        try:
            spec, choices = self.compose(words)
            invocation = Invocation(
                choices, varying=varying, sweep=self._name, number=number, overrides=words, study=study
            )
            return ComposedJob(number, words, settle_config(spec, choices), invocation)
        except UserError as refusal:
            return ComposedJob(number, words, refusal=refusal)

    def chooses(self, word: str) -> bool:
        """Whether an override chooses an option of a group, on which files depend."""
        return self._parse(word)[1]

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


def expand_overrides(overrides: Sequence[Override], options: SweepOptions, composer: Composer) -> list[tuple[str, ...]]:
    """Return the overrides of each job.

    Parameters
    ----------
    overrides : sequence of Override
        As on the command line.
    options : SweepOptions
    composer : Composer
        Finds the space that goes with the chosen learner.

    Raises
    ------
    UserError
    """
    method = str(options.search["method"])
    combined = search.combine_axes([_axis(each) for each in overrides], method)
    if method not in ("grid", "random"):
        return combined
    n, seed = int(options.search.get("n", 0)), int(options.search.get("seed", 0))
    return [job for words in combined for job in _searched(words, composer, method, n, seed)]


def _searched(words: tuple[str, ...], composer: Composer, method: str, n: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield a job for each point of its learner's space; a learner without one is taken as it is written."""
    try:
        space = composer.compose(words)[0].get("space")
    except UserError:  # the plan will tell of it
        space = None
    if not space:
        yield words
        return
    own = tuple(word for word in words if not word.lstrip("+~").startswith("space"))
    for point in search.space_points(space, method, n, seed):
        yield (*own, *(f"learner.{name}={override_text(value)}" for name, value in point.items()))


def _axis(override: Override) -> search.Axis:
    key = override.get_key_element()
    if not override.is_sweep_override():
        value = override.get_value_element_as_str()
        return key, [f"{key}={value}" if value or not override.is_delete() else key]
    if not override.is_discrete_sweep():
        raise HydraException(f"{override.input_line}: an interval has no end of values; give a list, or range(...).")
    return key, [f"{key}={value}" for value in override.sweep_string_iterator()]


def varying_keys(jobs: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the keys that have more than one value over jobs."""
    values: dict[str, set[str]] = {}
    for words in jobs:
        for word in words:
            key, _, value = word.lstrip("+~").partition("=")
            values.setdefault(key, set()).add(value)
    return tuple(key for key, different in values.items() if len(different) > 1)


def override_text(value: Any) -> str:
    """Write a value of a space in Hydra's grammar; a text stays a text though it looks like a number."""
    if isinstance(value, dict):
        value = {str(key): _quoted(child) for key, child in value.items()}
    elif isinstance(value, list):
        value = [_quoted(child) for child in value]
    return Override._get_value_element_as_str(_quoted(value))


def _quoted(value: Any) -> Any:
    plain = isinstance(value, str) and value.isidentifier() and value.lower() not in ("null", "true", "false", "nan")
    return value if not isinstance(value, str) or plain else QuotedString(value, Quote.single)
