"""The files that Hydra composes a configuration from, which are measured before their values are written out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import final

from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult

from bakeoff.pipeline.yaml_bounds import require_bounded_yaml


@final
class BoundedFileSource(FileConfigSource):
    """Hydra's source of files, which refuses those that would grow without bound."""

    def load_config(self, config_path: str) -> ConfigResult:
        """Return the content of a file.

        Raises
        ------
        UserError
            It is too large.
        """
        file = Path(self.path) / self._normalize_file_name(config_path)
        if file.is_file():
            text = file.read_text(encoding="utf-8", errors="replace")
            require_bounded_yaml(text, os.path.relpath(file))
        return super().load_config(config_path)


def bound_config_files() -> None:
    """Let Hydra read files by `BoundedFileSource`."""
    # Hydra registers its own source when it looks for plugins, and would not accept another one then.
    Plugins.instance()
    SourcesRegistry.instance().types[FileConfigSource.scheme()] = BoundedFileSource
