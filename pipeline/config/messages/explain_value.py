"""Sentences about a value that a key does not take, and about references that lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import (
    InterpolationKeyError,
    InterpolationToMissingValueError,
    OmegaConfBaseException,
    UnsupportedInterpolationType,
    ValidationError,
)

from bakeoff.pipeline.config.words.word_syntax import show
from bakeoff.pipeline.errors import did_you_mean

ALLOWED = {
    "seed": "a whole number from 0 to 4294967295",
    "n_jobs": "a number of processes, or -1 for as many as there are cores",
    "workers": "a number of processes from 1",
    "timeout": "a positive number of seconds, or null",
    "on_error": "continue, stop, or stop_after:N",
    "on_invalid": "stop or skip",
    "trust": "a list of packages, such as trust=[mine]",
    "figures": "all, none, or a list of names such as [roc,confusion_matrix]",
}
"""Keys whose type is declared, and what each takes."""
NEWEST_REASON = re.compile(r"raised while resolving interpolation: [\"']?(?P<reason>.*?)[\"']?$")


def explain_value(error: OmegaConfBaseException, words: Sequence[str]) -> str:
    """Return a sentence about a value that does not suit its key.

    Parameters
    ----------
    error : OmegaConfBaseException
    words : sequence of str
        Overrides, one of which may have given the value.
    """
    key = str(error.full_key)
    given = find_word(key, words)
    if key in ALLOWED and isinstance(error, ValidationError):
        value = "" if given else f" (given in a file: {show(str(error.value))})"
        return f"{given or key} must be {ALLOWED[key]}{value}."
    reason = str(error).splitlines()[0].rstrip(".")
    return f"{f'{given}: ' if given else ''}{key}: {reason}."


def explain_reference(error: OmegaConfBaseException, composed: DictConfig) -> str:
    """Return a sentence about a reference such as ``${seed}`` that cannot be resolved.

    Parameters
    ----------
    error : OmegaConfBaseException
    composed : DictConfig
        The configuration with the reference.
    """
    key = str(error.full_key)
    reason = str(error).splitlines()[0]
    resolver = NEWEST_REASON.search(reason)
    place = f"{key}={show(_read_raw(composed, key))}"
    if isinstance(error, InterpolationKeyError):
        missing = re.search(r"Interpolation key '(.*?)' not found", reason)
        name = missing[1] if missing else key
        suggestion = did_you_mean(name, [str(known) for known in composed])
        return f"{place} refers to {name}, which is not a key. {suggestion}"
    if isinstance(error, InterpolationToMissingValueError):
        return f"{place} refers to a value that is not given: {reason}"
    if isinstance(error, UnsupportedInterpolationType):
        return f"{place}: {reason}; such a reference is ${{KEY}} or ${{oc.env:NAME}}."
    if resolver is not None:
        return f"{place} cannot be resolved: {resolver['reason']}."
    return f"{place}: {reason}; write a value."


def find_word(key: str, words: Sequence[str]) -> str:
    """Return the last word that gives a key or one below it a value; empty if none does."""
    for word in reversed(words):
        name = word.lstrip("+~").partition("=")[0]
        if name == key or name.startswith(f"{key}."):
            return show(word)
    return ""


def _read_raw(composed: DictConfig, key: str) -> str:
    """Return the value of a key as it was written."""
    node: Any = OmegaConf.to_container(composed, resolve=False)
    for part in re.split(r"[.\[\]]+", key.rstrip("]")):
        if isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        elif isinstance(node, dict) and part in node:
            node = node[part]
        else:
            return "..."
    return str(node)
