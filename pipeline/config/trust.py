"""Trust: the packages of the user whose code may run.

It is read here, at the doors of bakeoff, from the three places where only the user writes: the words of the command,
the argument ``trust`` of a call of Python, and an environment variable. From there it travels as words and as values:
``trust=[mine]`` among the words of a job, ``spec["trust"]`` in its settled configuration, and an argument ``trust`` of
what reads a store or a model. Nothing else grants it: `bakeoff.pipeline.config.guard` refuses files that do.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import bakeoff
from bakeoff.pipeline.errors import UserError

TRUST_KEY = "trust"
TRUST_VARIABLE = "BAKEOFF_TRUST"
"""The environment variable with names of packages, separated by commas."""
PLUGIN_PACKAGE = "hydra_plugins"
_PACKAGE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def read_trust(given: str | Sequence[str] = "") -> tuple[str, ...]:
    """Return the packages that the user trusts: those that are given, and those of the environment.

    Parameters
    ----------
    given : str or sequence of str
        The value of ``trust=`` on the command line, such as ``[mine,theirs]``, or the names of a call of Python.

    Raises
    ------
    UserError
        A name cannot be that of a package.

    Examples
    --------
    >>> read_trust("[mine, theirs]"), read_trust("mine"), read_trust(["mine"]), read_trust()
    (('mine', 'theirs'), ('mine',), ('mine',), ())
    """
    names = _split_names(given) if isinstance(given, str) else list(given)
    return tuple(dict.fromkeys([*_require_names(names, TRUST_KEY), *read_trust_of_environment()]))


def read_trust_of_environment() -> tuple[str, ...]:
    """Return the packages that the environment variable names.

    Raises
    ------
    UserError
        A name cannot be that of a package.
    """
    given = os.environ.get(TRUST_VARIABLE, "")
    return _require_names(_split_names(given), TRUST_VARIABLE) if given else ()


def read_trust_of_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the packages that the words of a command trust, and those of the environment.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides; the last ``trust=`` counts.

    Raises
    ------
    UserError
        A name cannot be that of a package.
    """
    given = [word.partition("=")[2] for word in words if is_trust_word(word)]
    return read_trust(given[-1]) if given else read_trust_of_environment()


def add_trust_of_environment(words: Sequence[str]) -> list[str]:
    """Return the words of an experiment or sweep, with the trust of the environment as a word.

    A single name is written as a list. As a word it is recorded with the run, and reaches workers and other machines
    like all other words.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides.

    Raises
    ------
    UserError
        The word ``trust=`` has several values, to which nothing can be added.
    """
    packages = read_trust_of_environment()
    if not packages:
        return [_write_as_list(word) if is_trust_word(word) else word for word in words]
    others = [word for word in words if not is_trust_word(word)]
    given = [word.partition("=")[2] for word in words if is_trust_word(word)]
    if given and "],[" in given[-1].replace(" ", ""):
        raise UserError(f"{TRUST_KEY}={given[-1]}: it has one value for all jobs, such as trust=[mine].")
    names = read_trust(given[-1] if given else "")
    # Hydra's parser takes no overrides after a flag.
    return [f"{TRUST_KEY}=[{','.join(names)}]", *others]


def is_trust_word(word: str) -> bool:
    """Whether an override sets what is trusted.

    Examples
    --------
    >>> is_trust_word("trust=[mine]"), is_trust_word("++trust.0=mine"), is_trust_word("trusted=1")
    (True, True, False)
    """
    return re.split(r"[=.@/]", word.lstrip("+~"))[0] == TRUST_KEY


def leave_out_current_folder() -> None:
    """Import Hydra's package of plugins without the one in the current folder, unless that is bakeoff's own.

    Hydra imports every module of this namespace package, whatever it is asked to compose. The current folder is on the
    import path, because parts of the user are there, so that a folder ``hydra_plugins/`` of somebody else would run.
    """
    known: Any = sys.modules.get(PLUGIN_PACKAGE)
    if known is not None:
        known.__path__ = [folder for folder in known.__path__ if not _is_in_current_folder(Path(folder).parent)]
        return
    elsewhere = [entry for entry in sys.path if not _is_in_current_folder(Path(entry))]
    spec = PathFinder.find_spec(PLUGIN_PACKAGE, elsewhere)
    if spec is None:
        return
    package: Any = importlib.util.module_from_spec(spec)
    # The path of a namespace package is made anew whenever the import path changes.
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules[PLUGIN_PACKAGE] = package


def _write_as_list(word: str) -> str:
    """Return ``trust=mine`` as the list that it stands for; other words as they are."""
    key, _, name = word.partition("=")
    is_name = key == TRUST_KEY and _PACKAGE.fullmatch(name)
    return f"{TRUST_KEY}=[{name}]" if is_name else word


def _split_names(text: str) -> list[str]:
    names = text.strip().removeprefix("[").removesuffix("]").split(",")
    unquoted = [name.strip().strip("'\"") for name in names]
    return [name for name in unquoted if name]


def _require_names(names: Sequence[str], key: str) -> tuple[str, ...]:
    for name in names:
        if not isinstance(name, str) or not _PACKAGE.fullmatch(name):
            raise UserError(f"{key}: {name!r} is not the name of a package; write names such as [mine,theirs].")
    return tuple(names)


def _is_in_current_folder(entry: Path) -> bool:
    here = Path.cwd()
    is_here = entry.absolute().resolve() == here.resolve()
    return is_here and here.resolve() != Path(bakeoff.__file__).parents[1].resolve()
