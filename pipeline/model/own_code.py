"""The code of user-defined packages that is stored with a model, like MLflow's ``code_paths``.

A file of skops names the classes of an estimator and does not hold their code. So the sources of packages that are not
installed are stored beside it, with those of the modules that they import.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

from bakeoff.pipeline.identity.user_code import MAIN, follow_imports, list_modules

CODE_FOLDER = "code"
"""The folder of the sources in the folder of a model; MLflow uses the same name."""


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
    # Nobody can import the file of a program elsewhere by the name __main__.
    modules = {module for package in packages if package != MAIN for module in list_modules(package)}
    files = {each.name: each.file for each in follow_imports(modules).values()}
    return {_locate(name, file): file for name, file in files.items() if file.suffix == ".py"}


def _locate(module: str, file: Path) -> str:
    """Return the path of a module below the folder of imports."""
    path = module.replace(".", "/")
    return f"{path}/{file.name}" if file.stem == "__init__" else f"{path}.py"


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
    """Return the names in a folder that lead elsewhere, which the code of a model must not contain."""
    return [name for name in names if Path(folder, name).is_symlink()]


def _differs(stored: Path, package: str) -> bool:
    """Return whether the model stores code of a package that is not the code here."""
    here = list_own_code([package])
    roots = (stored / f"{package}.py", stored / package)
    then = [file for root in roots for file in ([root] if root.is_file() else root.rglob("*.py"))]
    names = {file.relative_to(stored).as_posix(): file for file in then}
    return any(name not in here or file.read_bytes() != here[name].read_bytes() for name, file in names.items())
