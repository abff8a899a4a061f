"""Hydra's engine, as used by every command: files are checked before Hydra composes them.

Hydra configures its log, creates callbacks and makes folders as soon as it has composed a configuration, and before it
calls any function of the program. Only this module imports private modules of Hydra; `tests/pipeline/test_engine.py`
covers the parts that it uses.
"""

from __future__ import annotations

import os
import pickle
import secrets
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, final

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, IConfigRepository
from hydra.core.config_store import ConfigStore
from hydra.core.default_element import ResultDefault
from hydra.core.override_parser.types import Override
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, OmegaConf

from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.config.trust import (
    TRUST_KEY,
    ComposedFile,
    leave_out_current_folder,
    require_allowed_files,
    require_own_classes,
)
from bakeoff.pipeline.errors import UserError

JOB_NAME = "bakeoff"
ROOT_NAME = "config"
VERSION_BASE = "1.3"
SEARCH_PATH_KEY = "hydra.searchpath"
FILE_SCHEME = "file://"
STRUCTURED_SCHEME = "structured://"


@dataclass
class Schema:
    """Types and defaults of the top-level keys; each part checks its own keys in its constructor."""

    dataset: Any = None
    preprocessing: Any = None
    learner: Any = None
    space: Any = field(default_factory=dict)
    default_space: Any = None
    tuning: Any = None
    pruning: Any = None
    balance: Any = None
    target: Any = None
    calibration: Any = None
    threshold: Any = None
    evaluation: Any = None
    audit: Any = None
    tracking: Any = None
    search: Any = None
    seed: int = 0
    n_jobs: int = 1
    max_folds: int = 100_000
    max_candidates: int = 1_000_000
    figures: Any = field(default_factory=list)  # a list, or one name; `settle_figures` checks it
    trust: list[str] = field(default_factory=list)
    resume: bool = True
    workers: int = 1
    timeout: float | None = None
    on_error: str = "continue"
    on_invalid: str = "stop"
    dry_run: bool = False
    max_jobs: int = 100_000


KEYS = tuple(field.name for field in fields(Schema))


@dataclass(frozen=True)
class ConfigSource:
    """The files that a configuration is composed from.

    Attributes
    ----------
    root_folder : str
        The folder of the root file; empty for the one shipped with bakeoff.
    root : str
        The name of the root file.
    folder : str or None
        A folder with user-defined options, in addition to those of the root folder.
    """

    root_folder: str = ""
    root: str = ROOT_NAME
    folder: str | None = None


SHIPPED_FILES = ConfigSource()


@contextmanager
def open_engine(source: ConfigSource = SHIPPED_FILES) -> Iterator[Any]:
    """Provide Hydra's engine to a block, and restore the previous one afterwards.

    Parameters
    ----------
    source : ConfigSource

    Raises
    ------
    SearchPathException
        The folder with user-defined options does not exist.
    """
    from hydra import version
    from hydra._internal.hydra import Hydra
    from hydra._internal.utils import create_config_search_path
    from hydra.core.config_search_path import SearchPathQuery
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import SearchPathException
    from hydra.initialize import get_gh_backup, restore_gh_from_backup

    leave_out_current_folder()
    register_schema()
    backup = get_gh_backup()
    version.setbase(VERSION_BASE)
    search_path = create_config_search_path(source.root_folder or str(CONF))
    if source.folder is not None:
        folder = os.path.abspath(source.folder)
        if not os.path.isdir(folder):
            raise SearchPathException(f"Additional config directory '{folder}' not found")
        search_path.prepend("command-line", f"{FILE_SCHEME}{folder}", SearchPathQuery(provider="schema"))
    engine = Hydra(JOB_NAME, GuardedLoader(search_path))
    GlobalHydra.instance().initialize(engine)
    try:
        yield engine
    finally:
        restore_gh_from_backup(backup)


def register_schema() -> None:
    """Register with Hydra the schema and the resolver of the names of folders."""
    schema = OmegaConf.structured(Schema)
    # The parameters of a space are not known here, so they can be given without a plus sign.
    OmegaConf.set_struct(schema.space, False)
    ConfigStore.instance().store(group="schema", name="bakeoff", node=schema)
    OmegaConf.register_new_resolver("bakeoff.token", lambda: secrets.token_hex(2), use_cache=True, replace=True)


