"""What a composed configuration may say only if the command says it: who is trusted, and what Hydra itself does.

A configuration of others is composed from their files, and so is Hydra's own part of it: the classes that Hydra
creates, its log, the folders that it writes into, and the variables that it sets. Of these, a file may repeat the
shipped values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.config.trust.guarded_launcher import find_strange_launcher_key
from bakeoff.pipeline.config.trust.shipped_logging import is_shipped_logging
from bakeoff.pipeline.config.trust.trusted_packages import TRUST_KEY, is_trust_word
from bakeoff.pipeline.errors import UserError

SHIPPED_VALUES: Mapping[str, tuple[Any, ...]] = {
    "hydra.run.dir": (
        "outputs/runs/${now:%Y-%m-%d_%H-%M-%S-%f}_${bakeoff.token:}",
        "outputs/${now:%Y-%m-%d}/${now:%H-%M-%S}",
    ),
    "hydra.sweep.dir": (
        "outputs/sweeps/${now:%Y-%m-%d_%H-%M-%S-%f}_${bakeoff.token:}",
        "multirun/${now:%Y-%m-%d}/${now:%H-%M-%S}",
    ),
    "hydra.sweep.subdir": ("${hydra.job.num}",),
    "hydra.output_subdir": (".hydra", None),
    "hydra.job.env_set": ({},),
    "hydra.job.env_copy": ([],),
}
"""Keys whose values decide where Hydra writes and what it sets -> the values that bakeoff and Hydra ship."""
OWN_FOLDERS: Mapping[str, tuple[str, ...]] = {
    "hydra.run.dir": ("outputs", "outputs/runs"),
    "hydra.sweep.dir": ("outputs", "outputs/sweeps"),
}
"""Folders -> where a file may place them, by a name of its own."""
STORE_FOLDER = "artifacts"
"""The folder beside them in which a store keeps the files of runs."""
FOLDER_NAME = re.compile(r"[\w.-]*[\w-]")
SWEEPERS = ("hydra_plugins.bakeoff_sweeper.PlanningSweeper", "hydra_plugins.bakeoff_optuna.OptunaSweeper")
LOGGING_KEYS = ("hydra_logging", "job_logging")
BUILT_BY_US = ("sampler", "pruner")
"""Parts of a sweeper that name classes, which are checked like those of an experiment and not built by Hydra."""
CALLING_KEYS = ("_target_", "_args_", "_partial_")
"""Keys by which Hydra creates an object."""


@dataclass(frozen=True)
class Composition:
    """What was composed, and from what.

    Attributes
    ----------
    loader : ConfigLoaderImpl
        Hydra's.
    root : str or None
        The root file.
    words : tuple of str
        Of the command.
    mode : RunMode
    config : DictConfig
    """

    loader: ConfigLoaderImpl
    root: str | None
    words: tuple[str, ...]
    mode: RunMode
    config: DictConfig

    def is_given(self, key: str, value: Any, shipped: Any) -> bool:
        """Whether a value is what the words of the command make of the shipped one.

        Parameters
        ----------
        key : str
            With its points.
        value, shipped : object
            Plain, not resolved.
        """
        words = [word for word in self.words if _concerns(word, key)]
        expected = OmegaConf.create({})
        OmegaConf.update(expected, key, shipped, force_add=True)
        ConfigLoaderImpl._apply_overrides_to_config(OverridesParser.create().parse_overrides(words), expected)
        return bool(words) and _read_key(_to_plain(expected), key) == value

    def name_file(self, key: str) -> str:
        """Return the file of the user that sets a key; "a file" if it is not found.

        Parameters
        ----------
        key : str
            With its points.
        """
        overrides, files = self.loader._parse_overrides_and_create_caching_repo(self.root, list(self.words))
        skips_missing = self.mode == RunMode.MULTIRUN
        found = create_defaults_list(files, self.root, overrides, prepend_hydra=True, skip_missing=skips_missing)
        for default in reversed(found.defaults):
            loaded = files.load_config(str(default.config_path))
            if loaded is None or loaded.provider in ("hydra", "bakeoff") or str(CONF) in str(loaded.path):
                continue
            package = [part for part in (default.package or "").split(".") if part]
            if _sets(_to_plain(loaded.config), package, key.split(".")):
                return _show_file(str(loaded.path), str(default.config_path))
        return "a file"


def require_own_values(composition: Composition) -> None:
    """Reject a composed configuration in which a file says what only the command may say.

    Parameters
    ----------
    composition : Composition

    Raises
    ------
    UserError
    """
    _require_own_trust(composition)
    own = _to_plain(composition.config.hydra)
    _require_own_words(composition, own["overrides"])
    for key, shipped in SHIPPED_VALUES.items():
        _require_shipped_value(composition, own, key, shipped)
    if own.get("callbacks"):
        _refuse(composition, "hydra.callbacks", "bakeoff has none, and Hydra would call them; leave the key out.")
    for key in LOGGING_KEYS:
        if not is_shipped_logging(key, own.get(key)):
            _refuse(
                composition, f"hydra.{key}", f"choose one that Hydra ships, such as hydra/{key}=none, or leave it out."
            )
    _require_sweeper(composition, own.get("sweeper"))
    _require_launcher(composition, own.get("launcher"))


def _require_own_trust(composition: Composition) -> None:
    config = composition.config
    trust = _to_plain(OmegaConf.masked_copy(config, [TRUST_KEY])).get(TRUST_KEY) if TRUST_KEY in config else None
    if not trust or composition.is_given(TRUST_KEY, trust, []):
        return
    # By an interpolation a file names what nobody reads in it.
    packages = ",".join(str(name) for name in trust) if isinstance(trust, list) else "PACKAGE"
    raise UserError(
        f"{TRUST_KEY} is set by {composition.name_file(TRUST_KEY)}, and only the command may say what is trusted: "
        f"leave the key out of the file, and if you trust {packages}, add trust=[{packages}] to the command."
    )


def _require_own_words(composition: Composition, recorded: Mapping[str, Sequence[str]]) -> None:
    """Reject a file that writes into Hydra's list of the words of the command: jobs are composed from it."""
    for key in ("hydra", "task"):
        if not set(recorded[key]) <= set(composition.words):
            _refuse(composition, f"hydra.overrides.{key}", "it lists the words of the command; leave the key out.")


