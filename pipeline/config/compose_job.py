"""Composing one job without running it through Hydra: no folder is created, and no log is configured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from bakeoff.pipeline.config.invocation import (
    Invocation,
    read_invocation,
    reject_sweep_values,
    reject_unread_space,
)
from bakeoff.pipeline.config.messages import explain_error
from bakeoff.pipeline.config.schema import register_schema
from bakeoff.pipeline.config.settle import resolve_config, settle_choices, settle_config
from bakeoff.pipeline.config.words import RUN_WORD, check_overrides


def compose_job(words: Sequence[str]) -> tuple[dict[str, Any], Invocation]:
    """Return the settled configuration of a job, and its invocation.

    Parameters
    ----------
    words : sequence of str
        Overrides.

    Raises
    ------
    UserError
        An override is invalid, or a mandatory value is missing.
    """
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode
    from omegaconf import open_dict

    from bakeoff.pipeline.config.engine import ROOT_NAME, open_engine

    register_schema()
    check_overrides(words)
    try:
        with open_engine() as engine:
            composed = engine.compose_config(ROOT_NAME, list(words), RunMode.RUN)
            HydraConfig.instance().set_config(composed)
            if RUN_WORD not in words:
                reject_sweep_values()
            invocation = read_invocation()
            with open_dict(composed):
                del composed["hydra"]
            settled = settle_config(resolve_config(composed))
            reject_unread_space(invocation.overrides, [settled])
    except Exception as error:
        raise explain_error(error, words) from None
    return settled, replace(invocation, choices=settle_choices(settled, invocation.choices))


@contextmanager
def own_hydra_state() -> Iterator[None]:
    """Give the block Hydra objects of its own, and afterwards bring back those of the program that calls bakeoff.

    Hydra keeps its state in objects of which a process has one. A program may use Hydra itself, and call bakeoff from
    the function that Hydra runs.
    """
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.hydra_config import HydraConfig
    from hydra.core.singleton import Singleton
    from hydra.core.utils import JobRuntime
    from hydra.version import VersionBase
    from omegaconf.basecontainer import BaseContainer

    kinds: tuple[type, ...] = (GlobalHydra, HydraConfig, JobRuntime, VersionBase)
    theirs = {kind: Singleton._instances.pop(kind) for kind in kinds if kind in Singleton._instances}
    resolvers = dict(BaseContainer._resolvers)
    try:
        yield
    finally:
        for kind in kinds:
            Singleton._instances.pop(kind, None)
        Singleton._instances.update(theirs)
        BaseContainer._resolvers = resolvers
