"""The files of a project with user-defined parts."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import bakeoff
from bakeoff.pipeline.errors import UserError

TEMPLATE = Path(__file__).parent / "template"
SUFFIX = ".template"
FILES = {
    "README.md": "README.md",
    "Makefile": "Makefile",
    "gitignore": ".gitignore",
    "dataset.yaml": "conf/dataset/flowers.yaml",
    "learner.yaml": "conf/learner/nearest_mean.yaml",
    "space.yaml": "conf/space/nearest_mean.yaml",
    "metric.yaml": "conf/metric/worst_recall.yaml",
    "package.py": "@package@/__init__.py",
    "learners.py": "@package@/learners.py",
    "metrics.py": "@package@/metrics.py",
    "test.py": "tests/test_@package@.py",
}
"""Each file of the template, without its suffix -> its path in the project."""
PACKAGE_MARK = "@package@"
VERSION_MARK = "@version@"
LOCAL_FILE = "local.mk"
DATA_FILE = "data/flowers.csv"
TAKEN_NAMES = ("conf", "data", "tests", "outputs", "learners", "pipeline", "bakeoff", "hydra_plugins")
"""Names of other folders of a project, and of bakeoff's."""


@dataclass(frozen=True, kw_only=True)
class ProjectRequest:
    """A project of the user.

    Attributes
    ----------
    folder : Path
        A folder that does not exist, or is empty; its name is that of the project.
    """

    folder: Path = field(metadata={"word": "FOLDER"})


def name_package(folder: Path) -> str:
    """Return the name of the package in a project, which is that of its folder.

    Raises
    ------
    UserError
        The name of the folder cannot be that of a package, or is that of another one.

    Examples
    --------
    >>> name_package(Path("work/my-project"))
    'my_project'
    """
    package = re.sub(r"[-. ]", "_", folder.name).lower()
    if not package.isidentifier() or keyword.iskeyword(package):
        raise UserError(
            f"{folder.name!r} cannot be the name of a package, which is made of letters, digits and "
            "underscores, and begins with a letter; choose another name."
        )
    if package in TAKEN_NAMES or _is_installed(package):
        raise UserError(f"a package {package!r} exists already, and would hide yours; choose another name.")
    return package


def make_project(folder: Path) -> list[Path]:
    """Write a project into a folder that does not exist, or is empty.

    Parameters
    ----------
    folder : Path
        Its name is that of the project.

    Returns
    -------
    list of Path
        The files, relative to the folder.

    Raises
    ------
    UserError
        The folder holds files, cannot be written, or has a name that no package can have.
    """
    folder = folder.absolute()
    package = name_package(folder)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UserError(f"{str(folder)!r} is a file, or a folder that holds files, which stay; choose another name.")
    try:
        folder.mkdir(exist_ok=True)
        _write_files(folder, package)
    except OSError as error:
        raise UserError(f"{str(folder)!r} cannot be written: {error.strerror or error}.") from error
    return sorted(file.relative_to(folder) for file in folder.rglob("*") if file.is_file())


def _write_files(folder: Path, package: str) -> None:
    for name, path in FILES.items():
        text = (TEMPLATE / f"{name}{SUFFIX}").read_text()
        text = text.replace(PACKAGE_MARK, package).replace(VERSION_MARK, bakeoff.__version__)
        file = folder / path.replace(PACKAGE_MARK, package)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    # The Python that has bakeoff is a fact of this machine and not of the project.
    (folder / LOCAL_FILE).write_text(f"PYTHON ?= {sys.executable}\n")
    _write_flowers(folder / DATA_FILE)


def _write_flowers(file: Path) -> None:
    """Write Fisher's irises as scikit-learn has them."""
    from sklearn.datasets import load_iris

    bunch = load_iris(as_frame=True)
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in bunch.feature_names]
    frame = bunch.data.set_axis(names, axis=1)
    species = bunch.target_names[bunch.target]  # (n,)
    file.parent.mkdir()
    frame.assign(species=species).to_csv(file, index=False)


def _is_installed(package: str) -> bool:
    """Return whether a module of that name is found; a folder without __init__.py is found too, and has no origin."""
    found = find_spec(package)
    return found is not None and found.origin is not None