def _require_shipped_value(composition: Composition, own: Mapping[str, Any], key: str, shipped: Sequence[Any]) -> None:
    value = _read_key({"hydra": own}, key)
    if key == "hydra.job.env_set":
        # Hydra adds the variables that are copied.
        value = {name: each for name, each in value.items() if name not in own["job"]["env_copy"]}
    if value in shipped or _is_own_folder(key, value) or composition.is_given(key, value, shipped[0]):
        return
    _refuse(composition, key, f"leave it out of the file, and if it is meant, add {key}=VALUE to the command.")


def _is_own_folder(key: str, value: Any) -> bool:
    """Whether a value is a folder for runs or sweeps of a plain name, beside those that are named by the time."""
    folder, _, name = str(value).rpartition("/")
    is_own = folder in OWN_FOLDERS.get(key, ()) and name != STORE_FOLDER
    return is_own and FOLDER_NAME.fullmatch(name) is not None


def _require_sweeper(composition: Composition, sweeper: Any) -> None:
    if not isinstance(sweeper, Mapping):
        return
    target = sweeper.get("_target_")
    # Without Hydra's root file, as for --hydra-help, the sweeper is that of Hydra, and nothing is run.
    if composition.root is not None and target not in SWEEPERS:
        _refuse(
            composition, "hydra.sweeper._target_", f"{target} is not one of {', '.join(SWEEPERS)}; leave the key out."
        )
    builds_parts = sweeper.get("_recursive_", True)
    parts = {key: value for key, value in sweeper.items() if builds_parts or key not in BUILT_BY_US}
    for key in list_calling_keys({name: part for name, part in parts.items() if name != "_target_"}):
        _refuse(composition, f"hydra.sweeper.{key}", "Hydra would call it; leave the key out.")
    for key in sweeper.get("params") or ():
        if is_trust_word(str(key)):
            raise UserError(
                f"hydra.sweeper.params.{key} is set by {composition.name_file('hydra.sweeper.params')}, and only the "
                "command may say what is trusted: leave the key out, and add trust=[PACKAGE] to the command."
            )


def _require_launcher(composition: Composition, launcher: Any) -> None:
    if not isinstance(launcher, Mapping):
        return
    for key in list_calling_keys({name: part for name, part in launcher.items() if name != "_target_"}):
        _refuse(composition, f"hydra.launcher.{key}", "Hydra would call it; leave the key out.")

    def is_given(key: str, value: Any, shipped: Any) -> bool:
        return composition.is_given(f"hydra.launcher.{key}", value, shipped)

    key = find_strange_launcher_key(launcher, composition.words, is_given)
    if key:
        _refuse(
            composition,
            f"hydra.launcher.{key}",
            f"leave it out of the file, and if it is meant, add hydra.launcher.{key}=VALUE to the command.",
        )


def list_calling_keys(node: Any) -> list[str]:
    """Return the keys, at any depth, by which Hydra would create an object.

    Examples
    --------
    >>> list_calling_keys({"params": {"_target_": "os.system", "n": 1}, "n_trials": 3})
    ['params._target_']
    """
    if isinstance(node, Mapping):
        here = [key for key in node if key in CALLING_KEYS]
        below = [f"{key}.{found}" for key, child in node.items() for found in list_calling_keys(child)]
        return [*here, *below]
    if isinstance(node, list):
        return [found for child in node for found in list_calling_keys(child)]
    return []


def _refuse(composition: Composition, key: str, cure: str) -> None:
    raise UserError(f"{key} is set by {composition.name_file(key)}, and not by the command: {cure}")


def _sets(content: Any, package: Sequence[str], key: Sequence[str]) -> bool:
    """Whether the content of a file, in its package, sets a key or one below it."""
    n_shared = min(len(package), len(key))
    if list(package[:n_shared]) != list(key[:n_shared]):
        return False
    for part in key[len(package) :]:
        if not isinstance(content, Mapping) or part not in content:
            return False
        content = content[part]
    return True


def _concerns(word: str, key: str) -> bool:
    """Whether an override sets a key, one below it, or one above it."""
    given = re.split(r"[=@]", word.lstrip("+"))[0].replace("/", ".")
    return f"{given}.".startswith(f"{key}.") or f"{key}.".startswith(f"{given}.")


def _read_key(plain: Any, key: str) -> Any:
    """Return the value of a key with points; None if there is none."""
    for part in key.split("."):
        plain = plain.get(part) if isinstance(plain, Mapping) else None
    return plain


def _show_file(folder: str, name: str) -> str:
    path = Path(folder.removeprefix("file://")) / f"{name}.yaml"
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _to_plain(config: Any) -> Any:
    return OmegaConf.to_container(config, resolve=False) if OmegaConf.is_config(config) else config
