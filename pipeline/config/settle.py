"""From YAML to a settled mapping: the schema of what the framework owns, and the choices left open."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, MissingMandatoryValue, OmegaConfBaseException

from bakeoff.pipeline.config.build import target_of
from bakeoff.pipeline.config.invocation import Request
from bakeoff.pipeline.config.options import options
from bakeoff.pipeline.config.renamed_targets import rename_targets
from bakeoff.pipeline.errors import UserError, did_you_mean

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
    search: Any = None
    seed: int = 0
    n_jobs: int = 1
    figures: list[Any] = field(default_factory=list)
    trust: list[str] = field(default_factory=list)
    resume: bool = True
    workers: int = 1
    timeout: float | None = None
    on_error: str = "continue"
    on_invalid: str = "stop"
    dry_run: bool = False


SWEEP_KEYS = ("search", "resume", "workers", "timeout", "on_error", "on_invalid", "dry_run")
"""Keys that say how jobs are made and run together; they are no part of any job."""


def register() -> None:
    """Make the schema and the resolvers known to Hydra; called once, by the command."""
    ConfigStore.instance().store(group="schema", name="bakeoff", node=Schema)
    OmegaConf.register_new_resolver("bakeoff.token", lambda: secrets.token_hex(2), use_cache=True, replace=True)


def resolve(config: DictConfig) -> dict[str, Any]:
    """Return the composed configuration as plain dicts and lists, interpolations resolved.

    Raises
    ------
    UserError
        A value that must be given is not, or an interpolation points nowhere.
    """
    try:
        spec = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise UserError(f"{error.full_key} must be given: add {error.full_key}=VALUE.") from error
    except OmegaConfBaseException as error:
        raise UserError(f"{error.full_key}: {str(error).splitlines()[0]}") from error
    assert isinstance(spec, dict)
    return {str(key): value for key, value in spec.items()}


def as_yaml(spec: Mapping[str, Any]) -> str:
    """Write a settled configuration as YAML, for the record."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the one in C, where PyYAML has it
    return str(yaml.dump(dict(spec), Dumper=dumper, sort_keys=False, allow_unicode=True))


