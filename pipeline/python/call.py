"""Common steps of Python calls: converting arguments to words, preserving the state of the process, and warning."""

from __future__ import annotations

import functools
import inspect
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from inspect import currentframe
from pathlib import Path
from threading import RLock
from typing import Any, ParamSpec, TypeVar

import numpy as np

from bakeoff.pipeline.config.compose_job import own_hydra_state
from bakeoff.pipeline.config.engine import SHIPPED_FILES, ConfigSource
from bakeoff.pipeline.config.options import GROUPS
from bakeoff.pipeline.config.trust import add_trust_of_environment
from bakeoff.pipeline.config.words import reject_passwords
from bakeoff.pipeline.errors import UserError, did_you_mean, placing_errors
from bakeoff.pipeline.stages.dataset.keys import LIST_KEYS
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.text.secrets import conceal_words
from bakeoff.pipeline.text.words import expand_home

NESTING = "__"
"""Replaces a dot in the name of a keyword argument, as in scikit-learn."""
SECOND_WORD = re.compile(r"^[^'\"\[{(]*\s[+~]*[\w./@]+=")
"""A word that contains another KEY=VALUE after a space."""
UNSWEPT_KEYS = ("trust", "figures", "space")
"""Keys whose lists are single values in a sweep."""
COLUMN_KEYS = tuple(f"dataset.{key}" for key in LIST_KEYS)
"""Keys that each job of a sweep needs as a list, so that a list of names is one value."""
CONFIG_FLAGS = ("--config-dir", "-cd")


def check_words(words: Sequence[Any]) -> list[str]:
    """Return the words of a call, with flags that apply in Python converted to overrides.

    Parameters
    ----------
    words : sequence of str
        Words of the command line, each as a separate text.

    Raises
    ------
    UserError
        A word is not a text, contains several KEY=VALUE, or is a flag that only the command line accepts.

    Examples
    --------
    >>> check_words(["learner=knn", "learner.n_neighbors=3"])
    ['learner=knn', 'learner.n_neighbors=3']
    """
    for word in words:
        if not isinstance(word, str):
            raise UserError(
                f"a value of type {type(word).__name__} was given as a word; words are texts such as 'learner=knn', "
                "and other values are given by key: dataset=frame."
            )
        if SECOND_WORD.match(word):
            raise UserError(f"{word!r} holds several KEY=VALUE; give each as a text of its own, with a comma between.")
        if word.startswith("-"):
            cure = "; give config_dir=FOLDER" if word.split("=")[0] in CONFIG_FLAGS else ""
            raise UserError(f"{word!r} is a flag of the command line{cure or ', which Python does not have'}.")
        if "=" not in word and not word.startswith("~"):
            raise UserError(f"{word!r} is not KEY=VALUE, such as learner=knn.")
    return list(words)


def read_words(words: Sequence[Any], keys: Mapping[str, Any], *, is_sweep: bool = False) -> list[str]:
    """Return the words and keywords of a call as words of a command line, without secrets.

    Parameters
    ----------
    words : sequence of str
    keys : mapping of str to object
        Keyword arguments, as for `make_words`.
    is_sweep : bool
        Whether a list has one value for each job.

    Raises
    ------
    UserError
        A keyword is misspelled, a value cannot be written in a configuration, or a word contains a password.
    """
    reject_misspelled_keywords(keys)
    given = add_trust_of_environment([*check_words(words), *make_words(keys, is_sweep)])
    reject_passwords(given)
    return conceal_words(given)[0]


def make_words(values: Mapping[str, Any], is_sweep: bool = False) -> list[str]:
    """Return keyword arguments as words of a command line.

    Parameters
    ----------
    values : mapping of str to object
        Key -> value, with two underscores or a dot between the parts of a key. The text of a group, such as
        ``learner``, is used unchanged, so that ``"knn,svm"`` and ``"glob(*)"`` have the same meaning as there; every
        other text is a value. A mapping sets several keys of a group.
    is_sweep : bool
        Whether a list has one value for each job. Lists of `UNSWEPT_KEYS`, and lists of names of `COLUMN_KEYS`, are one
        value. A list of lists contains a list for each job.

    Raises
    ------
    UserError
        A value cannot be written in a configuration.

    Examples
    --------
    >>> make_words({"learner": "knn", "learner__n_neighbors": 3, "evaluation": {"folds": 5}})
    ['learner=knn', 'learner.n_neighbors=3', 'evaluation.folds=5']
    >>> make_words({"learner": ["knn", "svm"], "seed": range(3)}, is_sweep=True)
    ['learner=knn,svm', 'seed=0,1,2']
    """
    words: list[str] = []
    for name, value in values.items():
        key = name.replace(NESTING, ".")
        if key in GROUPS and isinstance(value, Mapping):
            nested = {f"{key}.{child}": each for child, each in value.items()}
            words += make_words(nested, is_sweep)
        else:
            words.append(f"{key}={_write_value(key, value, is_sweep)}")
    return words


def _write_value(key: str, value: Any, is_sweep: bool) -> str:
    is_swept = is_sweep and key.split(".")[0] not in UNSWEPT_KEYS
    if not (is_swept and _is_list(value)):
        return _write_one(key, value)
    if key in COLUMN_KEYS and all(isinstance(item, str) for item in value):
        return _write_one(key, value)
    items = list(value)
    if not items:
        raise UserError(f"{key}=[] names nothing to run; give a list with a value for each job.")
    return ",".join(_write_one(key, item) for item in items)