def make_flag_parser() -> ArgumentParser:
    """Return Hydra's parser of the flags of a command line."""
    from hydra._internal.utils import get_args_parser

    return get_args_parser()


def make_context(engine: Any) -> HydraContext:
    """Return the context of an engine for Hydra's launchers; bakeoff has no callbacks."""
    from hydra._internal.callbacks import Callbacks

    return HydraContext(engine.config_loader, Callbacks())


def set_values(composed: DictConfig, values: list[Override]) -> None:
    """Set values in a configuration, as the words of a command do."""
    ConfigLoaderImpl._apply_overrides_to_config(values, composed)


@final
class GuardedLoader(ConfigLoaderImpl):
    """Hydra's loader, restricted to files accepted by `read_files` and `require_allowed_files`."""

    repository: Any

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """Check the files, compose them with Hydra's loader, and check the classes that Hydra would create.

        Raises
        ------
        UserError
            A file contains a setting that only the command may contain, or a word adds to the search path.
        """
        for word in overrides:
            if SEARCH_PATH_KEY in word:
                raise UserError(f"{word}: {SEARCH_PATH_KEY} is not read; name the folder by --config-dir=FOLDER.")
        if config_name is None:  # as for --hydra-help: Hydra runs nothing
            return super().load_configuration(None, overrides, run_mode, from_shell, validate_sweep_overrides)
        require_allowed_files(self.read_files(config_name, overrides, run_mode), overrides)
        composed = super().load_configuration(config_name, overrides, run_mode, from_shell, validate_sweep_overrides)
        hydra: Any = OmegaConf.to_container(composed.hydra, resolve=False)
        require_own_classes(hydra)
        return composed

    def read_files(self, root: str, words: list[str], run_mode: RunMode) -> list[ComposedFile]:
        """Return the files that words compose, in order; none if all of them are shipped with bakeoff or Hydra."""
        path = self.get_search_path().get_path()
        if all(_is_shipped(str(each.provider), str(each.path)) for each in path):
            return []
        # Each file is read once, so that Hydra composes exactly the checked content.
        if not isinstance(self.repository, ConfigFiles):
            self.repository = ConfigFiles(self.repository)
        defaults = self.compute_defaults_list(root, words, run_mode).defaults
        return [_read_file(default, self.repository) for default in defaults]


def _is_shipped(provider: str, folder: str) -> bool:
    """Return whether a folder is shipped with bakeoff or Hydra."""
    folder = folder.removeprefix(FILE_SCHEME)
    is_of_hydra = provider == "hydra" or folder.startswith(STRUCTURED_SCHEME)
    return is_of_hydra or os.path.realpath(folder) == os.path.realpath(CONF)


def _read_file(default: ResultDefault, repository: IConfigRepository) -> ComposedFile:
    """Return a file of the defaults list at its place in the configuration."""
    loaded = repository.load_config(str(default.config_path))
    assert loaded is not None
    folder = str(loaded.path).removeprefix(FILE_SCHEME)
    name = os.path.relpath(f"{folder}/{default.config_path}.yaml")
    if _is_shipped(loaded.provider, folder):
        return ComposedFile(name, {TRUST_KEY: []} if TRUST_KEY in loaded.config else {}, is_shipped=True)
    placed = OmegaConf.create()
    package = loaded.header["package"] if default.package is None else default.package
    if package:
        OmegaConf.update(placed, package, loaded.config, merge=False)
    content: Any = OmegaConf.to_container(placed if package else loaded.config, resolve=False)
    return ComposedFile(name, content, is_shipped=False)


@final
class ConfigFiles(CachingConfigRepository):
    """Hydra's repository of configuration files, with a cache that is shared by all jobs.

    Hydra's own cache lives for one composition: the repository is copied, and the copy is filled.

    Parameters
    ----------
    delegate : IConfigRepository
        The repository that reads the files.
    """

    def __init__(self, delegate: IConfigRepository) -> None:
        super().__init__(delegate)
        self._packed: dict[str, bytes] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> ConfigFiles:
        """Return the same object, so that compositions share the cache."""
        return self

    def load_config(self, config_path: str) -> Any:
        """Return a copy of a file's content, because Hydra modifies it; None if there is no such file."""
        if config_path not in self._packed:
            self._packed[config_path] = pickle.dumps(self.delegate.load_config(config_path=config_path))
        return pickle.loads(self._packed[config_path])
