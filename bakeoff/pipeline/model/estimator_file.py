"""The file of a fitted estimator, in the skops format, and the user-defined code that it needs.

The format names the classes of an estimator but does not contain their code. The sources of packages that are not
installed are therefore stored beside it, with those of the modules that they import, like MLflow's ``code_paths``.
MLflow's loaders run this stored code; bakeoff runs the local code, and only compares the two.
"""

import importlib.util
import io
import json
import shutil
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from sklearn.exceptions import InconsistentVersionWarning

from bakeoff.pipeline.errors import name_error
from bakeoff.pipeline.identity.source_code import MAIN, follow_imports, list_modules
from bakeoff.pipeline.model.allowed_types import UntrustedType, list_own_packages, trusted_types

CODE_FOLDER = "code"
"""The folder of the sources in the folder of a model; MLflow uses the same name."""


class MissingCode(Exception):
    """A required user-defined package cannot be imported here."""


def write_own_code(packages: Sequence[str], folder: Path) -> bool:
    """Write the sources of packages that are not installed; return whether there are any.

    Parameters
    ----------
    packages : sequence of str
        Packages whose code the model needs.
    folder : Path
        The folder of the model.
    """
    files = list_own_code(packages)
    for name, file in files.items():
        target = folder / CODE_FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return bool(files)


def list_own_code(packages: Sequence[str]) -> dict[str, Path]:
    """Return the sources of packages and their imports that are not installed: relative path -> file."""
    # The file of a program cannot be imported elsewhere by the name __main__.
    modules = [module for package in packages if package != MAIN for module in list_modules(package)]
    files = {each.name: each.file for each in follow_imports(frozenset(modules)).values()}
    return {_locate(name, file): file for name, file in files.items() if file.suffix == ".py"}


def _locate(module: str, file: Path) -> str:
    """Return the path of a module below the folder of imports."""
    path = module.replace(".", "/")
    return f"{path}/{file.name}" if file.stem == "__init__" else f"{path}.py"


def compare_code(packages: Sequence[str], folder: Path) -> list[str]:
    """Return a sentence for each package whose local code differs from the stored code.

    Parameters
    ----------
    packages : sequence of str
        Packages that the user trusts and the model needs.
    folder : Path
        The folder of the model.

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
            notes.append(f"the installed code of {package} differs from the code stored with the model.")
    return notes


def _is_importable(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return package in sys.modules


FREE_BYTES = 1 << 28
"""The unpacked size that is always allowed, however small the archive is."""
MAX_RATIO = 50
"""The maximum growth of larger archives when unpacked; numeric tables compress less than this."""
INNER_ARCHIVE = ".npz"
SCHEMA = "schema.json"
"""The member that names the types of a model."""
MAX_VISITS = 10_000_000
"""The maximum number of visits by skops to a node; it visits a shared node once for each path that leads to it."""
ID_KEY = "__id__"
MODEL_FILE_NAME = "model.skops"
"""The name of the file of a model in MLflow."""


class UnreadableEstimator(Exception):
    """The file is unsafe to unpack, or cannot be read with the packages that are installed here."""


def require_bounded_archive(dumped: bytes) -> None:
    """Reject an archive that would unpack to far more than its size, itself or in its archives of sparse arrays.

    An archive whose parts refer to one another along too many paths, which skops would follow forever, is also
    rejected. Nothing is unpacked to disk, so the names of its members have no effect.

    Parameters
    ----------
    dumped : bytes
        The content of a file in the skops format.

    Raises
    ------
    UnreadableEstimator
    """
    limit = FREE_BYTES + MAX_RATIO * len(dumped)
    total = 0
    with ZipFile(io.BytesIO(dumped)) as archive:
        for member in archive.infolist():
            total += member.file_size
            _require_within(total, limit)
            if member.filename.endswith(INNER_ARCHIVE):
                total += sum(inner.file_size for inner in _list_inner(archive, member))
                _require_within(total, limit)
        schema = json.loads(archive.read(SCHEMA)) if SCHEMA in archive.namelist() else {}
    if _count_visits(schema, {}) > MAX_VISITS:
        raise UnreadableEstimator(f"its parts would be visited more than {MAX_VISITS:,} times")


def _count_visits(node: Any, known: dict[Any, int]) -> int:
    """Return the number of nodes on all paths below a node; `known` contains the counted ones."""
    if isinstance(node, list):
        return sum(_count_visits(child, known) for child in node)
    if not isinstance(node, dict):
        return 0
    name = node.get(ID_KEY)
    if name is not None and name in known:
        return known[name]
    # A node that is reached from itself is not followed again.
    known[name] = 0
    known[name] = 1 + sum(_count_visits(child, known) for child in node.values())
    return known[name]


def _list_inner(archive: ZipFile, member: ZipInfo) -> list[ZipInfo]:
    with archive.open(member) as content, ZipFile(io.BytesIO(content.read())) as inner:
        return inner.infolist()


def _require_within(total: int, limit: int) -> None:
    if total > limit:
        raise UnreadableEstimator(f"it would unpack to more than {limit:,} bytes, which no model of its size does")


def read_estimator(folder: Path, types: Sequence[str]) -> Any:
    """Read a fitted estimator.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.
    types : sequence of str
        The allowed types in addition to those that skops trusts by default.

    Raises
    ------
    UnreadableEstimator
    """
    return _build(_read_dump(folder), types)


def read_reviewed_estimator(folder: Path, trust: Sequence[str]) -> tuple[Any, list[str]]:
    """Read a fitted estimator, trusting only reviewed types regardless of the model's files.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.
    trust : sequence of str
        Packages that the user trusts.

    Returns
    -------
    estimator
        Fitted.
    notes : list of str
        A sentence for each package whose local code differs from the stored code.

    Raises
    ------
    UntrustedType
        The estimator contains a type that is not trusted.
    MissingCode
        A trusted package cannot be imported.
    UnreadableEstimator
        The file is not an archive, would unpack to far more than its size, or was written by an incompatible version of
        skops, scikit-learn or a user-defined package.
    """
    dumped = _read_dump(folder)
    try:
        types = trusted_types(dumped, trust)
    except UntrustedType:
        raise
    except Exception as error:
        raise UnreadableEstimator(name_error(error)) from error
    notes = compare_code(list_own_packages(types), folder)
    return _build(dumped, types), notes


def _read_dump(folder: Path) -> bytes:
    """Return the content of the file of a model, if it is an archive that is safe to unpack."""
    dumped = (folder / MODEL_FILE_NAME).read_bytes()
    try:
        require_bounded_archive(dumped)
    except (BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
        raise UnreadableEstimator(name_error(error)) from error
    return dumped


def _build(dumped: bytes, types: Sequence[str]) -> Any:
    import skops.io

    with warnings.catch_warnings():
        # Other versions are reported in a separate line.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            return skops.io.loads(dumped, trusted=list(types))
        except Exception as error:
            raise UnreadableEstimator(name_error(error)) from error
