"""The words of a command line: those that would have no effect, and information that is not part of the configuration.

A word that Hydra's grammar rejects is refused during composition. This module does not load Hydra, so common mistakes
are reported immediately.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.config.options import GROUPS, MAX_DEPTH, REQUIRED_GROUPS
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text import secrets, wording

SWEEP_KEYS = (
    "search",
    "resume",
    "workers",
    "timeout",
    "budget",
    "on_error",
    "on_invalid",
    "dry_run",
    "exclude",
    "max_jobs",
)
"""Keys that determine how jobs are generated and run together; they are not part of any job."""
SWEEP_WORD = "hydra.mode=MULTIRUN"
DURATION = re.compile(r"((?:\d*\.)?\d+(?:e[+-]?\d+)?)\s*([smh]?)", re.IGNORECASE)
UNITS = {"s": ("seconds", 1.0), "m": ("minutes", 60.0), "h": ("hours", 3600.0)}
"""The letter of a unit -> its name and its length in seconds."""
MAX_SECONDS = 1e9
MAX_NAME_LETTERS = 250
"""The maximum length of a file name on common systems; Hydra looks for an option in a file of its name."""
FAULTS = {
    "^=": "the key is missing; write KEY=VALUE",
    r"^~([=@]|\Z)": "the key is missing; write ~KEY",
    r"^~hydra\b": "settings of Hydra cannot be removed; leave this word out",
    rf"^[^=]{{{MAX_NAME_LETTERS}}}": "this is not a key; `bakeoff --cfg job` shows them",
    # Hydra would merge the keys of a list of options, or drop the word.
    rf"^\+*({'|'.join(GROUPS)})=((?<!experiment=)\s*\[.*|\s*(\{{\s*\}}|null|true|false|[\d.]+)\s*"
    rf"|[^,]{{{MAX_NAME_LETTERS},}})\Z": (
        r"\1 takes the name of one option (see `bakeoff list \1`); with -m, \1=A,B runs one job for each"
    ),
    rf"^~({'|'.join(REQUIRED_GROUPS)}|seed)([=@].*)?\Z": (
        r"\1 cannot be removed, because every job needs it; leave this word out, or choose with \1=…"
    ),
    # Quotation marks as written by word processors and web pages, at the beginning of a text.
    r"(?:^|[=\[{,:(\s])([“”„‘’‚«»])": (r"\1 would be part of the text; write straight quotation marks, ' or \""),
    r"^\+*([\w.]+)=.*\$\{\1\}": "the value refers to its own key; give a value",
    rf"([\[{{(][^\[{{(\])}}]*){{{MAX_DEPTH + 1}}}": f"more than {MAX_DEPTH} lists or mappings are nested; use fewer",
    rf"(?<![\w'\"])\d{{{sys.int_info.default_max_str_digits + 1}}}": (
        "the number is too long; give a smaller one, or text in quotation marks"
    ),
}
"""The pattern of a word that is refused -> the reason."""


def check_overrides(words: Iterable[str]) -> None:
    """Reject words that Hydra would misunderstand, or reject without naming them.

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
    """
    for word in words:
        for pattern, fault in FAULTS.items():
            if found := re.search(pattern, word, re.DOTALL | re.IGNORECASE):
                raise UserError(f"{word}: {found.expand(fault)}.")


def require_encoded(words: Iterable[str]) -> None:
    """Reject words with bytes that the encoding of the command line cannot represent, such as a name in UTF-8 in ASCII.

    Parameters
    ----------
    words : iterable of str

    Raises
    ------
    UserError
    """
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UserError(
                f"{word!a} is not text in the encoding of this command line, {sys.getfilesystemencoding()}: set "
                "PYTHONUTF8=1 in the environment, or rename the file."
            ) from None


def read_list(text: str) -> tuple[str, ...]:
    """Return the items of a list such as ``[age,sex]``, without quotation marks.

    Examples
    --------
    >>> read_list("[age, 'body mass']"), read_list("age"), read_list("")
    (('age', 'body mass'), ('age',), ())
    """
    items = [item.strip() for item in text.strip().removeprefix("[").removesuffix("]").split(",")]
    return tuple(item.strip("'\"") for item in items if item)


def read_duration(key: str, value: Any, unit: str = "s") -> float | None:
    """Return a duration such as ``90s``, ``10m`` or ``2h`` in seconds; None for null.

    Parameters
    ----------
    key : str
    value : object
    unit : {"s", "m", "h"}
        The unit of a number without one.

    Raises
    ------
    UserError
        The value is not a duration above 0.

    Examples
    --------
    >>> [read_duration("timeout", value) for value in (90, "1.5m", "2h", None)]
    [90.0, 90.0, 7200.0, None]
    """
    if value is None:
        return None
    given = DURATION.fullmatch(str(value))
    seconds = float(given[1]) * UNITS[given[2].lower() or unit][1] if given else 0.0
    if not 0 < seconds <= MAX_SECONDS:
        raise UserError(
            f"{key}={value} must be a duration above 0 and at most {MAX_SECONDS:g} s: a number of {UNITS[unit][0]}, or "
            "a number with a unit, such as 90s, 10m or 2h; null sets no limit."
        )
    return seconds


def conceal_passwords(words: Sequence[str]) -> list[str]:
    """Return the words of a command with references in place of passwords, with a note.

    Parameters
    ----------
    words : sequence of str
    """
    concealed, names = secrets.conceal_words(words)
    if names:
        variables = wording.join_words(names)
        wording.print_note(
            f"note: the command contains a password, which is not stored; {variables} replaces it: export it to "
            "repeat the commands shown."
        )
    return concealed


@dataclass(frozen=True, slots=True)
class Invocation:
    """The information in the command line that is not part of the configuration.

    Attributes
    ----------
    choices : mapping of str to str
        The chosen option of each group.
    varying : tuple of str
        Keys that distinguish this job: those that vary in a sweep, otherwise those that were given.
    sweep : str or None
        The sweep's name.
    number : int
        The job's number in its sweep, from 0.
    overrides : tuple of str
        The overrides from which the job can be composed again.
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
        A key applies only to sweeps.
    """
    choices = {str(group): str(option) for group, option in own.runtime.choices.items()}
    # The time limit does not affect the result, so it is not part of the recorded command.
    overrides = tuple(word for word in list_words(own.overrides.task) if find_part(word) != "timeout")
    keys = tuple(word.lstrip("+~").partition("=")[0] for word in overrides)
    for key in keys:
        if key.split(".")[0] in SWEEP_KEYS:
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

    params = own.sweeper.get("params") or {}
    grids = [params] if isinstance(params, Mapping) else params
    if own.mode == RunMode.MULTIRUN or params:
        names = dict.fromkeys(str(key) for grid in grids for key in grid)
        raise UserError(f"hydra.mode or hydra.sweeper.params defines a sweep ({', '.join(names)}); add -m.")


def reject_unread_space(words: Iterable[str], settled: Iterable[Mapping[str, Any]]) -> None:
    """Reject search values that no job uses.

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
    given = [word for word in words if find_part(word) == "space"]
    if given and not any("space" in spec["tuning"] or spec.get("figures") for spec in settled):
        raise UserError(
            f"{given[0]} has no effect, because nothing is tuned; add tuning=grid, or search=grid to a sweep."
        )


def split_sweep_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the overrides of a sweep into those that compose the sweep itself and those of its jobs.

    A learner's keys are unknown until the learner is chosen, and each job chooses its own. The sweep therefore gets
    Hydra's keys, its own keys, and ``experiment``, whose file may set both; the jobs get the other keys and
    ``experiment``.

    Parameters
    ----------
    words : sequence of str
        Overrides.

    Returns
    -------
    sweep_words, job_words : list of str
    """
    job_words = [word for word in words if find_part(word) not in ("hydra", *SWEEP_KEYS)]
    shared = {word for word in job_words if find_part(word) == "experiment" and "," not in word}
    sweep_words = [word for word in words if word not in job_words or word in shared]
    return sweep_words, job_words


def find_part(word: str) -> str:
    """Return the first name in the key of a word."""
    return re.split(r"[=@./]", word.lstrip("+~"))[0]
