"""The information in the command line that is not part of the configuration."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.schema import SWEEP_KEYS
from bakeoff.pipeline.config.words import HYDRA_RUN_KEYS, HYDRA_SWEEP_KEYS, RUN_WORD
from bakeoff.pipeline.errors import UserError

DELETING_PREFIX = "~"


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


def read_invocation(own: Any, swept: Sequence[str] = ()) -> Invocation:
    """Return the invocation of a job.

    Parameters
    ----------
    own : DictConfig
        Hydra's own part of the configuration of the job.
    swept : sequence of str
        Keys that vary over the sweep.

    Raises
    ------
    UserError
        A single run was given a key that only a sweep has.
    """
    from hydra.types import RunMode

    choices = {str(group): str(option) for group, option in own.runtime.choices.items()}
    overrides = tuple(list_words(own.overrides.task))
    keys = tuple(_find_key(word) for word in overrides)
    if own.mode != RunMode.RUN:
        return Invocation(
            choices,
            varying=tuple(key for key in swept if key in keys),
            sweep=Path(str(own.sweep.dir)).name,
            number=int(own.job.num),
            overrides=overrides,
        )
    hydra_keys = (_find_key(word) for word in list_words(own.overrides.hydra))
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


def reject_sweep_values(own: Any) -> None:
    """Reject a single run of a file that describes a sweep.

    Parameters
    ----------
    own : DictConfig
        Hydra's own part of the configuration.

    Raises
    ------
    UserError
        ``hydra.mode`` asks for a sweep, or ``hydra.sweeper.params`` is not empty.
    """
    from hydra.types import RunMode

    if own.mode == RunMode.MULTIRUN:
        raise UserError(f"hydra.mode: MULTIRUN in a file asks for a sweep; add -m. {RUN_WORD} runs one job of it.")
    params = own.sweeper.get("params")
    if params:
        keys = ", ".join(str(key) for key in params)
        raise UserError(
            f"hydra.sweeper.params gives {keys} the values of a sweep; add -m. {RUN_WORD} runs one job without them."
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


def note_repeated_keys(words: Iterable[str]) -> list[str]:
    """Return a sentence for each key that is given several values one after the other, of which the last one counts.

    Parameters
    ----------
    words : iterable of str
        Overrides.

    Examples
    --------
    >>> note_repeated_keys(["seed=1", "dataset=iris", "seed=2"])
    ['seed is given 2 times (seed=1 seed=2), and the last one counts.']
    """
    given = [word for word in words if "=" in word and not word.startswith(DELETING_PREFIX)]
    sentences = []
    for key, count in Counter(map(_find_key, given)).items():
        same = [word for word in given if _find_key(word) == key]
        if len(set(same)) > 1:
            sentences.append(f"{key} is given {count} times ({' '.join(same)}), and the last one counts.")
    return sentences


def split_sweep_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the overrides of a sweep into those that the sweep itself is composed from, and those of the jobs.

    A learner's keys are unknown until the learner is chosen, and each job chooses its own. So the sweep gets Hydra's
    keys, its own, and ``experiment``, whose file may set both; the jobs get the others, and ``experiment`` too.

    Parameters
    ----------
    words : sequence of str
        Overrides.

    Returns
    -------
    sweep_words, job_words : list of str

    Raises
    ------
    UserError
        A key has an effect in single runs only.
    """
    for word in words:
        if HYDRA_RUN_KEYS.match(word.lstrip("+~")):
            raise UserError(f"{word}: hydra.run is for single runs; the folder of a sweep is hydra.sweep.dir.")
    keys = {word: re.split(r"[=@./]", word.lstrip("+~"))[0] for word in words}
    job_words = [word for word in words if keys[word] not in ("hydra", *SWEEP_KEYS)]
    shared = {word for word in job_words if keys[word] == "experiment" and "," not in word}
    sweep_words = [word for word in words if word not in job_words or word in shared]
    return sweep_words, job_words


def _find_key(word: str) -> str:
    return word.lstrip("+~").partition("=")[0]
