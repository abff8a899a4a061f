"""The flags of Hydra among the words of a command line, in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.pipeline.errors import UserError, did_you_mean

FLAG_PREFIX = "-"
VERSION_FLAG = "--version"
NO_VALUE_PREFIXES = (FLAG_PREFIX, "~", "+")


def order_words(words: Sequence[str]) -> list[str]:
    """Return the overrides, followed by the flags with their values: after a flag, Hydra's parser takes no overrides.

    Parameters
    ----------
    words : sequence of str

    Raises
    ------
    UserError
        There is no such flag.

    Examples
    --------
    >>> order_words(["learner=knn", "--cfg", "job", "dataset=iris"])
    ['learner=knn', 'dataset=iris', '--cfg', 'job']
    """
    flags: list[str] = []
    overrides: list[str] = []
    for position, word in enumerate(words):
        is_flag = word.startswith(FLAG_PREFIX)
        if is_flag:
            _require_flag(word)
        if is_flag or (position > 0 and _takes_value(words[position - 1], word)):
            flags.append(word)
        else:
            overrides.append(word)
    return [*overrides, *flags]


def _takes_value(flag: str, following: str) -> bool:
    """Whether a word is a flag, and the next word is its value."""
    if not flag.startswith(FLAG_PREFIX):
        return False
    name, has_value, _ = flag.partition("=")
    is_open = _list_flags()[name].nargs != 0 and not has_value
    return is_open and "=" not in following and not following.startswith(NO_VALUE_PREFIXES)


def _require_flag(word: str) -> None:
    name = word.partition("=")[0]
    known = _list_flags()
    if name not in known:
        raise UserError(f"{word} is not a flag. {did_you_mean(name, known)} Values are written as KEY=VALUE.")


def _list_flags() -> Mapping[str, Any]:
    """Return the flags of Hydra, with what its parser knows of each."""
    from hydra._internal.utils import get_args_parser

    flags: Mapping[str, Any] = get_args_parser()._option_string_actions
    return flags
