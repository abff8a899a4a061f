"""Options are composed once by a process of the tests while their files stay the same, instead of by each command."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from stat import S_ISLNK
from typing import Any

import pytest
from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.defaults_list import Overrides
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.plugins import Plugins

from bakeoff.pipeline.config import engine
from bakeoff.pipeline.config.options import CONF

SHIPPED = {"file": str(CONF), "pkg": "hydra.conf"}
"""Kind of source -> the place of bakeoff's options, and that of Hydra's, which never change."""


@contextmanager
def read_once() -> Iterator[None]:
    """Let Hydra keep what it has read of shipped options, and what it has composed of the same files."""
    Plugins.instance()  # it makes the classes of sources anew
    with pytest.MonkeyPatch.context() as patch:
        for kind, place in SHIPPED.items():
            source = SourcesRegistry.instance().resolve(kind)
            patch.setattr(source, "load_config", _keep_files(source.load_config, place))
        for module, name, keep in (
            (config_loader_impl, "create_defaults_list", _keep_lists),
            (engine, "load_option_file", _keep_checks),
        ):
            patch.setattr(module, name, keep(getattr(module, name)))
        composed = _keep_compositions(ConfigLoaderImpl._compose_config_from_defaults_list)
        patch.setattr(ConfigLoaderImpl, "_compose_config_from_defaults_list", composed)
        yield


def _keep_files(load: Callable[[Any, str], Any], place: str) -> Callable[[Any, str], Any]:
    """Return a reader that reads each file of one place once, and gives copies, because Hydra changes what it gets."""
    packed: dict[str, bytes] = {}

    def load_config(source: Any, config_path: str) -> Any:
        if source.path != place:
            return load(source, config_path)
        key = f"{source.provider} {config_path}"
        if key not in packed:
            packed[key] = pickle.dumps(load(source, config_path))
        return pickle.loads(packed[key])

    return load_config


def _keep_checks(load: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Return a reader of the engine that reads each shipped option once."""
    contents: dict[Path, Any] = {}

    def load_option_file(file: Path) -> Any:
        if not file.is_relative_to(CONF):
            return load(file)
        if file not in contents:
            contents[file] = load(file)
        return contents[file]

    return load_option_file


def _keep_lists(create: Callable[..., Any]) -> Callable[..., Any]:
    """Return a maker of lists of files that makes the list of each choice of options once."""
    lists: dict[str, Any] = {}

    def create_defaults_list(repo: Any, config_name: str, overrides_list: list[Any], **settings: Any) -> Any:
        files = _describe_files(repo)
        if files is None:
            return create(repo, config_name, overrides_list, **settings)
        choices = [word.input_line for word in overrides_list if repo.group_exists(word.key_or_group)]
        key = repr((files, config_name, choices, settings))
        if key not in lists:
            lists[key] = create(repo, config_name, overrides_list, **settings)
        values = Overrides(repo, overrides_list).config_overrides
        return replace(lists[key], config_overrides=values)

    return create_defaults_list


def _keep_compositions(compose: Callable[..., Any]) -> Callable[..., Any]:
    """Return a composer that composes each list of files once, and gives copies."""
    packed: dict[str, bytes] = {}

    def compose_config(loader: Any, defaults: Sequence[Any], repo: Any) -> Any:
        files = _describe_files(repo)
        if files is None:
            return compose(loader, defaults, repo)
        key = repr((files, [(default.config_path, default.package) for default in defaults]))
        if key not in packed:
            packed[key] = pickle.dumps(compose(loader, defaults, repo))
        return pickle.loads(packed[key])

    return compose_config


def _describe_files(repo: Any) -> list[object] | None:
    """Return what tells the files of a repository apart from others and from later ones; None if they have links."""
    described: list[object] = []
    for source in repo.get_sources():
        described.append((source.scheme(), source.path))
        if source.scheme() == "file" and source.path != SHIPPED["file"]:
            for folder, folders, names in os.walk(source.path):
                for name in (*folders, *names):
                    entry = os.lstat(os.path.join(folder, name))
                    if S_ISLNK(entry.st_mode):
                        return None
                    described.append((folder, name, entry.st_ino, entry.st_size, entry.st_mtime_ns))
    return described
