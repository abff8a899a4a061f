"""Hydra's engine, as every command of bakeoff opens it: what it composes is checked before Hydra acts on it.

Hydra configures its log, creates callbacks and makes folders as soon as it has composed a configuration, and before it
calls any function of the program. So the check is a part of the loader that composes.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository
from hydra.core.override_parser.types import Override
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.config.trust.guard import Composition, require_own_values
from bakeoff.pipeline.config.trust.plugin_folder import leave_out_current_folder
from bakeoff.pipeline.config.trust.search_path import require_trusted_folders

JOB_NAME = "bakeoff"
ROOT_NAME = "config"
VERSION_BASE = "1.3"


@final
class GuardedLoader(ConfigLoaderImpl):
    """Hydra's loader, which refuses files that grant trust, or name what Hydra itself would call or write."""

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """Compose a configuration, and check it.

        Parameters
        ----------
        config_name : str or None
            The root file.
        overrides : list of str
            The words of the command.
        run_mode : RunMode
        from_shell, validate_sweep_overrides : bool
            As for Hydra's loader.

        Raises
        ------
        UserError
            A file says what only the command may say.
        """
        composed = super().load_configuration(
            config_name, overrides, run_mode, from_shell=from_shell, validate_sweep_overrides=validate_sweep_overrides
        )
        require_own_values(Composition(self, config_name, tuple(overrides), run_mode, composed))
        return composed

    def _process_config_searchpath(
        self, config_name: str | None, parsed_overrides: list[Override], repo: CachingConfigRepository
    ) -> None:
        """Check the folders that join the search path before Hydra looks into them: a package would be imported."""
        require_trusted_folders(config_name, parsed_overrides, repo)
        super()._process_config_searchpath(config_name, parsed_overrides, repo)


@dataclass(frozen=True)
class ConfigSource:
    """The files that a configuration is composed from.

    Attributes
    ----------
    root_folder : str
        The folder of the root file; empty for that of bakeoff.
    root : str
        The name of the root file.
    folder : str or None
        A folder with options of the user, beside those of the root folder.
    """

    root_folder: str = ""
    root: str = ROOT_NAME
    folder: str | None = None


SHIPPED_FILES = ConfigSource()


@contextmanager
def open_engine(source: ConfigSource = SHIPPED_FILES) -> Iterator[Any]:
    """Give Hydra's engine, and afterwards bring back the one that was there before.

    Parameters
    ----------
    source : ConfigSource

    Raises
    ------
    SearchPathException
        The folder of the user does not exist.
    """
    from hydra import version
    from hydra._internal.hydra import Hydra
    from hydra._internal.utils import create_config_search_path
    from hydra.core.config_search_path import SearchPathQuery
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import SearchPathException
    from hydra.initialize import get_gh_backup, restore_gh_from_backup

    leave_out_current_folder()
    backup = get_gh_backup()
    version.setbase(VERSION_BASE)
    search_path = create_config_search_path(source.root_folder or str(CONF))
    if source.folder is not None:
        folder = os.path.abspath(source.folder)
        if not os.path.isdir(folder):
            raise SearchPathException(f"Additional config directory '{folder}' not found")
        search_path.prepend("command-line", f"file://{folder}", SearchPathQuery(provider="schema"))
    engine = Hydra(JOB_NAME, GuardedLoader(search_path))
    GlobalHydra.instance().initialize(engine)
    try:
        yield engine
    finally:
        restore_gh_from_backup(backup)


def make_flag_parser() -> ArgumentParser:
    """Return Hydra's parser of the flags of a command line."""
    from hydra._internal.utils import get_args_parser

    return get_args_parser()


def make_context(engine: Any) -> HydraContext:
    """Return what Hydra's launchers are given of an engine; bakeoff has no callbacks."""
    from hydra._internal.callbacks import Callbacks

    return HydraContext(engine.config_loader, Callbacks())


def compose_plainly(words: Sequence[str]) -> DictConfig:
    """Return the configuration that words compose, without Hydra's own part; nothing is run or written.

    Parameters
    ----------
    words : sequence of str
        Overrides.

    Raises
    ------
    Exception
        Of Hydra, for an invalid word.
    """
    import hydra

    with open_engine():
        return hydra.compose(ROOT_NAME, list(words))
