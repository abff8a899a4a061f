"""From YAML to nouns: the schema of what the framework owns, the choices left open, the one call to ``instantiate``.

Constructors own the rest of the schema: what a learner or a splitter may be given, it says itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, MissingMandatoryValue, OmegaConfBaseException

from pipeline.refusal import Refusal, did_you_mean
from pipeline.request import Request

CONF = Path(__file__).resolve().parents[1] / "conf"
TRUSTED = ("learners", "pipeline", "sklearn")
"""Packages whose classes may always stand behind ``_target_``."""

VALIDATION = 0.2
INNER_FOLDS = 5


@dataclass
class Schema:
    """Types of the keys that the framework owns."""

    dataset: Any = None
    preprocessing: Any = None
    learner: Any = None
    space: Any = None
    tuning: Any = None
    pruning: Any = None
    evaluation: Any = None
    tracking: Any = None
    seed: int = 0
    figures: list[Any] = field(default_factory=list)
    trust: list[str] = field(default_factory=list)


def register() -> None:
    """Make the schema and the resolvers known to Hydra; called once, by the command."""
    ConfigStore.instance().store(group="schema", name="bakeoff", node=Schema)
    OmegaConf.register_new_resolver("bakeoff.token", lambda: secrets.token_hex(2), use_cache=True, replace=True)


def resolve(config: DictConfig) -> dict[str, Any]:
    """Return the composed configuration as plain dicts and lists, interpolations resolved.

    Raises
    ------
    Refusal
        A value that must be given is not, or an interpolation points nowhere.
    """
    try:
        spec = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise Refusal(f"{error.full_key} must be given: add {error.full_key}=VALUE.") from error
    except OmegaConfBaseException as error:
        raise Refusal(f"{error.full_key}: {str(error).splitlines()[0]}") from error
    assert isinstance(spec, dict)
    return {str(key): value for key, value in spec.items()}


def as_yaml(spec: Mapping[str, Any]) -> str:
    """Write a settled configuration as YAML, for the record."""
    return OmegaConf.to_yaml(OmegaConf.create(dict(spec)))


def settle(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Write out what the YAML leaves open, so that the record shows what was done.

    - ``pruning=auto`` becomes ``best_first`` if the learner can be pruned and ``evaluation.validation`` says that
      there are rows for it, else ``none``.
    - ``tuning.folds`` null becomes 5 where pruning takes the validation part, else 0 (tune on that part).
    - ``evaluation.validation`` null becomes 0.2 where pruning or tuning needs rows, else 0.

    Parameters
    ----------
    spec : mapping
        As from `resolve`.

    Returns
    -------
    dict
        A new mapping; the space is dropped: tuning holds it.

    Raises
    ------
    Refusal
        A part of the experiment is not there at all.
    """
    for part in ("dataset", "preprocessing", "learner", "tuning", "pruning", "evaluation", "tracking"):
        if not isinstance(spec.get(part), Mapping):
            raise Refusal(f"{part} must name an option: add {part}=NAME; `bakeoff list {part}` shows them.")
    spec = {key: dict(value) if isinstance(value, Mapping) else value for key, value in spec.items()}
    pruning, tuning, evaluation = spec["pruning"], spec["tuning"], spec["evaluation"]
    if pruning.get("method") == "auto":
        prunes = bool(evaluation.get("validation")) and hasattr(_target(spec["learner"]), "prune")
        spec["pruning"] = pruning = (
            {"_target_": "pipeline.pruning.Pruning", "method": "best_first"}
            if prunes
            else {"_target_": "pipeline.pruning.NoPruning"}
        )
    prunes_on_rows = pruning.get("method") in ("bottom_up", "best_first")
    tunes = "space" in tuning
    if tunes and tuning.get("folds") is None:
        tuning["folds"] = INNER_FOLDS if prunes_on_rows else 0
    if evaluation.get("validation") is None:
        needed = prunes_on_rows or (tunes and tuning["folds"] == 0)
        evaluation["validation"] = VALIDATION if needed else 0
    spec.pop("space", None)
    return spec


def build(node: Mapping[str, Any], key: str, trust: list[str]) -> Any:
    """Instantiate what a part of the configuration describes.

    Parameters
    ----------
    node : mapping
        With ``_target_``, nested ones included.
    key : str
        Where it stands, for messages.
    trust : list of str
        Further packages whose classes may be named.

    Raises
    ------
    Refusal
        A target outside the trusted packages, one that does not exist, or arguments that it does not take.
    """
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    if "_target_" not in node:
        raise Refusal(f"{key} has no _target_: it must name the class or function to call.")
    _require_trust(node, key, trust)
    try:
        return instantiate(node, _convert_="all")
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, Refusal):
            raise cause from None
        raise Refusal(f"{key} ({node['_target_']}): {' '.join(str(cause or error).split())}") from error


