"""User-defined code: the modules of a configuration with their imports, and how they are found.

User-defined code consists of the modules named by the configuration of a job and their imports that are neither
installed nor part of Python or bakeoff. Comments, docstrings and formatting are ignored.

The current folder is not on the import path: installed packages import optional ones by name, and would run a file of
somebody else that has such a name, at any time and in any process. A finder for a few names takes its place: the
packages that the user trusts, and the modules of the folder that they import, at any depth. Installed packages come
first.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

OWN_PACKAGE = "bakeoff"
DIGEST_BYTES = 8


def hash_bytes(content: bytes) -> str:
    """Return a digest of some bytes: 16 hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


def hash_text(text: str) -> str:
    """Return a digest of a text: 16 hexadecimal digits."""
    return hash_bytes(text.encode())


INSTALLED_FOLDERS = frozenset({"site-packages", "dist-packages"})
IMPORT_FUNCTIONS = frozenset({"import_module", "__import__"})
MAIN = "__main__"


@dataclass(frozen=True)
class UserModule:
    """A user-defined module, as its file was when it was read.

    Attributes
    ----------
    name : str
    file : Path
    digest : str
        The digest of its syntax tree, or of its bytes if it is compiled.
    imports : frozenset of str
        Dotted names; ``from a import b`` gives a.b, whatever b is.
    loaded_spec : object
        The loaded spec, which changes when the module is reloaded; None if it was not loaded.
    """

    name: str
    file: Path
    digest: str
    imports: frozenset[str]
    loaded_spec: Any

    @classmethod
    def read(cls, name: str, file: Path) -> UserModule:
        """Return the module with the current content of its file."""
        content = file.read_bytes() if file.is_file() else b""
        loaded_spec = getattr(sys.modules.get(name), "__spec__", None)
        if file.suffix != ".py":
            return cls(name, file, hash_bytes(content), frozenset(), loaded_spec)
        tree = _parse_source(content)
        package = name if file.stem == "__init__" else name.rpartition(".")[0]
        return cls(name, file, hash_text(ast.dump(tree)), frozenset(_iter_imports(tree, package)), loaded_spec)


def _parse_source(source: bytes) -> ast.Module:
    """Return a syntax tree without docstrings; it is empty if the source has an error, which importing it reports."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.parse("")
    for node in ast.walk(tree):
        body: Any = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            del body[0]
    return tree


def find_modules(targets: Set[str]) -> frozenset[str]:
    """Return the modules that define classes and functions; those that cannot be imported have none."""
    return frozenset(module for target in targets if (module := find_module(target)) is not None)


def find_module(target: str) -> str | None:
    """Return the module that defines a class or function, which may not be the one from which it is imported.

    It is None if the name cannot be imported, which building the object reports.
    """
    around, _, name = target.rpartition(".")
    try:
        found = getattr(importlib.import_module(around), name)
    except (ImportError, AttributeError, ValueError):
        return None
    # The __module__ of any other object, such as a scorer, is that of its class.
    is_definition = inspect.isclass(found) or inspect.isroutine(found)
    return str(getattr(found, "__module__", around)) if is_definition else around


@cache
def follow_imports(modules: frozenset[str]) -> dict[str, UserModule]:
    """Return the user-defined modules among the given ones, and those that they import at any depth, by name.

    The packages around a module belong to it, because Python runs their files first. Files are read once per process,
    because modules are loaded once.
    """
    followed: dict[str, UserModule] = {}
    unvisited = set(modules)
    while unvisited:
        name = unvisited.pop()
        if name in followed or not is_of_user(name):
            continue
        around = name.rpartition(".")[0]
        unvisited |= {around} if around else set()
        source = find_source(name)
        if source is not None:
            followed[name] = UserModule.read(name, source)
            unvisited |= followed[name].imports
    return dict(sorted(followed.items()))


def list_modules(package: str) -> list[str]:
    """Return a user-defined package with all modules in its folders; nothing for other packages."""
    spec = _find_spec(package)
    if spec is None or not is_of_user(package):
        return []
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    files = [file.relative_to(folder.parent) for folder in folders for file in folder.rglob("*.py")]
    paths = [file.parent if file.stem == "__init__" else file.with_suffix("") for file in files]
    return [package, *(".".join(path.parts) for path in paths)]


def get_package(module: str) -> str:
    """Return the first part of a dotted name."""
    return module.partition(".")[0]


@cache
def is_of_user(module: str) -> bool:
    """Return whether a module is neither installed nor part of Python or bakeoff."""
    package = get_package(module)
    spec = None if package in {OWN_PACKAGE, *sys.stdlib_module_names} else _find_spec(package)
    if spec is None:
        return False
    places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or ())
    return bool(places) and not any(INSTALLED_FOLDERS & set(Path(str(place)).parts) for place in places)


def find_source(module: str) -> Path | None:
    """Return the Python or compiled file of a module, or None if it has none, such as a folder."""
    spec = _find_spec(module)
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def forget_code() -> None:
    """Discard the recorded user-defined code, because some of it has changed."""
    for function in (follow_imports, is_of_user, _find_spec):
        function.cache_clear()


@cache
def _find_spec(module: str) -> ModuleSpec | None:
    """Find a module without importing the packages around it."""
    package, _, _ = module.rpartition(".")
    try:
        if package:
            around = _find_spec(package)
            folders = None if around is None else around.submodule_search_locations
            return None if folders is None else PathFinder.find_spec(module, list(folders))
        script = getattr(sys.modules.get(module), "__file__", None) if module == MAIN else None
        if script is not None:  # a script that calls bakeoff, and defines the learner itself
            return importlib.util.spec_from_file_location(module, script)
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None


def _iter_imports(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the names that a module in a package imports, wherever the import statements are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            start = above[: len(above) - node.level + 1] if node.level else []
            source = [*start, *([node.module] if node.module else [])]
            yield from (".".join([*source, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            function = getattr(node.func, "attr", getattr(node.func, "id", ""))
            named = getattr(node.args[0], "value", None)
            if function in IMPORT_FUNCTIONS and isinstance(named, str):
                yield named


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
            trees = [_parse_source(file.read_bytes()) for file in files if file.is_file()]
            unvisited |= {get_package(imported) for tree in trees for imported in _iter_imports(tree, "")}


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
