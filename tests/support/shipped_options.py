"""Options that never change are read and composed once by a process of the tests, instead of by each command."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.defaults_list import Overrides
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.plugins import Plugins

from bakeoff.pipeline.config.options import CONF

SHIPPED = {"file": str(CONF), "pkg": "hydra.conf"}
"""Kind of source -> the place of bakeoff's options, and that of Hydra's."""
IN_MEMORY = "structured"


@contextmanager
def read_once() -> Iterator[None]:
    """Let Hydra keep what it has read and composed of shipped options; files of users are read each time."""
    Plugins.instance()  # it makes the classes of sources anew
    with pytest.MonkeyPatch.context() as patch:
        for kind, place in SHIPPED.items():
            source = SourcesRegistry.instance().resolve(kind)
            patch.setattr(source, "load_config", _keep_files(source.load_config, place))
        listed = _keep_lists(config_loader_impl.create_defaults_list)
        patch.setattr(config_loader_impl, "create_defaults_list", listed)
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


def _keep_lists(create: Callable[..., Any]) -> Callable[..., Any]:
    """Return a maker of lists of files that makes the list of each choice of shipped options once."""
    lists: dict[str, Any] = {}

    def create_defaults_list(repo: Any, config_name: str, overrides_list: Sequence[Any], **settings: Any) -> Any:
        if not _is_shipped(repo):
            return create(repo, config_name, overrides_list, **settings)
        choices = [word.input_line for word in overrides_list if repo.group_exists(word.key_or_group)]
        key = repr((config_name, choices, settings))
        if key not in lists:
            lists[key] = create(repo, config_name, overrides_list, **settings)
        values = Overrides(repo, overrides_list).config_overrides
        return replace(lists[key], config_overrides=values)

    return create_defaults_list


def _keep_compositions(compose: Callable[..., Any]) -> Callable[..., Any]:
    """Return a composer that composes each list of shipped files once, and gives copies."""
    packed: dict[str, bytes] = {}

    def compose_config(loader: Any, defaults: Sequence[Any], repo: Any) -> Any:
        if not _is_shipped(repo):
            return compose(loader, defaults, repo)
        key = repr([(default.config_path, default.package) for default in defaults])
        if key not in packed:
            packed[key] = pickle.dumps(compose(loader, defaults, repo))
        return pickle.loads(packed[key])

    return compose_config


def _is_shipped(repo: Any) -> bool:
    sources = repo.get_sources()
    return all(source.scheme() == IN_MEMORY or source.path == SHIPPED.get(source.scheme()) for source in sources)
