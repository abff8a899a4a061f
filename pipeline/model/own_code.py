"""The code of user-defined packages that is stored with a model, like MLflow's ``code_paths``.

A file of skops names the classes of an estimator and does not hold their code. So the sources of packages that are not
installed are stored beside it, with those of the modules that they import. MLflow's loaders run this code; bakeoff runs
the code that is here, and only compares.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from bakeoff.pipeline.identity.user_code import MAIN, follow_imports, list_modules

CODE_FOLDER = "code"
"""The folder of the sources in the folder of a model; MLflow uses the same name."""


class MissingCode(Exception):
    """A user-defined package is needed, and cannot be imported here."""


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


def compare_code(packages: Sequence[str], folder: Path) -> list[str]:
    """Return a sentence for each package whose code here is not the one that was stored.

    Parameters
    ----------
    packages : sequence of str
        That the user trusts, and the model needs.
    folder : Path
        Of the model.

    Raises
    ------
    MissingCode
    """
    notes = []
    for package in packages:
        if not _is_importable(package):
            raise MissingCode(
                f"the model needs the package {package!r}, which cannot be imported here; start in the folder that "
                "holds it, or install it"
            )
        here = {name: file.read_bytes() for name, file in list_own_code([package]).items()}
        stored = folder / CODE_FOLDER
        files = [*stored.glob(f"{package}.py"), *stored.glob(f"{package}/**/*.py")]
        if any(here.get(file.relative_to(stored).as_posix()) != file.read_bytes() for file in files):
            notes.append(f"the code of {package} that is used differs from the code that was stored with the model.")
    return notes


def _is_importable(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return package in sys.modules
