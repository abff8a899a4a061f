"""From Hydra's and OmegaConf's exceptions to sentences that name the key and the nearest valid name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError

from bakeoff.pipeline.config.messages.explain_deletion import explain_deletion
from bakeoff.pipeline.config.messages.explain_value import explain_value
from bakeoff.pipeline.config.options import GROUPS, read_options
from bakeoff.pipeline.config.own_options import explain_yaml_error, list_own_names
from bakeoff.pipeline.config.words.word_syntax import explain_syntax, quote_word
from bakeoff.pipeline.errors import UserError, did_you_mean

UNDELETED = "Could not delete from config."
"""How Hydra's message begins if a key that is to be deleted does not exist."""
SEARCH_PATH = "\nConfig search path"
"""How the lines of Hydra's messages begin that list folders."""
DATASET_GROUP = "dataset"
ROOT_FILE = "config"
"""The file of which Hydra says that it names the options of the command line."""
LISTS_OF_OWN = {"metric": "evaluation.metrics", "figure": "figures"}
"""Groups of the user's options alone -> the key whose list takes their names."""


def explain_error(error: Exception, words: Sequence[str] = (), composed: DictConfig | None = None) -> UserError:
    """Translate an exception that was raised while a configuration was composed.

    Parameters
    ----------
    error : Exception
        Of Hydra or OmegaConf; a `UserError` is returned unchanged.
    words : sequence of str
        The overrides of which it was composed.
    composed : DictConfig, optional
        What was composed so far; by default, it is composed again where a message needs it.

    Returns
    -------
    UserError
    """
    if isinstance(error, UserError):
        return error
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        place = re.match(r"In '(.*?)': ", str(error))
        is_in_file = place is not None and place[1] != ROOT_FILE
        sentence = _explain_option(str(error.missing_cfg_file), error.options)
        return UserError(f"{place[0] if place and is_in_file else ''}{sentence}")
    if isinstance(error, YAMLError):
        return UserError(explain_yaml_error(error))
    if isinstance(error, OverrideParseException):
        return UserError(explain_syntax(error.override, str(error)))
    # Hydra wraps OmegaConf's exceptions, and only the wrapped one knows the key.
    cause = error.__cause__ or error
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and isinstance(cause.parent_node, DictConfig):
        return UserError(_explain_unknown_key(str(cause.full_key), str(cause.key), cause.parent_node))
    if isinstance(cause, OmegaConfBaseException) and cause.full_key:
        return UserError(explain_value(cause, words))
    if isinstance(error, OSError) and error.filename is not None:
        reason = error.strerror or type(error).__name__
        return UserError(
            f"{str(error.filename)!r} cannot be used: {reason}; run the command in a folder that can be written."
        )
    return _explain_message(str(error).split(SEARCH_PATH)[0], words, composed)


def _explain_unknown_key(full_key: str, key: str, parent: DictConfig) -> str:
    known = [str(name) for name in parent if name != "_target_"]
    part = full_key.rpartition(".")[0]
    if part in GROUPS and not known:
        return f"{full_key} is not a key, because the option of {part} has none; choose another one with {part}=NAME."
    return f"{full_key} is not a key. {did_you_mean(key, known)}"


def _explain_message(message: str, words: Sequence[str], composed: DictConfig | None) -> UserError:
    """Translate an error of which Hydra gives nothing but a message."""
    deleted = re.match(rf"{re.escape(UNDELETED)} '(.*?)' does not exist", message)
    if deleted is not None:
        return UserError(explain_deletion(deleted[1], words, composed))
    other_value = re.match(rf"{re.escape(UNDELETED)} The value of '(.*?)' is (.*?) and not (.*?)\.$", message)
    if other_value is not None:
        key = other_value[1]
        return UserError(f"~{key}={other_value[3]}: {key} is {other_value[2]}; ~{key} leaves it out.")
    ambiguous = re.match(r"Ambiguous value for argument '(.*?)'\s+1\. To use it as a list", message, re.DOTALL)
    if ambiguous is not None:
        key, _, value = ambiguous[1].partition("=")
        return UserError(
            f"{ambiguous[1]} gives {key} several values; add -m for a job with each, or write a list, "
            f"{key}=[{value}], or a text in quotes, {quote_word(key, value)}."
        )
    group = re.search(r"Could not (?:override|delete) '(.*?)'|config group '(.*?)' does not exist", message)
    if group is not None:
        return _explain_group(group[1] or group[2])
    return UserError(" ".join(message.split()))


def _explain_group(given: str) -> UserError:
    """Say of a word that it chooses no group of options, and name the nearest one."""
    name, _, option = given.partition("=")
    if name in LISTS_OF_OWN:
        return UserError(f"{name}= is not a key; name your {name} in the list {LISTS_OF_OWN[name]}=[NAME].")
    if name in GROUPS:
        return UserError(f"~{given}: {name}={option} is not chosen; leave the word out.")
    return UserError(f"{given}: there is no such group of options. {did_you_mean(name, GROUPS)}")


def _explain_option(given: str, options: Sequence[str] | None) -> str:
    """Name the nearest option of a group, or the keys of a file that was given in place of one."""
    group, _, option = given.partition("/")
    is_file = group == DATASET_GROUP and (Path(option).suffix or Path(option).is_file())
    if is_file:
        return (
            f"{group}={option} is not an option; a file is given by dataset=file dataset.path={option} "
            "dataset.target=COLUMN."
        )
    group, _, option = given.rpartition("/")
    options = options or list_names(group)
    return f"{group}={option} is not an option. {did_you_mean(option, options)}"


def list_names(group: str) -> list[str]:
    """Return the names of the options of a group, those of the user included."""
    return [*read_options(group), *list_own_names(group)]
