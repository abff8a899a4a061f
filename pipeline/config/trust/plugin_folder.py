"""Where Hydra looks for plugins: in what is installed, and not in the current folder.

Hydra imports every module of the namespace package ``hydra_plugins``, whatever it is asked to compose. The current
folder is on the import path, because parts of the user are there. So a folder ``hydra_plugins/`` that came with the
files of somebody else would run with each command.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import bakeoff

PLUGIN_PACKAGE = "hydra_plugins"


def leave_out_current_folder() -> None:
    """Import Hydra's package of plugins without the one in the current folder, unless that is bakeoff's own."""
    known: Any = sys.modules.get(PLUGIN_PACKAGE)
    if known is not None:
        known.__path__ = [folder for folder in known.__path__ if not _is_in_current_folder(Path(folder).parent)]
        return
    elsewhere = [entry for entry in sys.path if not _is_in_current_folder(Path(entry))]
    spec = PathFinder.find_spec(PLUGIN_PACKAGE, elsewhere)
    if spec is None:
        return
    package: Any = importlib.util.module_from_spec(spec)
    # The path of a namespace package is made anew whenever the import path changes.
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules[PLUGIN_PACKAGE] = package


def _is_in_current_folder(entry: Path) -> bool:
    here = Path.cwd()
    is_here = entry.absolute().resolve() == here.resolve()
    return is_here and here.resolve() != Path(bakeoff.__file__).parents[1].resolve()
