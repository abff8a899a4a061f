"""Sweeps over several experiments: their files cannot say how the jobs of the whole sweep are made and run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from bakeoff.pipeline.config.invocation import list_words
from bakeoff.pipeline.config.schema import SWEEP_KEYS
from bakeoff.pipeline.errors import UserError

EXPERIMENT_KEY = "experiment"
HYDRA_KEYS = ("hydra.sweeper.params", "hydra.sweeper._target_", "hydra.launcher._target_")


def reject_lost_keys(overrides: Sequence[Override], loader: Any, master: DictConfig) -> None:
    """Reject experiments of one sweep whose files set keys of the whole sweep: none of them would be read.

    Parameters
    ----------
    overrides : sequence of Override
        Those of the jobs.
    loader : ConfigLoader
        Hydra's.
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