def settle(spec: Mapping[str, Any], choices: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Write out what the YAML leaves open, so that the record shows what was done.

    - ``pruning=auto`` becomes ``best_first`` if the learner can be pruned and ``evaluation.validation`` says that
      there are rows for it, else ``none``.
    - ``tuning.folds`` null becomes 5 where pruning takes the validation part, else 0 (tune on that part).
    - ``evaluation.validation`` null becomes 0.2 where pruning or tuning needs rows, else 0.

    Parameters
    ----------
    spec : mapping
        As from `resolve`.
    choices : mapping of str to str, optional
        The chosen option of each group.

    Returns
    -------
    dict
        A new mapping, without the space (tuning holds it) and the keys of sweeps.

    Raises
    ------
    UserError
        A part of the experiment is not there at all, or a space was named that is none.
    """
    spec = rename_targets(spec, spec.get("trust") or [])
    _require_space(spec, choices or {})
    for part in ("dataset", "preprocessing", "learner", "tuning", "pruning", "evaluation", "tracking"):
        if not isinstance(spec.get(part), Mapping):
            raise UserError(f"{part} must name an option: add {part}=NAME; `bakeoff list {part}` shows them.")
    n_jobs = spec.get("n_jobs", 1)
    if n_jobs == 0 or n_jobs < -1:
        raise UserError(f"n_jobs={n_jobs} must be a number of processes, or -1 for as many as there are cores.")
    spec = {key: dict(value) if isinstance(value, Mapping) else value for key, value in spec.items()}
    pruning, tuning, evaluation = spec["pruning"], spec["tuning"], spec["evaluation"]
    if pruning.get("method") == "auto":
        prunes = bool(evaluation.get("validation")) and hasattr(target_of(spec["learner"]), "prune")
        spec["pruning"] = pruning = (
            {"_target_": "bakeoff.pipeline.stages.pruning.Pruning", "method": "best_first"}
            if prunes
            else {"_target_": "bakeoff.pipeline.stages.pruning.NoPruning"}
        )
    prunes_on_rows = pruning.get("method") in ("bottom_up", "best_first")
    tunes = "space" in tuning
    if tunes and tuning.get("folds") is None:
        tuning["folds"] = INNER_FOLDS if prunes_on_rows else 0
    if evaluation.get("validation") is None:
        needed = prunes_on_rows or (tunes and tuning["folds"] == 0)
        evaluation["validation"] = VALIDATION if needed else 0
    return {key: value for key, value in spec.items() if key not in ("space", *SWEEP_KEYS)}


def _require_space(spec: Mapping[str, Any], choices: Mapping[str, str]) -> None:
    """Refuse a space that is not there, which Hydra lets pass, since a learner without one is no mistake."""
    chosen = choices.get("space", "none")
    if chosen not in ("none", "null", choices.get("learner")) and "space" in spec and spec["space"] is None:
        raise UserError(f"space={chosen} is not an option. {did_you_mean(chosen, options('space'))}")


def of_sweep_and_jobs(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a sweep's command line into what Hydra must know before there are jobs, and what jobs are made of.

    A key of the learner says nothing until the learner is chosen, and each job chooses its own.  So Hydra gets its own
    keys, those of the sweep, and ``experiment``, whose file may hold both; jobs get the others, and ``experiment`` too.
    """
    from hydra._internal.utils import get_args_parser

    given = get_args_parser().parse_args(list(words)).overrides
    keys = {word: re.split(r"[=@./]", word.lstrip("+~"))[0] for word in given}
    of_jobs = [word for word in given if keys[word] not in ("hydra", *SWEEP_KEYS)]
    is_one = {word for word in of_jobs if keys[word] == "experiment" and "," not in word}
    return [word for word in words if word not in of_jobs or word in is_one], of_jobs


def request(swept: Sequence[str] = ()) -> Request:
    """Return what the command line asked of the job that Hydra runs now.

    Parameters
    ----------
    swept : sequence of str
        Keys that vary over the sweep.

    Raises
    ------
    UserError
        A key of sweeps was given to a single run.
    """
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    current = HydraConfig.get()
    choices = {str(group): str(option) for group, option in current.runtime.choices.items()}
    given = tuple(str(word) for word in current.overrides.task)
    keys = tuple(word.lstrip("+~").split("=")[0] for word in given)
    if current.mode != RunMode.RUN:
        sweep, number = Path(str(current.sweep.dir)).name, int(current.job.num)
        varying = tuple(key for key in swept if key in keys)
        return Request(choices, varying=varying, sweep=sweep, number=number, overrides=given)
    for key in keys:
        if key.split(".")[0] in SWEEP_KEYS:
            raise UserError(f"{key} is a key of sweeps; add -m.")
    return Request(choices, varying=keys, overrides=given)


def explain(error: Exception) -> UserError:
    """Turn what Hydra or OmegaConf raised while composing into a sentence with the nearest valid name."""
    from hydra.errors import MissingConfigException, OverrideParseException

    if isinstance(error, UserError):
        return error
    if isinstance(error, MissingConfigException) and error.options and error.missing_cfg_file:
        group, _, option = str(error.missing_cfg_file).rpartition("/")
        return UserError(f"{group}={option} is not an option. {did_you_mean(option, error.options)}")
    if isinstance(error, OverrideParseException):
        return UserError(
            f"{str(error).splitlines()[0]}: it must be KEY=VALUE, with special characters of VALUE in quotes."
        )
    cause = error.__cause__
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and isinstance(cause.parent_node, DictConfig):
        known = [str(key) for key in cause.parent_node if key != "_target_"]
        return UserError(f"{cause.full_key} is not a key. {did_you_mean(str(cause.key), known)}")
    if isinstance(cause, OmegaConfBaseException):
        return UserError(f"{cause.full_key}: {str(cause).splitlines()[0]}.")
    return UserError(" ".join(str(error).split()))


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
