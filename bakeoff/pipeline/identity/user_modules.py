"""User-defined modules, which are found in the current folder only if the user trusts their package.

The current folder is not on the import path: installed packages import optional ones by name, and would run a file of
somebody else that has such a name, at any time and in any process. A finder for a few names takes its place: the
trusted packages, and the modules of the folder that they import, at any depth. Installed packages come first.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from bakeoff.pipeline.identity.source_code import forget_code, get_package, list_imports

SAFE_PATH_VARIABLE = "PYTHONSAFEPATH"
"""If it is set, new processes of Python, such as workers, do not put the current folder on the import path."""


class UserModuleFinder(MetaPathFinder):
    """Finds the packages of a folder that the user trusts, and the modules beside them that they import.

    Parameters
    ----------
    folder : str
        An absolute path.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._names: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a top-level module, or None if it is not one of the names."""
        is_known = path is None and fullname in self._names
        return PathFinder.find_spec(fullname, [self._folder]) if is_known else None

    def install(self) -> None:
        """Make this the only finder of its kind in this process, and keep the folder off the path of new processes."""
        os.environ[SAFE_PATH_VARIABLE] = "1"
        remove_finders()
        sys.meta_path.append(self)

    def trust(self, packages: Iterable[str]) -> None:
        """Add packages, and the modules of the folder that their source imports.

        Parameters
        ----------
        packages : iterable of str
            Dotted names, of which the first part is added if the folder contains it and it is not installed.
        """
        unvisited = set(map(get_package, packages))
        while unvisited:
            name = unvisited.pop()
            if not name or name in self._names or PathFinder.find_spec(name, [self._folder]) is None:
                continue
            # A file with the name of an installed package is somebody else's, and so is what it imports.
            if name in sys.builtin_module_names or PathFinder.find_spec(name) is not None:
                continue
            self._names.add(name)
            forget_code()
            files = [Path(self._folder, f"{name}.py"), *Path(self._folder, name).rglob("*.py")]
            unvisited |= {get_package(imported) for file in files for imported in list_imports(file)}


def get_finder() -> UserModuleFinder:
    """Return the finder of this process, and install one for the current folder if there is none."""
    installed = next((finder for finder in sys.meta_path if isinstance(finder, UserModuleFinder)), None)
    if installed is None:
        installed = UserModuleFinder(os.getcwd())
        installed.install()
    return installed


def remove_finders() -> None:
    """Let no user-defined module be found in a folder that is not on the import path."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, UserModuleFinder)]
