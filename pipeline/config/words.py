"""The words of a command line: those that would be lost or mean nothing, and information besides the configuration.

A word that Hydra's grammar rejects is refused during composition. This module does not load Hydra, so that the usual
mistakes are reported immediately.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.options import CONF, GROUPS
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.secrets import conceal_words, find_secrets
from bakeoff.pipeline.text.words import join_words

SWEEP_KEYS = ("search", "resume", "workers", "timeout", "on_error", "on_invalid", "dry_run", "max_jobs")
"""Keys that determine how jobs are generated and run together; they are not part of any job."""
SWEEP_WORD = "hydra.mode=MULTIRUN"
RUN_WORD = "hydra.mode=RUN"
"""The word that requests a single run, even if a file describes a sweep."""
HYDRA_SWEEP_KEYS = re.compile(r"hydra[./](sweep|sweeper|launcher)([./]|$)")
"""Hydra's keys that have an effect in a sweep only."""
ADDED_HYDRA_KEY = re.compile(r"\++hydra\.(\w+)")
REMOVABLE_GROUPS = ("experiment", "space")
"""Groups that need not have a file in a job."""
GROUP = f"(?P<group>{'|'.join(GROUPS)}|hydra/[\\w/]+)(@[^=]*)?"
NO_NAME = r"(null|true|false|[\d.]+|''|\"\"|[{\[][{}\[\] ]*|)"
LOST_WORDS: Mapping[str, str] = {
    r"[+~ ]*=.*": "{word!r} has no key; write KEY=VALUE.",
    r"\+*hydra\.(run|sweep)\.dir=[ '\"]*": "{word}: the value must name a folder; leave the word out.",
    rf"~(?!{'|'.join(REMOVABLE_GROUPS)}){GROUP}(=.*)?": (
        "{word}: {group} cannot be removed, because every job needs it; {choice}."
    ),
    rf"\+*{GROUP}=(.*,\s*glob\(.*|glob\([^)]*\)\s*,.*)": (
        "{word}: glob(...) stands alone; write {group}=glob(PATTERN), or the names {group}=A,B."
    ),
    rf"\+*{GROUP}=([^{{\[]*,)?\s*{NO_NAME}\s*(,.*)?": "{word} names no option; {choice}.",
    rf"\+*(?!experiment|hydra){GROUP}=\s*\[.*": (
        "{word}: {group} takes one option, and this is a list; {choice}. With -m, {group}=A,B runs a job for each."
    ),
    rf"\++(?!hydra|[^=]*@){GROUP}=[^{{]*": "{word}: {group} has an option already; leave the plus sign out.",
}
"""Form of a word that Hydra would drop, or reject without naming its key -> the reason for the rejection."""
INTERPOLATION = "${"
QUERY_KEY = "dataset.url="
"""The key of the address of a database; a reference with ``$`` replaces its password."""
DELETING_PREFIX = "~"


def check_overrides(words: Iterable[str]) -> None:
    """Reject words that Hydra would drop, or reject without naming their key, such as those that choose no option.

    Parameters
    ----------
    words : iterable of str
        Overrides; flags are ignored.

    Raises
    ------
    UserError

    Examples
    --------
    >>> check_overrides(["learner=knn", "dataset=iris,wine", "experiment=[a,b]", "space={p: [1, 2, 3]}"])
    >>> check_overrides(["~audit"])
    Traceback (most recent call last):
    bakeoff.pipeline.errors.UserError: ~audit: audit cannot be removed, because every job needs it; write audit=none \
for no audit, or audit=NAME; `bakeoff list audit` shows the names.
    """
    for word in words:
        for form, reason in LOST_WORDS.items():
            if match := re.fullmatch(form, word, re.IGNORECASE | re.DOTALL):
                group = match.groupdict().get("group") or ""
                raise UserError(reason.format(word=word, group=group, choice=_describe_choice(group)))
        if added := ADDED_HYDRA_KEY.match(word):
            _require_hydra_key(added[1])


def _require_hydra_key(name: str) -> None:
    """Reject a key added to the configuration of Hydra that Hydra does not read."""
    from hydra.conf import HydraConf

    known = [field.name for field in fields(HydraConf)]
    if name not in known:
        raise UserError(f"hydra.{name} is not a key. {did_you_mean(name, known)}")


def _describe_choice(group: str) -> str:
    """Return the form of the word that chooses an option of a group."""
    if group not in GROUPS:
        return f"write {group}=NAME"
    has_none = (CONF / group / "none.yaml").is_file()
    none = f"write {group}=none for no {group}, or" if has_none else "write"
    return f"{none} {group}=NAME; `bakeoff list {group}` shows the names"


