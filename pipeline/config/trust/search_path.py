"""The folders in which Hydra looks for files of configurations: a package among them would be imported."""

from __future__ import annotations

from hydra._internal.config_repository import IConfigRepository
from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from bakeoff.pipeline.config.trust.trusted_packages import TRUST_KEY, read_trust
from bakeoff.pipeline.errors import UserError

SEARCH_PATH_KEY = "hydra.searchpath"
PACKAGE_SCHEME = "pkg://"


def require_trusted_folders(root: str | None, overrides: list[Override], files: IConfigRepository) -> None:
    """Reject a package of the user among the folders, unless the command trusts it.

    Parameters
    ----------
    root : str or None
        The root file, which may name folders, too.
    overrides : list of Override
        Of the command.
    files : IConfigRepository

    Raises
    ------
    UserError
    """
    named = [(SEARCH_PATH_KEY, folder) for folder in _list_given(overrides)]
    loaded = None if root is None else files.load_config(root)
    if loaded is not None:
        found = OmegaConf.select(loaded.config, SEARCH_PATH_KEY)
        named += [(f"{SEARCH_PATH_KEY} of {root}.yaml", str(folder)) for folder in found or ()]
    for key, folder in named:
        require_trusted_folder(key, folder, _read_given_trust(overrides))


def require_trusted_folder(key: str, folder: str, trust: tuple[str, ...]) -> None:
    """Reject the folder of a package that is not trusted.

    Parameters
    ----------
    key : str
        For the message.
    folder : str
    trust : tuple of str

    Raises
    ------
    UserError

    Examples
    --------
    >>> require_trusted_folder("hydra.searchpath", "pkg://mine.conf", ("mine",))
    >>> require_trusted_folder("hydra.searchpath", "file:///home/me/conf", ())
    """
    if not folder.startswith(PACKAGE_SCHEME):
        return
    package = folder.removeprefix(PACKAGE_SCHEME).replace("/", ".").split(".")[0]
    if package not in trust:
        raise UserError(
            f"{key}: {folder} would import {package}; name a folder, as file:///path, or, if you trust the package, "
            f"add trust=[{package}] to the command."
        )


def _list_given(overrides: list[Override]) -> list[str]:
    values = [override.value() for override in overrides if override.get_key_element() == SEARCH_PATH_KEY]
    return [str(folder) for value in values if isinstance(value, list) for folder in value]


def _read_given_trust(overrides: list[Override]) -> tuple[str, ...]:
    values = [override.value() for override in overrides if override.key_or_group == TRUST_KEY]
    names = values[-1] if values else []
    return read_trust([str(name) for name in names]) if isinstance(names, list) else ()
