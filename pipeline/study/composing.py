"""From the command line and ``hydra.sweeper.params`` to a space, by composing configurations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict

from pipeline import config
from pipeline.refusal import Refusal
from pipeline.study.space import Dimension, Space, own_dimensions, read, word


@dataclass
class Composer:
    """Composes the configurations of jobs before they run."""

    context: HydraContext
    master: DictConfig
    _own: dict[tuple[str, ...], tuple[Dimension, ...]] = field(default_factory=dict, init=False)

    def parse(self, words: Sequence[str]) -> list[Override]:
        """Read overrides."""
        return OverridesParser.create(config_loader=self.context.config_loader).parse_overrides(list(words))

    def spec(self, overrides: Sequence[str]) -> dict[str, Any]:
        """Return the settled configuration of a job."""
        return config.settle(config.resolve(self._compose(overrides)[0]))

    def own(self, overrides: tuple[str, ...], fixed: int, taken: Sequence[str]) -> tuple[Dimension, ...]:
        """Return the dimensions that only the learner of a job has, from its ``space``.

        Parameters
        ----------
        overrides : tuple of str
        fixed : int
            How many of them are the same for all jobs.
        taken : sequence of str
            Keys that are set or searched otherwise.
        """
        groups = [override for override in overrides[fixed:] if "." not in override.split("=")[0]]
        key = (*overrides[:fixed], *groups)
        if key not in self._own:
            composed, learner = self._compose(key)
            space = OmegaConf.to_container(composed.space, resolve=True) if composed.get("space") else None
            self._own[key] = own_dimensions(learner, space, taken, lambda text: self.parse([text])[0])
        return self._own[key]

    def _compose(self, overrides: Sequence[str]) -> tuple[DictConfig, str]:
        composed = self.context.config_loader.load_sweep_config(self.master, list(overrides))
        learner = str(composed.hydra.runtime.choices.get("learner"))
        with open_dict(composed):
            del composed["hydra"]
        return composed, learner


def read_space(arguments: Sequence[str], params: Mapping[str, Any], spaces: bool, composer: Composer) -> Space:
    """Return what is searched and what is fixed; the command line overrules ``params``.

    Raises
    ------
    Refusal
        Nothing to search, or something that cannot be.
    """
    configured = [f"{key}={value if isinstance(value, str) else word(value)}" for key, value in _flat(params)]
    overrides = {override.key_or_group: override for override in composer.parse([*configured, *arguments])}
    fixed = tuple(str(override.input_line) for override in overrides.values() if not override.is_sweep_override())
    dimensions = tuple(read(override) for override in overrides.values() if override.is_sweep_override())
    for key in (override.key_or_group for override in overrides.values() if override.is_sweep_override()):
        if key == "dataset":
            raise Refusal("dataset is searched, but scores on different data do not compare; run a study for each.")
        if key.startswith("space."):
            raise Refusal(f"{key} is searched, but it is itself a space; search learner.{key[6:]}.")

    def own(job: tuple[str, ...]) -> tuple[Dimension, ...]:
        return composer.own(job, len(fixed), list(overrides)) if spaces else ()

    if not dimensions and not own(fixed):
        raise Refusal(
            "there is nothing to search: give 'learner.PARAMETER=interval(0,1)', range(1,9) or a,b,c, "
            "or hydra.sweeper.spaces=true for a learner of conf/space."
        )
    return Space(fixed, dimensions, own)


def _flat(params: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield dotted keys: hydra.sweeper.params.learner.C=... on the command line makes nested mappings."""
    for key, value in params.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{name}", child) for name, child in _flat(value))
        else:
            yield key, value