def require_readable_folder(folder: Path) -> None:
    """Reject a current folder whose name Hydra would interpolate, and write elsewhere.

    Parameters
    ----------
    folder : Path
        An absolute path.

    Raises
    ------
    UserError
    """
    if INTERPOLATION in str(folder):
        raise UserError(
            f"the current folder {str(folder)!r} has {INTERPOLATION} in its name, which Hydra takes for a value to be "
            "filled in; rename the folder, or start in another one."
        )


def reject_passwords(words: Iterable[str]) -> None:
    """Reject a command line with the password of a database, without repeating it.

    Parameters
    ----------
    words : iterable of str

    Raises
    ------
    UserError
        The value of ``dataset.url`` contains a password.

    Examples
    --------
    >>> reject_passwords(["dataset.url=postgresql://me:$PASSWORD@host/x", "dataset.url=sqlite:///my.db"])
    """
    if any(QUERY_KEY in word and find_secrets(word) for word in words):
        raise UserError(
            "dataset.url holds a password, which would be stored with the run; write the name of an environment "
            "variable in its place, 'dataset.url=postgresql://user:$PASSWORD@host/database', and export it."
        )


def conceal_passwords(words: Sequence[str]) -> list[str]:
    """Return the words of a command with references in place of passwords, with a note.

    Parameters
    ----------
    words : sequence of str
    """
    concealed, names = conceal_words(words)
    if names:
        variables = join_words(names)
        print(
            f"note: the command holds a password, which is not stored; {variables} stands in its place: export it to "
            "repeat the commands that are shown.",
            file=sys.stderr,
        )
    return concealed


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


def read_invocation(own: Any) -> Invocation:
    """Return the invocation of a single run.

    Parameters
    ----------
    own : DictConfig
        The settings of Hydra in the configuration of the run.

    Raises
    ------
    UserError
        It has a key that applies to sweeps only.
    """
    choices = {str(group): str(option) for group, option in own.runtime.choices.items()}
    overrides = tuple(list_words(own.overrides.task))
    keys = tuple(_find_key(word) for word in overrides)
    hydra_keys = (_find_key(word) for word in list_words(own.overrides.hydra))
    sweep_keys = [key for key in keys if key.split(".")[0] in SWEEP_KEYS]
    sweep_keys += [key for key in hydra_keys if HYDRA_SWEEP_KEYS.match(key)]
    for key in sweep_keys:
        raise UserError(f"{key} is a key of sweeps; add -m.")
    return Invocation(choices, varying=keys, overrides=overrides)


def list_words(overrides: Any) -> list[str]:
    """Return the words stored by Hydra, with references to environment variables instead of their values.

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
        The settings of Hydra in the configuration.

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
    """Reject values to search if no job searches them.

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
    given = [word for word in words if _find_part(word) == "space"]
    if given and not any("space" in spec["tuning"] or spec.get("figures") for spec in settled):
        raise UserError(
            f"{given[0]} has no effect, because nothing is tuned; add tuning=grid, or search=grid to a sweep."
        )


def note_tuned_keys(words: Iterable[str], settled: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return a sentence for each given key of the learner that has no effect because tuning chooses its value.

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
    lost = {word: _find_key(word).partition(".")[2] for word in words if _find_key(word) in tuned}
    return tuple(
        f"{word} has no effect where tuning chooses the value; leave it out, or leave {parameter} out of what is tuned "
        f"(~default_space.{parameter})."
        for word, parameter in lost.items()
    )


def note_repeated_keys(words: Iterable[str]) -> list[str]:
    """Return a sentence for each key that is given repeatedly; the last value counts.

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
    """Split the overrides of a sweep into those that compose the sweep itself and those of its jobs.

    A learner's keys are unknown until the learner is chosen, and each job chooses its own. So the sweep gets Hydra's
    keys, its own keys, and ``experiment``, whose file may set both; the jobs get the others, and ``experiment`` as
    well.

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
        if _find_key(word).startswith("hydra.run."):
            raise UserError(f"{word}: hydra.run is for single runs; the folder of a sweep is hydra.sweep.dir.")
    job_words = [word for word in words if _find_part(word) not in ("hydra", *SWEEP_KEYS)]
    shared = {word for word in job_words if _find_part(word) == "experiment" and "," not in word}
    sweep_words = [word for word in words if word not in job_words or word in shared]
    return sweep_words, job_words


def _find_key(word: str) -> str:
    return word.lstrip("+~").partition("=")[0]


def _find_part(word: str) -> str:
    """Return the first name in the key of a word."""
    return re.split(r"[=@./]", word.lstrip("+~"))[0]