def _write_one(key: str, value: Any) -> str:
    """Return one value in Hydra's grammar."""
    if key in GROUPS and isinstance(value, str):
        return value
    return override_text(_to_plain(key, value))


def _to_plain(key: str, value: Any) -> Any:
    """Convert a value to a type supported by YAML."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(child): _to_plain(key, each) for child, each in value.items()}
    if _is_list(value):
        return [_to_plain(key, each) for each in value]
    raise UserError(
        f"{key} was given a value of type {type(value).__name__}; give the name of an option, a number, a text, or a "
        f"list or mapping of these. A class of your own is named by {key.split('.')[0]}._target_, with trust=[PACKAGE]."
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | range | np.ndarray)


def find_source(folder: str | os.PathLike[str] | None) -> ConfigSource:
    """Return the files from which a call composes.

    Parameters
    ----------
    folder : path or None
        The folder with user-defined options.

    Raises
    ------
    UserError
        The folder does not exist.
    """
    if folder is None:
        return SHIPPED_FILES
    path = expand_home(folder).absolute()
    if not path.is_dir():
        raise UserError(f"config_dir={str(folder)!r} is not a folder (looked in {Path.cwd()}).")
    return ConfigSource(folder=str(path))


def write_command(words: Sequence[str], source: ConfigSource, *flags: str) -> str:
    """Return the command that is equivalent to a call."""
    folder = () if source.folder is None else (CONFIG_FLAGS[0], source.folder)
    return shlex.join(["bakeoff", *folder, *flags, *words])


P = ParamSpec("P")
R = TypeVar("R")
NO_CURES: Mapping[str, str] = {}
NAMED_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
PYTHON_KEYWORDS = ("config_dir", "dataset_name", "target", "verbose")
"""Keywords of functions with further keys that are not keys of a configuration."""
MIN_SIMILARITY = 0.8
"""The least similarity, from 0 to 1, of a misspelled one: keys of configurations are less similar to each of them."""


def reject_unknown_keywords(cures: Mapping[str, str] = NO_CURES) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function raise UserError for unknown keywords, and prefix its errors with its name.

    Parameters
    ----------
    cures : mapping of str to str
        Keys of the command that the function lacks -> the cure in Python.

    Returns
    -------
    callable
        A decorator that preserves the signature.

    Examples
    --------
    >>> @reject_unknown_keywords()
    ... def count(*, metrics=()):
    ...     return len(metrics)
    >>> count(metric=["f1"])
    Traceback (most recent call last):
    bakeoff.pipeline.errors.UserError: count: metric is not a keyword. Did you mean 'metrics'?
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters.values()
        known = [parameter.name for parameter in parameters if parameter.kind in NAMED_KINDS]

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with placing_errors(function.__name__):
                for name in kwargs:
                    if name not in known:
                        cure = f"{cures[name]}." if name in cures else did_you_mean(name, known)
                        raise UserError(f"{name} is not a keyword. {cure[0].upper()}{cure[1:]}")
                return function(*args, **kwargs)

        return call

    return decorate


def reject_misspelled_keywords(keys: Iterable[str]) -> None:
    """Reject misspelled keywords of `run` and `sweep`; other keys are checked with the configuration.

    Parameters
    ----------
    keys : iterable of str

    Raises
    ------
    UserError

    Examples
    --------
    >>> reject_misspelled_keywords(["learner", "dataset__name"])
    >>> reject_misspelled_keywords(["taget"])
    Traceback (most recent call last):
    bakeoff.pipeline.errors.UserError: taget is not a key. Did you mean 'target'?
    """
    for key in keys:
        if NESTING in key or "." in key:
            continue
        similar = get_close_matches(key, PYTHON_KEYWORDS, n=1, cutoff=MIN_SIMILARITY)
        if similar:
            raise UserError(f"{key} is not a key. Did you mean {similar[0]!r}?")


ONE_CALL = RLock()
"""Hydra, MLflow's settings and Python's warnings are global to the process, so calls wait for one another."""


@contextmanager
def own_process_state() -> Iterator[None]:
    """Run a block under the conditions of the command, and restore the state of the calling process.

    Environment variables, the search path of modules and the objects of Hydra are restored in any case. Blocks in other
    threads wait.
    """
    with ONE_CALL, _same_environment(), _folder_on_path(), own_hydra_state():
        yield


@contextmanager
def _same_environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        for name, value in before.items():
            if os.environ.get(name) != value:
                os.environ[name] = value


@contextmanager
def _folder_on_path() -> Iterator[None]:
    """Allow imports from the current folder, as the command does, for user-defined learners."""
    folder = os.getcwd()
    is_known = folder in sys.path or "" in sys.path
    if is_known:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


PACKAGE = Path(__file__).parents[2]


class BakeoffWarning(UserWarning):
    """A possible reason for wrong numbers, such as data left out, leaks, or warnings of a learner."""


def warn_of(notes: Iterable[str]) -> None:
    """Issue each note as a warning at the line that called bakeoff."""
    level = _count_own_frames()
    for note in notes:
        warnings.warn(note, BakeoffWarning, stacklevel=level)


def _count_own_frames() -> int:
    """Return the stack level of the line that called bakeoff."""
    frame = currentframe()
    level = 0
    while frame is not None and PACKAGE in Path(frame.f_code.co_filename).parents:
        frame = frame.f_back
        level += 1
    return level