def _require_trust(node: Any, key: str, trust: list[str]) -> None:
    if isinstance(node, Mapping):
        if node.get("_target_") is not None:
            _require_trusted_target(node, f"{key}._target_={node['_target_']!r}", trust)
        for name, child in node.items():
            _require_trust(child, f"{key}.{name}", trust)
    elif isinstance(node, list):
        for position, child in enumerate(node):
            _require_trust(child, f"{key}[{position}]", trust)


def _require_trusted_target(node: Mapping[str, Any], said: str, trust: list[str]) -> None:
    """Refuse a target of another package, also one reached through a trusted one: sklearn.os.system; or of none."""
    trusted, target = (*TRUSTED, *trust), str(node["_target_"])
    package = target.split(".")[0]
    if package in trusted:
        found = _target(node)
        if found is None:
            raise Refusal(f"{said} is not there. {_nearest_target(target)}")
        package = str(getattr(found, "__module__", target)).split(".")[0]
    if package not in trusted:
        raise Refusal(
            f"{said} is outside the trusted packages {', '.join(trusted)}; if you trust it, add trust=[{package}]."
        )


def _nearest_target(target: str) -> str:
    """Suggest a name for the first part of a dotted target that does not lead on."""
    home, _, name = target.rpartition(".")
    while home and (found := _target({"_target_": home})) is None:
        home, _, name = home.rpartition(".")
    return did_you_mean(name, getattr(found, "__all__", dir(found))) if home else ""


def _target(node: Mapping[str, Any]) -> Any:
    """Return the class or function behind ``_target_``; None if there is none."""
    from pydoc import ErrorDuringImport, locate

    try:
        return locate(str(node.get("_target_")))
    except ErrorDuringImport as error:
        raise Refusal(f"{node['_target_']} cannot be imported: {error.value}") from error


def swept_keys(words: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of the command line that have more than one value, such as ``learner=knn,svm``."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_overrides([word for word in words if "=" in word and word[0] != "-"])
    except HydraException:  # Hydra itself reports it
        return ()
    return tuple(override.key_or_group for override in parsed if override.is_sweep_override())


def overrides() -> list[str]:
    """Return the current job's overrides."""
    from hydra.core.hydra_config import HydraConfig

    return [str(word) for word in HydraConfig.get().overrides.task]


def key(word: str) -> str:
    """Return what an override sets."""
    return word.lstrip("+~").split("=")[0]


def request(swept: tuple[str, ...], words: Sequence[str]) -> Request:
    """Return what the command line asked of the current job.

    Parameters
    ----------
    swept : tuple of str
        Keys that the command line gives several values.
    words : sequence of str
        The command line; what a job sets beside it was chosen by a sweeper, and varies too.
    """
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    current = HydraConfig.get()
    choices = {str(group): str(option) for group, option in current.runtime.choices.items()}
    if current.mode == RunMode.RUN:
        return Request(choices, varying=tuple(map(key, overrides())))
    name = Path(str(current.sweep.dir)).name
    said = {key(word) for word in words}
    swept = tuple(dict.fromkeys([*swept, *(key(word) for word in overrides() if key(word) not in said)]))
    return Request(choices, varying=swept, sweep=name, number=int(current.job.num))


def explain(error: Exception) -> Refusal:
    """Turn what Hydra or OmegaConf raised while composing into a sentence with the nearest valid name."""
    from hydra.errors import MissingConfigException

    if isinstance(error, Refusal):
        return error
    if isinstance(error, MissingConfigException) and error.options and error.missing_cfg_file:
        group, _, option = str(error.missing_cfg_file).rpartition("/")
        return Refusal(f"{group}={option} is not an option. {did_you_mean(option, error.options)}")
    cause = error.__cause__
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and isinstance(cause.parent_node, DictConfig):
        known = [str(key) for key in cause.parent_node if key != "_target_"]
        return Refusal(f"{cause.full_key} is not a key. {did_you_mean(str(cause.key), known)}")
    if isinstance(cause, OmegaConfBaseException):
        return Refusal(f"{cause.full_key}: {str(cause).splitlines()[0]}.")
    return Refusal(" ".join(str(error).split()))


def discard_folder() -> None:
    """Remove the folder that Hydra made for a job that was refused, unless something else lies in it."""
    from hydra.core.hydra_config import HydraConfig

    current = HydraConfig.get()
    folder = Path(current.runtime.output_dir)
    written = folder / str(current.output_subdir)
    for name in ("config.yaml", "hydra.yaml", "overrides.yaml"):
        (written / name).unlink(missing_ok=True)
    for empty in (written, folder):
        with suppress(OSError):  # not empty: not ours to remove
            empty.rmdir()
