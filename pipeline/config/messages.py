"""From Hydra's and OmegaConf's exceptions to sentences that name the key, and the nearest valid name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException, ValidationError
from yaml import YAMLError

from bakeoff.pipeline.config.options import GROUPS, explain_yaml_error, list_own_names, read_options
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.terminal import show_in_line
from bakeoff.pipeline.text.words import cut_text

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
"""Keys with a declared type -> the values that each accepts."""
FUNCTIONS = (
    "choice(a,b,c)", "range(START,STOP,STEP)", "interval(START,END)", "glob(PATTERN,exclude=PATTERN)",
    "tag(log,interval(START,END))", "sort(a,b,reverse=true)", "shuffle(a,b,c)", "int(NUMBER)", "float(NUMBER)",
    "str(TEXT)", "bool(VALUE)",
)  # fmt: skip
"""The form of a call of a function of Hydra's grammar."""
KEY = re.compile(r"(\+\+?|~)?[A-Za-z_][\w$/-]*(\.[\w$/-]+)*(@[\w.]+)?", re.ASCII)
"""A key with its prefix."""
CALL = re.compile(r"\w+ while evaluating '(?P<name>\w+)\(.*': (?P<reason>[^\n]*)", re.DOTALL)
NO_GROUP = re.compile(r"Could not (?:override|delete) '(.*?)'|config group '(.*?)' does not exist")
LOST = "~{key}: {key} is not a key or is null already, so that nothing is left out; remove the word, or "
MESSAGES: Mapping[str, str] = {
    r"Could not delete from config\. '(?P<key>space\..*?)' does not exist": LOST + "write ~default_space.PARAMETER.",
    r"Could not delete from config\. '(?P<key>.*?)' does not exist": LOST + "`bakeoff --cfg job` shows the keys.",
    r"Could not delete from config\. The value of '(?P<key>.*?)' is (?P<value>.*?) and not (?P<given>.*?)\.$": (
        "~{key}={given}: {key} is {value}; ~{key} leaves it out."
    ),
    r"(?s)Ambiguous value for argument '(?P<key>.*?)=(?P<value>.*?)'\s+1\. To use it as a list": (
        "{key}={value} gives {key} several values; add -m for a job with each, or write a list, {key}=[{value}], or a "
        "text in quotes, {quoted}."
    ),
}
"""A message of Hydra -> its replacement."""
NO_REFERENCE = re.compile(r"Interpolation key '(.*?)' not found")
NEWEST_REASON = re.compile(r"raised while resolving interpolation: [\"']?(?P<reason>.*?)[\"']?$")
SEARCH_PATH = "\nConfig search path"
"""The beginning of the lines that list folders in Hydra's messages."""
MAX_SHOWN_CHARACTERS = 200
"""Maximum length of a word that a message repeats."""
DATASET_GROUP = "dataset"
ROOT_FILE = "config"
"""The file that lists the command-line options according to Hydra's messages."""
LISTS_OF_OWN = {"metric": "evaluation.metrics", "figure": "figures"}
"""Groups that only have user-defined options -> the key whose list contains their names."""


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
    if isinstance(error, OverrideParseException):
        return UserError(explain_syntax(error.override, str(error)))
    # Hydra wraps OmegaConf's exceptions, and only the wrapped one contains the key.
    cause = error.__cause__ or error
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and isinstance(cause.parent_node, DictConfig):
        return UserError(_explain_unknown_key(str(cause.full_key), str(cause.key), cause.parent_node))
    if isinstance(cause, OmegaConfBaseException) and cause.full_key:
        return UserError(_explain_value(cause, words))
    if isinstance(error, OSError) and error.filename is not None:
        reason = error.strerror or type(error).__name__
        return UserError(
            f"{str(error.filename)!r} cannot be used: {reason}; run the command in a folder that can be written."
        )
    return UserError(_explain_message(str(error).split(SEARCH_PATH)[0]))


