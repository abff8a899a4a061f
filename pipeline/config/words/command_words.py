"""The words of a command line that describe a job: each is read alone, before anything is composed.

Hydra's own messages name neither the word nor the cure, and some words it drops without a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, Override, QuotedString
from hydra.errors import HydraException, OverrideParseException

from bakeoff.pipeline.config.options import CONF, GROUPS
from bakeoff.pipeline.config.schema import Schema
from bakeoff.pipeline.config.words.word_syntax import explain_syntax
from bakeoff.pipeline.errors import UserError

FILES_GROUP = "experiment"
"""The group of which a job may read no file, one, or several one after the other."""
VALUES_GROUP = "space"
"""The group whose keys are the user's to write."""
HYDRA_PREFIX = "hydra/"
NO_OPTION = "none"
SCALARS = tuple(field.name for field in fields(Schema) if field.type in ("int", "bool", "str", "float | None"))
"""Keys that hold one value and no further keys."""
FLAG_PREFIX = "-"
DIRECTORY_KEYS = ("hydra.run.dir", "hydra.sweep.dir")
"""Keys of Hydra that name folders: an empty text would be the current one."""


def check_overrides(words: Iterable[str]) -> None:
    """Reject words that Hydra cannot read, or would drop, or would answer in terms of its own.

    Parameters
    ----------
    words : iterable of str
        Overrides; flags are left alone.

    Raises
    ------
    UserError
    """
    parser = OverridesParser.create()
    for word in words:
        if not word.startswith(FLAG_PREFIX):
            _check_override(word, read_word(word, parser))


def read_word(word: str, parser: OverridesParser | None = None) -> Override:
    """Return a word as Hydra reads it.

    Parameters
    ----------
    word : str
    parser : OverridesParser, optional

    Raises
    ------
    UserError
        It is not an override.
    """
    try:
        return (parser or OverridesParser.create()).parse_override(word)
    except (HydraException, OverrideParseException, ValueError, RecursionError) as error:
        raise UserError(explain_syntax(word, str(error))) from None


def _check_override(word: str, override: Override) -> None:
    key = override.key_or_group
    if not key.strip():
        raise UserError(f"{word!r} has no key; write KEY=VALUE.")
    if key in GROUPS or key.startswith(HYDRA_PREFIX):
        _check_option(word, override)
    first = key.partition(".")[0]
    if first != key and first in SCALARS:
        raise UserError(f"{word}: {first} holds one value and no keys; write {first}=VALUE.")
    if key in DIRECTORY_KEYS and not str(override.value()).strip():
        raise UserError(f"{word}: {key} must name a folder; leave the word out for the usual one.")


def _check_option(word: str, override: Override) -> None:
    """Require the name of an option where a word chooses one."""
    group = override.key_or_group
    if override.package is None:
        _require_choice(word, override)
    if override.is_delete():
        return
    value = override.value()
    if isinstance(value, ChoiceSweep):
        for item in value.list or []:
            _require_name(word, group, item, is_one_of_several=True)
    elif not override.is_sweep_override():
        _require_name(word, group, value)


def _require_choice(word: str, override: Override) -> None:
    """Reject words that remove a group, which every job needs, or add it a second time."""
    group = override.key_or_group
    if override.is_delete() and group not in (FILES_GROUP, VALUES_GROUP):
        raise UserError(f"{word}: {group} cannot be removed, because every job needs it; {_describe_choice(group)}.")
    is_added = override.is_add() or override.is_force_add()
    if is_added and not isinstance(override.value(), dict) and group in GROUPS:
        raise UserError(f"{word}: {group} has an option already; write {word.lstrip('+')}.")


def _require_name(word: str, group: str, value: Any, is_one_of_several: bool = False) -> None:
    """Require the name of an option, or what else a group takes."""
    text = value.text if isinstance(value, QuotedString) else value
    if isinstance(text, str) and text.strip():
        return
    if isinstance(text, Glob):
        raise UserError(f"{word}: glob(...) stands alone; write {group}=glob(PATTERN), or the names {group}=A,B.")
    # {KEY: VALUE} sets keys of the chosen option.
    if isinstance(text, dict) and text and group != FILES_GROUP:
        return
    is_list_of_names = isinstance(text, list) and bool(text) and all(isinstance(item, str) for item in text)
    if is_list_of_names and group == FILES_GROUP and not is_one_of_several:
        return
    if isinstance(text, list) and group in GROUPS:
        raise UserError(
            f"{word}: {group} takes one option, and this is a list; {_describe_choice(group)}. With -m, {group}=A,B "
            "runs a job for each."
        )
    raise UserError(f"{word} names no option; {_describe_choice(group)}.")


def _describe_choice(group: str) -> str:
    """Return how an option of a group is chosen."""
    if group.startswith(HYDRA_PREFIX):
        return f"write {group}=NAME"
    has_none = (CONF / group / f"{NO_OPTION}.yaml").is_file()
    none = f"write {group}={NO_OPTION} for no {group}, or" if has_none else "write"
    return f"{none} {group}=NAME; `bakeoff list {group}` shows the names"


def list_overrides(words: Sequence[str]) -> list[str]:
    """Return the overrides of a command line, whose flags stand at its end with their values."""
    first_flag = next((place for place, word in enumerate(words) if word.startswith(FLAG_PREFIX)), len(words))
    return list(words[:first_flag])
