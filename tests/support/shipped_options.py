"""Files of options that never change are read once by a process of the tests, instead of by each command."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.core_plugins.importlib_resources_config_source import ImportlibResourcesConfigSource

from bakeoff.pipeline.config.options import CONF


@contextmanager
def read_once() -> Iterator[None]:
    """Let Hydra keep what it has read of the options of bakeoff and of its own; files of users are read each time."""
    with pytest.MonkeyPatch.context() as patch:
        for source, place in ((FileConfigSource, str(CONF)), (ImportlibResourcesConfigSource, "hydra.conf")):
            patch.setattr(source, "load_config", _keep(source.load_config, place))
        yield


def _keep(load: Callable[[Any, str], Any], place: str) -> Callable[[Any, str], Any]:
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
