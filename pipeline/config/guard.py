"""What a file may say of Hydra and of trust: a short list, checked before files are merged.

A configuration of others is composed from their files, and so is Hydra's own part of it: the classes that Hydra
creates, its log, the folders that it writes into, and the variables that it sets. Of this part a file may say what
`_is_allowed` allows and nothing else. What the words of the command say is said by the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.config.trust import TRUST_KEY, is_trust_word, read_trust_of_words
from bakeoff.pipeline.errors import UserError

HYDRA_KEY = "hydra"
PARAMS = "hydra.sweeper.params"
SECTIONS = (
    "hydra", "hydra.run", "hydra.sweep", "hydra.job", "hydra.overrides", "hydra.sweeper", "hydra.launcher",
    "hydra.launcher.ray", "hydra.launcher.ray.init", "hydra.launcher.ray.remote",
)  # fmt: skip
"""Mappings whose keys are judged one by one; every other value is judged as a whole."""
SWEEPS_FOLDER = re.compile(r"outputs/(sweeps/)?(?!(artifacts|sweeps|runs)$)[\w.-]*[\w-]")
"""A folder of a plain name, beside those that are named by the time; a store keeps its files in ``artifacts``."""
PARAMETER = re.compile(r"(\+{1,2}(?!hydra\b))?[^\W\d_][^\s=]*")
"""A key that a sweep gives values to; Hydra's own without a sign are refused with a cure when the sweep is planned."""
CLUSTER_NAMES = ("partition", "qos", "account", "constraint", "exclude", "gres", "comment", "mem_per_cpu", "name")
"""Keys of a launcher whose texts choose among what a cluster has."""
CLUSTER_NAME = re.compile(r"[\w.,:@+*\[\]-]*")
"""Slurm's scripts hold the texts: a line break would end the comment, and begin a command."""
OWN_PLUGINS = "hydra_plugins.bakeoff_"
BASIC_LAUNCHER = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
PACKAGE_SCHEME = "pkg://"


@dataclass(frozen=True)
class ComposedFile:
    """A file of a configuration, at its place.

    Attributes
    ----------
    name : str
        As messages show it.
    content : mapping
        What it sets, from the root of the configuration; nothing is resolved.
    is_shipped : bool
        Whether it is one of bakeoff or Hydra.
    """

    name: str
    content: Mapping[Any, Any]
    is_shipped: bool


def require_allowed_files(files: Sequence[ComposedFile], words: Sequence[str]) -> None:
    """Reject files that say what only the command may say.

    Parameters
    ----------
    files : sequence of ComposedFile
        In the order in which they are merged.
    words : sequence of str
        Of the command.

    Raises
    ------
    UserError
    """
    granting = [file for file in files if TRUST_KEY in file.content]
    if granting and not granting[-1].is_shipped:
        _require_given_trust(granting[-1], read_trust_of_words(words))
    for file in files:
        if file.is_shipped or HYDRA_KEY not in file.content:
            continue
        for key in _iterate_refused(file.content[HYDRA_KEY], HYDRA_KEY):
            raise UserError(
                f"{key} is set by {file.name}, and not by the command: leave it out of the file, and if it is meant, "
                f"add {key}=VALUE to the command."
            )
        _require_params_without_trust(file)


def require_own_classes(hydra: Mapping[str, Any], words: Sequence[str]) -> None:
    """Reject a composed part of Hydra by which it would call what bakeoff does not ship.

    Parameters
    ----------
    hydra : mapping
        Plain.
    words : sequence of str
        Of the command, which may choose a launcher of another installed package.

    Raises
    ------
    UserError
    """
    if hydra.get("callbacks"):
        raise UserError("hydra.callbacks is not read: bakeoff has none, and Hydra would call them; leave the key out.")
    chooses_launcher = any(word.lstrip("+").startswith("hydra/launcher=") for word in words)
    for part in ("sweeper", "launcher"):
        target = str(hydra[part]["_target_"])
        is_own = target.startswith(OWN_PLUGINS) or (
            part == "launcher" and (chooses_launcher or target == BASIC_LAUNCHER)
        )
        if not is_own:
            raise UserError(f"hydra.{part}._target_={target} is not one that bakeoff ships; leave the key out.")


def require_trusted_folder(key: str, folder: str, trust: Sequence[str]) -> None:
    """Reject a folder of files that is that of a package, which would be imported, unless the command trusts it.

    Parameters
    ----------
    key : str
        For the message.
    folder : str
    trust : sequence of str
        Packages that the command trusts.

    Raises
    ------
    UserError

    Examples
    --------
    >>> require_trusted_folder("hydra.searchpath", "pkg://mine.conf", ["mine"])
    >>> require_trusted_folder("hydra.searchpath", "file:///home/me/conf", [])
    """
    if not folder.startswith(PACKAGE_SCHEME):
        return
    package = folder.removeprefix(PACKAGE_SCHEME).replace("/", ".").split(".")[0]
    if package not in trust:
        raise UserError(
            f"{key}: {folder} would import {package}; name a folder, as file:///path, or, if you trust the package, "
            f"add trust=[{package}] to the command."
        )


def _require_given_trust(file: ComposedFile, given: Sequence[str]) -> None:
    """Reject a file that trusts a package that the command does not trust."""
    trust = file.content[TRUST_KEY]
    names = [str(name) for name in trust] if isinstance(trust, list) else []
    if not trust or (names and set(names) <= set(given)):
        return
    # By an interpolation a file names what nobody reads in it.
    packages = ",".join(names) or "PACKAGE"
    raise UserError(
        f"{TRUST_KEY} is set by {file.name}, and only the command may say what is trusted: leave the key out of the "
        f"file, and if you trust {packages}, add trust=[{packages}] to the command."
    )


def _require_params_without_trust(file: ComposedFile) -> None:
    sweeper = file.content[HYDRA_KEY].get("sweeper") or {}
    for key in sweeper.get("params") or ():
        if is_trust_word(str(key)):
            raise UserError(
                f"{PARAMS}.{key} is set by {file.name}, and only the command may say what is trusted: leave the key "
                "out, and add trust=[PACKAGE] to the command."
            )


def _iterate_refused(node: Any, section: str) -> Iterator[str]:
    """Yield the keys below a section that a file may not set; the section itself if it is no mapping."""
    if not isinstance(node, Mapping):
        yield section
        return
    for name, value in node.items():
        key = f"{section}.{name}"
        if key == PARAMS and isinstance(value, Mapping):
            yield from (f"{PARAMS}.{each}" for each in value if not PARAMETER.fullmatch(str(each)))
        elif key in SECTIONS:
            yield from _iterate_refused(value, key)
        elif not _is_allowed(section, str(name), value):
            yield key


def _is_allowed(section: str, name: str, value: Any) -> bool:
    if section == "hydra":
        return name in ("mode", "searchpath")
    if section == "hydra.sweep":
        return name == "dir" and SWEEPS_FOLDER.fullmatch(str(value)) is not None
    if section == "hydra.sweeper":
        # The names in a sampler or pruner are checked like those of an experiment.
        return not name.startswith("_") and name != "params" and (name in ("sampler", "pruner") or _is_plain(value))
    if section.startswith("hydra.launcher"):
        is_name = isinstance(value, str) and name in CLUSTER_NAMES and CLUSTER_NAME.fullmatch(value) is not None
        return not name.startswith("_") and (is_name or value is None or isinstance(value, bool | int | float))
    return False


def _is_plain(value: Any) -> bool:
    return not isinstance(value, Mapping) and not (isinstance(value, list) and not all(map(_is_plain, value)))
