"""Keyword arguments of the public functions: for a misspelled one, the error says which was meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

from bakeoff.pipeline.errors import UserError, did_you_mean, placing_errors
from bakeoff.pipeline.python.words import NESTING

P = ParamSpec("P")
R = TypeVar("R")
NO_CURES: Mapping[str, str] = {}
NAMED_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
PYTHON_KEYWORDS = ("config_dir", "dataset_name", "target", "verbose")
"""Those of functions that take further keys, and no keys of a configuration."""
MIN_SIMILARITY = 0.8
"""The least similarity, from 0 to 1, of a misspelled one: keys of configurations are less similar to each of them."""


def reject_unknown_keywords(cures: Mapping[str, str] = NO_CURES) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function raise UserError for a keyword that it does not have, and begin its errors with its name.

    Parameters
    ----------
    cures : mapping of str to str
        Keys of the command that the function does not have -> what to do in Python.

    Returns
    -------
    callable
        A decorator, which keeps the signature.

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
    """Reject keys that are misspelled keywords of `run` and `sweep`; other keys are checked with the configuration.

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
