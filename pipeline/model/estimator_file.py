"""The file of a fitted estimator, in the skops format, which cannot contain code."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from sklearn.exceptions import InconsistentVersionWarning

from bakeoff.pipeline.model.allowed_types import list_own_packages, list_types, trusted_types
from bakeoff.pipeline.model.archive_bounds import UnsafeArchive, require_bounded_archive
from bakeoff.pipeline.model.own_code import make_importable

MODEL_FILE_NAME = "model.skops"
"""The name that MLflow gives to the file of a model."""


class UnreadableEstimator(Exception):
    """The file cannot be read with the packages that are installed here."""


def read_dump(folder: Path) -> bytes:
    """Return the content of the file.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.

    Raises
    ------
    UnreadableEstimator
        There is no such file, because another program stored the model, or it was deleted; or it is no archive, or one
        that would unpack to far more than it holds.
    """
    file = folder / MODEL_FILE_NAME
    if not file.is_file():
        raise UnreadableEstimator(f"there is no {MODEL_FILE_NAME} in {folder}: it was deleted, or never stored")
    dumped = file.read_bytes()
    try:
        require_bounded_archive(dumped)
    except (UnsafeArchive, BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
        raise UnreadableEstimator(_first_line(error)) from error
    return dumped


def read_estimator(folder: Path, types: Sequence[str]) -> Any:
    """Read a fitted estimator.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.
    types : sequence of str
        The types that it may hold besides those that skops trusts by default.

    Raises
    ------
    UnreadableEstimator
    """
    return _build(read_dump(folder), types)


def read_reviewed_estimator(folder: Path, trust: Sequence[str] = ()) -> tuple[Any, list[str]]:
    """Read a fitted estimator, and trust only what was reviewed, whatever the files of the model say.

    The code of a trusted package that is stored with the model is used where the package is not importable.

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
        A sentence for each package whose code here is not the one that was stored.

    Raises
    ------
    UntrustedType
        The estimator holds a type that is not trusted.
    MissingCode
        The code of a trusted package is not there.
    UnreadableEstimator
        Another version of skops, scikit-learn or a package of the user wrote what this one cannot read.
    """
    dumped = read_dump(folder)
    try:
        list_types(dumped)
    except Exception as error:
        raise UnreadableEstimator(_first_line(error)) from error
    types = trusted_types(dumped, trust)
    notes = make_importable(list_own_packages(types), folder)
    return _build(dumped, types), notes


def _build(dumped: bytes, types: Sequence[str]) -> Any:
    import skops.io

    with warnings.catch_warnings():
        # Other versions are said in a line of their own.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            estimator = skops.io.loads(dumped, trusted=list(types))
            _read_libraries(estimator)
        except Exception as error:
            raise UnreadableEstimator(_first_line(error)) from error
    return estimator


def _read_libraries(estimator: Any) -> None:
    """Let learners of other libraries read their bytes now: a damaged file is rejected before it is used."""
    parameters = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    for part in (estimator, *parameters):
        if hasattr(part, "read_trees") and find_spec(part.required_package) is not None:
            part.read_trees()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