def explain_syntax(word: str, problem: str) -> str:
    """Return a sentence about a word that Hydra's grammar rejects, with the cure.

    Parameters
    ----------
    word : str
    problem : str
        The message of Hydra's parser.

    Examples
    --------
    >>> explain_syntax("seed", "missing EQUAL at '<EOF>'")
    "'seed' has no value; write seed=VALUE."
    """
    key, equals, value = word.partition("=")
    call = CALL.search(problem)
    if call is not None:
        reason = call["reason"].rstrip(".")
        return f"{show(word)}: {reason}; functions are {', '.join(FUNCTIONS)}. A text is quoted: {_quote(key, value)}."
    if not KEY.fullmatch(key):
        without_spaces = "".join(word.split())
        cure = f"write {show(without_spaces)}" if KEY.match(without_spaces) else "write KEY=VALUE, as in learner=knn"
        return f"{show(word)!r}: {show(key)!r} is not the name of a key, which has neither spaces nor signs; {cure}."
    if not equals:
        return f"{word!r} has no value; write {key}=VALUE."
    if value.startswith("="):
        return f"{show(word)} has two equality signs; write {key}={value.lstrip('=')}."
    return (
        f"{show(word)}: brackets must be closed, and no value beside a comma is empty; a text with commas, brackets or "
        f"other signs is quoted: {_quote(key, value)}."
    )


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
    missing = NO_REFERENCE.search(reason)
    if missing is not None:
        suggestion = did_you_mean(missing[1], [str(known) for known in composed])
        return f"{key} refers to {missing[1]}, which is not a key. {suggestion}"
    newest = NEWEST_REASON.search(reason)
    return f"{key}: {newest['reason'] if newest else reason}; a reference is ${{KEY}} or ${{oc.env:NAME}}."


def show(text: str) -> str:
    """Return a word on one line, without unprintable characters, shortened to fit a message."""
    return cut_text(show_in_line(text), MAX_SHOWN_CHARACTERS)


def _quote(key: str, value: str) -> str:
    """Return a word whose value is a quoted text, as written in a shell."""
    value = show(value)
    quote, shell = ("'", '"') if "'" in value else ('"', "'")
    escaped = value.replace(quote, f"\\{quote}")
    return f"{shell}{key}={quote}{escaped}{quote}{shell}"


def _explain_missing_option(error: MissingConfigException) -> str:
    """Return a sentence with the nearest option of a group, or the keys of a file given in place of an option."""
    given = str(error.missing_cfg_file)
    group, _, option = given.partition("/")
    if group == DATASET_GROUP and (Path(option).suffix or Path(option).is_file()):
        return (
            f"{group}={option} is not an option; a file is given by dataset=file dataset.path={option} "
            "dataset.target=COLUMN."
        )
    group, _, option = given.rpartition("/")
    place = re.match(r"In '(.*?)': ", str(error))
    file = place[0] if place and place[1] != ROOT_FILE else ""
    options = error.options or [*read_options(group), *list_own_names(group)]
    return f"{file}{group}={option} is not an option. {did_you_mean(option, options)}"


def _explain_unknown_key(full_key: str, key: str, parent: DictConfig) -> str:
    known = [str(name) for name in parent if name != "_target_"]
    part = full_key.rpartition(".")[0]
    if part in GROUPS and not known:
        return f"{full_key} is not a key, because the option of {part} has none; choose another one with {part}=NAME."
    return f"{full_key} is not a key. {did_you_mean(key, known)}"


def _explain_value(error: OmegaConfBaseException, words: Sequence[str]) -> str:
    """Return a sentence about an invalid value of a key, which may come from one of the words."""
    key = str(error.full_key)
    given = _find_word(key, words)
    if key in ALLOWED and isinstance(error, ValidationError):
        value = "" if given else f" (given in a file: {show(str(error.value))})"
        return f"{given or key} must be {ALLOWED[key]}{value}."
    reason = str(error).splitlines()[0].rstrip(".")
    return f"{f'{given}: ' if given else ''}{key}: {reason}."


def _find_word(key: str, words: Sequence[str]) -> str:
    """Return the last word that sets a key or one below it; empty if there is none."""
    for word in reversed(words):
        name = word.lstrip("+~").partition("=")[0]
        if name == key or name.startswith(f"{key}."):
            return show(word)
    return ""


def _explain_message(message: str) -> str:
    """Translate an error that consists of nothing but a message of Hydra."""
    for form, sentence in MESSAGES.items():
        if match := re.match(form, message):
            given = match.groupdict()
            return sentence.format(**given, quoted=_quote(given["key"], given.get("value", "")))
    if group := NO_GROUP.search(message):
        return _explain_group(group[1] or group[2])
    return " ".join(message.split())


def _explain_group(given: str) -> str:
    """Return a sentence about a word that names no group of options, with the nearest group."""
    name, _, option = given.partition("=")
    if name in LISTS_OF_OWN:
        return f"{name}= is not a key; name your {name} in the list {LISTS_OF_OWN[name]}=[NAME]."
    if name in GROUPS:
        return f"~{given}: {name}={option} is not chosen; leave the word out."
    return f"{given}: there is no such group of options. {did_you_mean(name, GROUPS)}"
