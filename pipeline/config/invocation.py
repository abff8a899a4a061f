"""The information in the command line that is not part of the configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.schema import SWEEP_KEYS
from bakeoff.pipeline.config.words import HYDRA_RUN_KEYS, HYDRA_SWEEP_KEYS
from bakeoff.pipeline.errors import UserError

HYDRA_FILES = ("config.yaml", "hydra.yaml", "overrides.yaml")
PRIVATE_MODE = 0o600
RUN_FOLDER = "outputs/runs/"
"""Where the folders of single runs are, unless the user names another."""
RUN_FOLDER_KEY = "hydra.run.dir"


@dataclass(frozen=True)
class Invocation:
    """The information in the command line that is not part of the configuration.

    Attributes
    ----------
    choices : mapping of str to str
        The chosen option of each group.
    varying : tuple of str
        Keys that distinguish this job: in a sweep those that vary, else those that were given.
    sweep : str or None
        The sweep's name.
    number : int
        The job's number in its sweep, from 0.
    overrides : tuple of str
        The overrides that compose the job again.
    study : str or None
        The study's name, if Optuna chose the job.
    """

    choices: Mapping[str, str]
    varying: tuple[str, ...] = ()
    sweep: str | None = None
    number: int = 0
    overrides: tuple[str, ...] = ()
    study: str | None = None


def read_invocation(swept: Sequence[str] = ()) -> Invocation:
    """Return the invocation of the job that Hydra is running.

    Parameters
    ----------
    swept : sequence of str
        Keys that vary over the sweep.

    Raises
    ------
    UserError
        A single run was given a key that only a sweep has.
    """
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    current = HydraConfig.get()
    choices = {str(group): str(option) for group, option in current.runtime.choices.items()}
    overrides = tuple(list_words(current.overrides.task))
    keys = tuple(word.lstrip("+~").split("=")[0] for word in overrides)
    if current.mode != RunMode.RUN:
        return Invocation(
            choices,
            varying=tuple(key for key in swept if key in keys),
            sweep=Path(str(current.sweep.dir)).name,
            number=int(current.job.num),
            overrides=overrides,
        )
    hydra_keys = (word.lstrip("+~").split("=")[0] for word in list_words(current.overrides.hydra))
    sweep_keys = [key for key in keys if key.split(".")[0] in SWEEP_KEYS]
    sweep_keys += [key for key in hydra_keys if HYDRA_SWEEP_KEYS.match(key)]
    for key in sweep_keys:
        raise UserError(f"{key} is a key of sweeps; add -m.")
    return Invocation(choices, varying=keys, overrides=overrides)


def list_words(overrides: Any) -> list[str]:
    """Return the words that Hydra holds, with references to environment variables instead of their values.

    Parameters
    ----------
    overrides : ListConfig
    """
    from omegaconf import OmegaConf

    words: Any = OmegaConf.to_container(overrides, resolve=False)
    return [str(word) for word in words]


def reject_sweep_values() -> None:
    """Reject a single run of a file that gives a key several values, one for each job of a sweep.

    Raises
    ------
    UserError
        ``hydra.sweeper.params`` is not empty.
    """
    from hydra.core.hydra_config import HydraConfig

    params = HydraConfig.get().sweeper.get("params")
    if params:
        keys = ", ".join(str(key) for key in params)
        raise UserError(
            f"hydra.sweeper.params gives {keys} the values of a sweep; add -m. "
            "hydra.mode=RUN runs one job without them."
        )


def reject_unread_space(words: Iterable[str], settled: Iterable[Mapping[str, Any]]) -> None:
    """Reject values to search if nothing searches them.

    Parameters
    ----------
    words : iterable of str
        Overrides.
    settled : iterable of mapping
        The settled configurations of all jobs.

    Raises
    ------
    UserError
    """
    given = [word for word in words if re.split(r"[=@./]", word.lstrip("+~"))[0] == "space"]
    if given and not any("space" in spec["tuning"] or spec.get("figures") for spec in settled):
        raise UserError(
            f"{given[0]} has no effect, because nothing is tuned; add tuning=grid, or search=grid to a sweep."
        )


def note_tuned_keys(words: Iterable[str], settled: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return a sentence for each key of the learner that is given and has no effect because tuning chooses its value.

    Parameters
    ----------
    words : iterable of str
        Overrides.
    settled : sequence of mapping
        The settled configurations of all jobs.
    """
    tuned: set[str] = set()
    for spec in settled:
        space = spec["tuning"].get("space") or {}
        grids = [space] if isinstance(space, Mapping) else space
        tuned |= {f"learner.{name.replace('__', '.')}" for grid in grids for name in grid}
    lost = [word for word in words if word.lstrip("+").partition("=")[0] in tuned]
    parameters = [word.partition("=")[0].partition(".")[2] for word in lost]
    return tuple(
        f"{word} has no effect where tuning chooses the value; leave it out, or leave {parameter} out of what is tuned "
        f"(~default_space.{parameter})."
        for word, parameter in zip(lost, parameters, strict=True)
    )


