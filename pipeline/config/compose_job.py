"""Composition of a job: from its arguments to the settled configuration, without running anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bakeoff.pipeline.config.words import check_overrides
from bakeoff.pipeline.errors import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from bakeoff.pipeline.config.engine import ConfigSource
    from bakeoff.pipeline.config.words import Invocation

PRIVATE_MODE = 0o600
"""Of files that hold a command as it was given."""


class ComposedRun(NamedTuple):
    """A single job, composed from the words of a command.

    Attributes
    ----------
    spec : dict
        The settled configuration.
    invocation : Invocation
    composed : DictConfig
        The composed configuration, without the part of Hydra itself.
    own : DictConfig
        The part of Hydra itself, under the key ``hydra``.
    """

    spec: dict[str, Any]
    invocation: Invocation
    composed: DictConfig
    own: DictConfig


def compose_job(words: Sequence[str], source: ConfigSource | None = None) -> ComposedRun:
    """Compose a single job and settle it.

    Parameters
    ----------
    words : sequence of str
        Overrides.
    source : ConfigSource, optional
        The files; by default those of bakeoff, and ``conf/`` of the current folder.

    Raises
    ------
    UserError
        An override is invalid, a mandatory value is missing, or a file describes a sweep.
    """
    check_overrides(words)
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode
    from omegaconf import open_dict, read_write

    from bakeoff.pipeline.config.engine import SHIPPED_FILES, explain_error, open_engine
    from bakeoff.pipeline.config.references import resolve_config
    from bakeoff.pipeline.config.settle import settle_choices, settle_config
    from bakeoff.pipeline.config.words import read_invocation, reject_sweep_values, reject_unread_space

    source = source or SHIPPED_FILES
    try:
        with open_engine(source) as engine:
            composed = engine.compose_config(source.root, list(words), RunMode.RUN, with_log_configuration=True)
        reject_sweep_values(composed.hydra)
        with read_write(composed.hydra), open_dict(composed.hydra):
            composed.hydra.mode = RunMode.RUN
            composed.hydra.runtime.output_dir = os.path.abspath(str(composed.hydra.run.dir))
        # Values of the configuration may refer to the part of Hydra itself.
        HydraConfig.instance().set_config(composed)
        invocation = read_invocation(composed.hydra)
        # A copy, because the part of Hydra refers to keys of the whole configuration.
        composed = deepcopy(composed)
        with open_dict(composed):
            del composed["hydra"]
        settled = settle_config(resolve_config(composed))
        reject_unread_space(invocation.overrides, [settled])
    except Exception as error:
        raise explain_error(error, words) from None
    invocation = replace(invocation, choices=settle_choices(settled, invocation.choices))
    own: Any = HydraConfig.instance().cfg
    return ComposedRun(settled, invocation, composed, own)


def compose_parts(words: Sequence[str], keys: Iterable[str]) -> dict[str, Any]:
    """Return parts of the configuration composed from words, as plain values; missing values are ``???``.

    Parameters
    ----------
    words : sequence of str
        Overrides.
    keys : iterable of str
        Top-level keys of the configuration.

    Raises
    ------
    UserError
        A word is invalid, or refers to a missing value.
    """
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    from bakeoff.pipeline.config.engine import ROOT_NAME, explain_error, open_engine

    try:
        with open_engine() as engine:
            composed = engine.compose_config(ROOT_NAME, list(words), RunMode.RUN)
        parts = {key: composed[key] for key in keys}
        nodes = {key: part for key, part in parts.items() if OmegaConf.is_config(part)}
        return {**parts, **{key: OmegaConf.to_container(node, resolve=True) for key, node in nodes.items()}}
    except Exception as error:
        raise explain_error(error, words) from None


@contextmanager
def job_environment(run: ComposedRun) -> Iterator[None]:
    """Set the environment variables in ``hydra.job.env_set`` while a block runs."""
    from hydra.core.utils import env_override

    with env_override(run.own.hydra.job.env_set):
        yield


@contextmanager
def run_folder(run: ComposedRun) -> Iterator[None]:
    """Write the folder of a run as Hydra does, and set up the log and the current folder for the block.

    The recorded composition is readable by the current user only.

    Raises
    ------
    UserError
        The folder cannot be written.
    """
    from hydra.core.utils import configure_log
    from omegaconf import OmegaConf

    own = run.own.hydra
    folder = Path(own.runtime.output_dir)
    files = {"config.yaml": run.composed, "hydra.yaml": run.own, "overrides.yaml": own.overrides.task}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        configure_log(own.job_logging, own.verbose)
        for name, content in files.items() if own.output_subdir is not None else ():
            file = folder / own.output_subdir / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=PRIVATE_MODE)
            file.write_text(OmegaConf.to_yaml(content), encoding="utf-8")
    except OSError as error:
        raise UserError(f"the folder of the run, {str(folder)!r}, cannot be written: {error.strerror}.") from None
    with chdir(folder) if own.job.chdir else nullcontext():
        yield


@contextmanager
def own_hydra_state() -> Iterator[None]:
    """Run a block with a separate Hydra state, and restore the state of the calling program afterwards.

    Hydra keeps its state in global objects. A program may use Hydra itself, and call bakeoff from
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
