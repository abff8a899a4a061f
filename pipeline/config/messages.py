"""From Hydra's and OmegaConf's exceptions to sentences that name the key, the word, and the nearest valid name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, MissingMandatoryValue, OmegaConfBaseException
from yaml import YAMLError

from bakeoff.pipeline.config.options import explain_yaml_error, list_own_names, read_options
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.wording import cut_text, show_in_line

FURTHER_LINES = re.compile(r"\n(Config search path|See http|\s+full_key:).*", re.DOTALL)
"""Lines of Hydra's messages about folders, its own pages, and the key that the sentence names."""
MAX_SHOWN_CHARACTERS = 200
"""Maximum length of a word that a message repeats."""
DATASET_PREFIX = "dataset/"
ROOT_FILE = "config"
"""The file that lists the command-line options according to Hydra's messages."""


def explain_error(error: Exception, words: Sequence[str] = ()) -> UserError:
    """Translate an exception that was raised while a configuration was composed.

    Parameters
    ----------
    error : Exception
        An exception of Hydra or OmegaConf; a `UserError` is returned unchanged.
    words : sequence of str
        The overrides from which it was composed.

    Returns
    -------
    UserError
    """
    if isinstance(error, UserError):
        return error
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return UserError(_explain_missing_option(error))
    if isinstance(error, YAMLError):
        return UserError(explain_yaml_error(error))
    reason = " ".join(FURTHER_LINES.sub("", str(error)).split()).rstrip(".")
    if isinstance(error, OverrideParseException):
        word = show(error.override)
        return UserError(f"{word!r}: {reason}; write KEY=VALUE, and put a text with signs or spaces in quotes.")
    # Hydra wraps OmegaConf's exceptions, and only the wrapped one contains the key.
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and isinstance(cause.parent_node, DictConfig):
        known = [str(name) for name in cause.parent_node if name != "_target_"]
        return UserError(f"{cause.full_key} is not a key. {did_you_mean(str(cause.key), known)}")
    if isinstance(cause, MissingMandatoryValue):
        return UserError(f"{cause.full_key} must be given: add {cause.full_key}=VALUE.")
    if isinstance(cause, OmegaConfBaseException) and cause.full_key:
        reason = str(cause).splitlines()[0].rstrip(".")
        return UserError(f"{_find_word(str(cause.full_key), words)}{cause.full_key}: {reason}.")
    return UserError(f"{reason}.")


def show(text: str) -> str:
    """Return a word on one line, without unprintable characters, shortened to fit a message."""
    return cut_text(show_in_line(text), MAX_SHOWN_CHARACTERS)


def _explain_missing_option(error: MissingConfigException) -> str:
    """Return a sentence with the nearest option of a group, or the keys of a file given in place of an option."""
    given = str(error.missing_cfg_file)
    path = given.removeprefix(DATASET_PREFIX)
    if path != given and Path(path).suffix:
        return f"dataset={path} is not an option; a file is given by dataset=file dataset.path={path}."
    group, _, option = given.rpartition("/")
    cure = did_you_mean(option, error.options or [*read_options(group), *list_own_names(group)])
    place = re.match(r"In '(.*?)': ", str(error))
    file = place[0] if place and place[1] != ROOT_FILE else ""
    return f"{file}{group}={option} is not an option. {cure}"


def _find_word(key: str, words: Sequence[str]) -> str:
    """Return the last word that sets a key or one below it, with a colon; empty if there is none."""
    for word in reversed(words):
        name = word.lstrip("+~").partition("=")[0]
        if name == key or name.startswith(f"{key}."):
            return f"{show(word)}: "
    return ""
