"""The code of a user's own packages that travels with a model, as MLflow's ``code_paths`` do.

A file of skops names the classes of an estimator and does not hold their code. So the sources of packages that are not
installed are stored beside it, with those of the modules that they import.
"""

from __future__ import annotations

import ast
import atexit
import importlib
import importlib.util
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

CODE_FOLDER = "code"
"""The folder of the sources in the folder of a model; MLflow uses the same name."""
INSTALLED_FOLDERS = ("stdlib", "platstdlib", "purelib", "platlib")
OUR_PACKAGES = {"bakeoff", "hydra_plugins"}
SITE_FOLDERS = ("site-packages", "dist-packages")


class MissingCode(Exception):
    """A package of the user is needed, and is neither here nor stored with the model."""


def write_own_code(packages: Sequence[str], folder: Path) -> bool:
    """Write the sources of packages that are not installed; return whether there are any.

    Parameters
    ----------
    packages : sequence of str
        Whose code a model needs.
    folder : Path
        Of the model.
    """
    files = list_own_code(packages)
    for name, file in files.items():
        target = folder / CODE_FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return bool(files)


def list_own_code(packages: Sequence[str]) -> dict[str, Path]:
    """Return the sources of packages, and of what they import, that are not installed: relative path -> file."""
    files: dict[str, Path] = {}
    visited: set[str] = set()
    unvisited = set(packages) - OUR_PACKAGES
    while unvisited:
        package = unvisited.pop()
        visited.add(package)
        found = dict(_list_sources(package))
        files |= found
        imported = {name for file in found.values() for name in _list_imported_packages(file)}
        unvisited |= imported - visited - OUR_PACKAGES
    return files


def make_importable(packages: Sequence[str], folder: Path) -> list[str]:
    """Make packages importable, by the code that a model stores only where they are not here.

    Parameters
    ----------
    packages : sequence of str
        That the user trusts, and the model needs.
    folder : Path
        Of the model.

    Returns
    -------
    list of str
        A sentence for each package whose code here is not the one that was stored.

    Raises
    ------
    MissingCode
    """
    notes = []
    stored = folder / CODE_FOLDER
    for package in packages:
        if not _is_importable(package):
            _add_to_path(stored, package)
        elif _differs(stored, package):
            notes.append(
                f"{package}: the code here, {_find_origin(package)}, is used; it differs from the code that was stored "
                "with the model."
            )
    return notes


def _list_sources(package: str) -> Iterator[tuple[str, Path]]:
    """Yield the sources of a package or module that is not installed, by their path below the folder of imports."""
    for root in _find_roots(package):
        if root.is_file():
            yield root.name, root
            continue
        for file in sorted(root.rglob("*.py")):
            yield file.relative_to(root.parent).as_posix(), file


def _find_roots(package: str) -> list[Path]:
    """Return the file of a module, or the folders of a package; nothing if it is installed or has no source."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # __main__ has no source that could be imported elsewhere
        return []
    if spec is None:
        return []
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    is_module = not folders and spec.origin is not None and spec.origin.endswith(".py")
    roots = [Path(str(spec.origin))] if is_module else folders
    return [root for root in roots if not _is_installed(root)]


@cache
def _list_installed_folders() -> tuple[Path, ...]:
    return tuple(Path(sysconfig.get_paths()[name]).resolve() for name in INSTALLED_FOLDERS)


def _is_installed(path: Path) -> bool:
    resolved = path.resolve()
    is_below = any(resolved.is_relative_to(folder) for folder in _list_installed_folders())
    return is_below or any(part in SITE_FOLDERS for part in resolved.parts)


def _list_imported_packages(file: Path) -> set[str]:
    """Return the first parts of the names that a source imports, relative imports aside."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
    return {name.split(".")[0] for name in names}


def _is_importable(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return package in sys.modules


def _find_origin(package: str) -> str:
    spec = importlib.util.find_spec(package)
    return str(spec.origin) if spec is not None else package


def _add_to_path(stored: Path, package: str) -> None:
    module, folder = stored / f"{package}.py", stored / package
    is_module = module.is_file() and not module.is_symlink()
    is_folder = folder.is_dir() and not folder.is_symlink()
    if not (is_module or is_folder):
        raise MissingCode(
            f"the model needs the package {package!r}, which is not here and was not stored with it; start in the "
            "folder that holds the package, or install it"
        )
    # The folder of the model may be a temporary copy, and modules may be imported after it is gone.
    copy = mkdtemp(prefix="bakeoff-code-")
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    shutil.copytree(stored, copy, dirs_exist_ok=True, ignore=_list_links)
    # At the end of the path the code hides nothing that is here.
    sys.path.append(copy)
    importlib.invalidate_caches()


def _list_links(folder: str, names: list[str]) -> list[str]:
    """Return the names in a folder that lead elsewhere: the code of a model is its own files."""
    return [name for name in names if Path(folder, name).is_symlink()]


def _differs(stored: Path, package: str) -> bool:
    """Return whether the model stores code of a package that is not the code here."""
    here = dict(_list_sources(package))
    roots = (stored / f"{package}.py", stored / package)
    then = [file for root in roots for file in ([root] if root.is_file() else root.rglob("*.py"))]
    names = {file.relative_to(stored).as_posix(): file for file in then}
    if not names:
        return False
    if names.keys() != here.keys():
        return True
    return any(file.read_bytes() != here[name].read_bytes() for name, file in names.items())
