"""The words of a command line: those of Hydra with a meaning here, and those that choose no option.

A word that Hydra's grammar does not read is refused when it is composed. This module loads nothing of Hydra, so that
the usual mistakes are answered at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from bakeoff.pipeline.config.options import CONF, GROUPS
from bakeoff.pipeline.errors import UserError, did_you_mean

SWEEP_WORD = "hydra.mode=MULTIRUN"
RUN_WORD = "hydra.mode=RUN"
"""Asks for a single run, even if a file describes a sweep."""
HYDRA_SWEEP_KEYS = re.compile(r"hydra[./](sweep|sweeper|launcher)([./]|$)")
"""Hydra's keys that have an effect in a sweep only."""
HYDRA_RUN_KEYS = re.compile(r"hydra\.run\.")
"""Hydra's keys that have an effect in a single run only."""
HYDRA_PREFIX = "hydra/"
ADDED_HYDRA_KEY = re.compile(r"\++hydra\.(\w+)")
FILES_GROUP = "experiment"
"""The group of which a job may read no file, one, or several one after the other."""
REMOVABLE_GROUPS = (FILES_GROUP, "space")
NO_NAME = re.compile(r"null|true|false|[\d.]+|''|\"\"|", re.IGNORECASE)
"""A value that names no option."""
PATTERN_AMONG_NAMES = re.compile(r".*,\s*glob\(|glob\([^)]*\)\s*,")
FOLDER_KEYS = ("hydra.run.dir", "hydra.sweep.dir")
"""Without a name, Hydra would write into the current folder."""
INTERPOLATION = "${"


def check_overrides(words: Iterable[str]) -> None:
    """Reject words that Hydra would drop, or answer without their key, such as those that choose no option.

    Parameters
    ----------
    words : iterable of str
        Overrides; flags are left alone.

    Raises
    ------
    UserError

    Examples
    --------
    >>> check_overrides(["learner=knn", "dataset=iris,wine", "experiment=[a,b]", "learner={p: 1}"])
    >>> check_overrides(["~audit"])
    Traceback (most recent call last):
    bakeoff.pipeline.errors.UserError: ~audit: audit cannot be removed, because every job needs it; write audit=none \
for no audit, or audit=NAME; `bakeoff list audit` shows the names.
    """
    for word in words:
        key, equals, value = word.partition("=")
        if equals and not key.strip("+~ "):
            raise UserError(f"{word!r} has no key; write KEY=VALUE.")
        if key.lstrip("+") in FOLDER_KEYS and not value.strip(" '\""):
            raise UserError(f"{word}: the value must name a folder; leave the word out for the usual one.")
        if added := ADDED_HYDRA_KEY.match(word):
            _require_hydra_key(added[1])
        group, _, package = key.lstrip("+~").partition("@")
        is_option = group in GROUPS or group.startswith(HYDRA_PREFIX)
        if is_option and word.startswith("~"):
            _require_removable(word, group)
        elif is_option and equals:
            _require_names(word, group, value.strip())
            is_set = word.startswith("+") and not package and not value.startswith("{")
            if is_set and group in GROUPS:
                raise UserError(f"{word}: {group} has an option already; write {word.lstrip('+')}.")


def _require_hydra_key(name: str) -> None:
    """Reject a key that is added to Hydra's own configuration where Hydra reads none."""
    from hydra.conf import HydraConf

    known = [field.name for field in fields(HydraConf)]
    if name not in known:
        raise UserError(f"hydra.{name} is not a key. {did_you_mean(name, known)}")


def _require_removable(word: str, group: str) -> None:
    if group not in REMOVABLE_GROUPS:
        raise UserError(f"{word}: {group} cannot be removed, because every job needs it; {_describe_choice(group)}.")


def _require_names(word: str, group: str, value: str) -> None:
    """Reject a value that names no option, or several where a job takes one."""
    if PATTERN_AMONG_NAMES.match(value):
        raise UserError(f"{word}: glob(...) stands alone; write {group}=glob(PATTERN), or the names {group}=A,B.")
    names = [value] if value.startswith(("{", "[")) else value.split(",")
    is_empty = not value.strip("{}[] ") or any(NO_NAME.fullmatch(name.strip()) for name in names)
    # {KEY: VALUE} sets keys of the chosen option, and a list of files is read one after the other.
    is_lost = value.startswith("{" if group == FILES_GROUP else "[")
    if is_lost and not is_empty and group in GROUPS:
        raise UserError(
            f"{word}: {group} takes one option, and this is a list; {_describe_choice(group)}. With -m, {group}=A,B "
            "runs a job for each."
        )
    if is_lost or is_empty:
        raise UserError(f"{word} names no option; {_describe_choice(group)}.")


def _describe_choice(group: str) -> str:
    """Return how an option of a group is chosen."""
    if group.startswith(HYDRA_PREFIX):
        return f"write {group}=NAME"
    has_none = (CONF / group / "none.yaml").is_file()
    none = f"write {group}=none for no {group}, or" if has_none else "write"
    return f"{none} {group}=NAME; `bakeoff list {group}` shows the names"


def require_readable_folder(folder: Path) -> None:
    """Reject a current folder whose name Hydra would interpolate: it would write elsewhere.

    Parameters
    ----------
    folder : Path
        Absolute.

    Raises
    ------
    UserError
    """
    if INTERPOLATION in str(folder):
        raise UserError(
            f"the current folder {str(folder)!r} has {INTERPOLATION} in its name, which Hydra takes for a value to be "
            "filled in; rename the folder, or start in another one."
        )
