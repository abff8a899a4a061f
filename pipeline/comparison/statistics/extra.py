"""The packages of the extra ``stats``, imported where they are used, with one error if a package is missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from bakeoff.pipeline.errors import UserError


def import_extra(package: str, purpose: str) -> ModuleType:
    """Import a package of the extra ``stats``.

    Parameters
    ----------
    package : str
        The name to import.
    purpose : str
        What the package computes: the subject of the error message, such as "Holm's correction".

    Returns
    -------
    module

    Raises
    ------
    UserError
        If the package is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != package.split(".")[0]:
            raise
        message = f'{purpose} needs the package {package!r}, which is not installed: pip install "bakeoff[stats]".'
        raise UserError(message) from error