def split_sweep_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a sweep's command line into the words that Hydra composes the sweep from, and those of the jobs.

    A learner's keys are unknown until the learner is chosen, and each job chooses its own. So Hydra gets its own
    keys, those of the sweep, and ``experiment``, whose file may set both; the jobs get the others, and ``experiment``
    too.

    Parameters
    ----------
    words : sequence of str
        Arguments of the command, options such as ``-m`` included.

    Returns
    -------
    sweep_words, job_words : list of str

    Raises
    ------
    UserError
        A key has an effect in single runs only.
    """
    from hydra._internal.utils import get_args_parser

    overrides = get_args_parser().parse_args(list(words)).overrides
    for word in overrides:
        if HYDRA_RUN_KEYS.match(word.lstrip("+~")):
            raise UserError(f"{word}: hydra.run is for single runs; the folder of a sweep is hydra.sweep.dir.")
    keys = {word: re.split(r"[=@./]", word.lstrip("+~"))[0] for word in overrides}
    job_words = [word for word in overrides if keys[word] not in ("hydra", *SWEEP_KEYS)]
    shared = {word for word in job_words if keys[word] == "experiment" and "," not in word}
    sweep_words = [word for word in words if word not in job_words or word in shared]
    return sweep_words, job_words


def protect_output_files() -> None:
    """Let nobody but the user read the files that Hydra wrote: they hold the command as it was given."""
    for file in _list_output_files():
        if file.is_file():
            file.chmod(PRIVATE_MODE)


def discard_output_folder(new_parents: Sequence[Path] = ()) -> None:
    """Remove the folder that Hydra created for a rejected job, unless it holds other files.

    Parameters
    ----------
    new_parents : sequence of Path
        As `find_new_parents` returned them before Hydra began.
    """
    from hydra.core.hydra_config import HydraConfig

    folder = Path(HydraConfig.get().runtime.output_dir)
    files = _list_output_files()
    for file in files:
        file.unlink(missing_ok=True)
    config_folder = files[0].parent
    for empty in (config_folder, folder, *new_parents):
        with suppress(OSError):  # the folder contains other files, which must stay
            empty.rmdir()


def _list_output_files() -> list[Path]:
    """Return the paths of the files that Hydra writes into the folder of a job."""
    from hydra.core.hydra_config import HydraConfig

    current = HydraConfig.get()
    config_folder = Path(current.runtime.output_dir) / str(current.output_subdir)
    return [config_folder / name for name in HYDRA_FILES]


def find_new_parents(words: Iterable[str]) -> tuple[Path, ...]:
    """Return the folders, the lowest first, that Hydra will create above that of a single run.

    Parameters
    ----------
    words : iterable of str
        Overrides.
    """
    given = [word.partition("=")[2] for word in words if word.lstrip("+").startswith(f"{RUN_FOLDER_KEY}=")]
    # What follows a reference, such as the time of the run, is the lowest folder.
    known = (given[-1] if given else RUN_FOLDER).partition("${")[0]
    lowest = Path(os.path.abspath(known or "."))
    return tuple(folder for folder in (lowest, *lowest.parents) if not folder.exists())
