"""The files of a project with user-defined parts, which ``init`` writes and of which ``check`` tests each in a job."""

import keyword
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from bakeoff.pipeline.config.options import CONF, OWN_GROUPS, REQUIRED_GROUPS, SUFFIX, find_own_folder, load_option_file
from bakeoff.pipeline.config.requests import Request, TrustRequest, Word
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import fill_folder
from bakeoff.pipeline.text.wording import expand_home
from bakeoff.version import __version__

PART_GROUPS = (*REQUIRED_GROUPS, *OWN_GROUPS)
"""The groups of options whose files describe an object."""
TEMPLATE = Path(__file__).parent / "template"
"""The files of a new project, each with the suffix below."""
TEMPLATE_SUFFIX = ".template"
PACKAGE_MARK = "@package@"
VERSION_MARK = "@version@"
LOCAL_FILE = "local.mk"
DATA_FILE = "data/flowers.csv"
TAKEN_NAMES = ("conf", "data", "tests", "outputs")
"""Names of other folders of a project."""


@dataclass(frozen=True, kw_only=True)
class CheckRequest(TrustRequest):
    """Files of user-defined parts.

    Attributes
    ----------
    files : tuple of str
        Files such as conf/learner/NAME.yaml; a folder stands for the option files in it.
    """

    files: Annotated[tuple[str, ...], Word(place="FILE")]


@dataclass(frozen=True)
class PartFile:
    """The file of a user-defined part.

    Attributes
    ----------
    path : Path
        The path ``GROUP/NAME.yaml``, in any folder.
    trust : tuple of str
        Packages whose code may be called.
    """

    path: Path
    trust: tuple[str, ...]

    @property
    def group(self) -> str:
        """The group of options to which it belongs."""
        return self.path.absolute().parent.name

    @property
    def space(self) -> Path:
        """The file with the search space of a learner, which need not exist."""
        return self.path.parent.parent / "space" / self.path.name

    def compose(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the settled configuration of a job with this part.

        Parameters
        ----------
        words : sequence of str
            Overrides that choose the rest of the job.

        Raises
        ------
        UserError
            The file is not YAML or has the name of a built-in option, or the job cannot be composed.
        """
        from bakeoff.pipeline.config.compose_job import compose_job

        own = find_own_folder()
        if own is None or own.resolve() != self.path.absolute().parent.parent.resolve():
            raise UserError(
                f"{str(self.path)!r} is not in conf/ of the current folder; start in the folder above conf/."
            )
        keys = load_option_file(self.path)
        name = self.path.stem
        shipped = CONF / self.group / self.path.name
        if shipped.is_file() and not os.path.samefile(shipped, self.path):
            raise UserError(f"{self.group}={name} is an option of bakeoff; give the file another name.")
        # Metrics and figures are named in lists, so Hydra composes no files for them.
        choice = [] if self.group in OWN_GROUPS else [f"{self.group}={name}"]
        trust = [f"trust=[{','.join(self.trust)}]"]
        spec = dict(compose_job([*words, *choice, *trust]).spec)
        if self.group == "metric":
            spec["evaluation"] = {**spec["evaluation"], "metrics": [{"name": name, **keys}]}
        elif self.group == "figure":
            spec["figures"] = [keys]
        return spec


def find_files(request: CheckRequest) -> Iterator[PartFile]:
    """Yield the files specified by a request.

    Raises
    ------
    UserError
        The file does not exist, or does not belong to a group of options.
    """
    for word in request.files:
        path = expand_home(word)
        files = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
        found = [file for file in files if file.absolute().parent.name in PART_GROUPS and file.suffix == SUFFIX]
        if not found or not found[0].is_file():
            raise UserError(
                f"{word!r} does not name the file of a part: it must be GROUP/NAME{SUFFIX}, and GROUP one of "
                f"{', '.join(PART_GROUPS)}."
            )
        yield from (PartFile(file, request.trust) for file in found)


@dataclass(frozen=True, kw_only=True)
class ProjectRequest(Request):
    """The project to create.

    Attributes
    ----------
    folder : Path
        A folder that does not exist or is empty; the project is named after it.
    """

    folder: Annotated[Path, Word(place="FOLDER")]


def name_package(folder: Path) -> str:
    """Return the name of the package in a project, which is the name of its folder.

    Raises
    ------
    UserError
        The name of the folder is not valid for a package, or is that of another package.

    Examples
    --------
    >>> name_package(Path("work/my-project"))
    'my_project'
    """
    package = re.sub(r"[-. ]", "_", folder.name).lower()
    if not package.isidentifier() or keyword.iskeyword(package):
        raise UserError(
            f"{folder.name!r} is not a valid package name; use only letters, digits and underscores, and start with a "
            "letter."
        )
    if package in TAKEN_NAMES or _is_installed(package):
        raise UserError(f"a package {package!r} already exists, and would hide yours; choose another name.")
    return package


def make_project(folder: Path) -> list[Path]:
    """Write a project into a folder that does not exist or is empty.

    Parameters
    ----------
    folder : Path
        The folder, after which the project is named.

    Returns
    -------
    list of Path
        The files, relative to the folder.

    Raises
    ------
    UserError
        The folder is not empty, cannot be written, or has a name that is not valid for a package.
    """
    folder = folder.absolute()
    package = name_package(folder)
    with fill_folder(folder, "FOLDER") as temporary:
        _write_files(temporary, package)
    return sorted(file.relative_to(folder) for file in folder.rglob("*") if file.is_file())


def _write_files(folder: Path, package: str) -> None:
    for template in TEMPLATE.rglob(f"*{TEMPLATE_SUFFIX}"):
        text = template.read_text(encoding="utf-8").replace(PACKAGE_MARK, package).replace(VERSION_MARK, __version__)
        path = str(template.relative_to(TEMPLATE)).replace(PACKAGE_MARK, package)
        file = folder / path.removesuffix(TEMPLATE_SUFFIX)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    # The Python that has bakeoff is a property of this machine and not of the project.
    (folder / LOCAL_FILE).write_text(f"PYTHON ?= {sys.executable}\n", encoding="utf-8")
    _write_flowers(folder / DATA_FILE)


def _write_flowers(file: Path) -> None:
    """Write Fisher's irises as provided by scikit-learn."""
    from sklearn.datasets import load_iris

    bunch = load_iris(as_frame=True)
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in bunch.feature_names]
    frame = bunch.data.set_axis(names, axis=1)
    species = bunch.target_names[bunch.target]  # (n,)
    file.parent.mkdir()
    frame.assign(species=species).to_csv(file, index=False)


def _is_installed(package: str) -> bool:
    """Return whether a module is installed; a folder without __init__.py is also found, but has no origin."""
    found = find_spec(package)
    return found is not None and found.origin is not None
