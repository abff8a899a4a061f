"""The folder ``conf/`` of the user, wherever bakeoff composes a configuration.

Hydra looks for its plugins in this folder only; what the folder may hold is decided in
`bakeoff.pipeline.config.options`.
"""

from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin

PROVIDER = "own options"
FILE_SCHEME = "file://"


class OwnOptionsPlugin(SearchPathPlugin):
    """Adds the options of the user to those of bakeoff."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the folder of the user; other programs that use Hydra in the same environment are left alone."""
        from bakeoff.pipeline.config.options import CONF, find_own_folder, require_own_names

        paths = [str(element.path).removeprefix(FILE_SCHEME) for element in search_path.get_path()]
        if CONF not in map(Path, paths):
            return
        folder = find_own_folder()
        if folder is not None:
            require_own_names(folder)
            search_path.append(PROVIDER, f"{FILE_SCHEME}{folder}")
