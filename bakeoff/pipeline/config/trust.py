"""Trust: the packages whose code may run, and the Hydra settings that a file may contain.

Trust is read here from the three sources that only the user controls: the words of the command, the argument ``trust``
of a Python call, and an environment variable. It is passed on as words and as values:
``trust=[mine]`` among the words of a job, ``spec["trust"]`` in its settled configuration, and an argument ``trust`` of
functions that read a store or a model.

A configuration by somebody else may also contain settings of Hydra itself: the classes that it creates, its log, the
folders to which it writes, and the variables that it sets. `require_allowed_files` rejects files that grant trust, or
contain settings of Hydra that `_is_allowed` does not list. The words of the command are the user's, and are not
restricted.
"""

import importlib.util
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.targets import name_key, walk
from bakeoff.pipeline.config.words import find_part, read_list
from bakeoff.pipeline.errors import UserError

TRUST_KEY = "trust"
TRUST_VARIABLE = "BAKEOFF_TRUST"
"""The environment variable with names of packages, separated by commas."""
PLUGIN_PACKAGE = "hydra_plugins"
_PACKAGE = re.compile(r"(?!(null|true|false)$)[^\W\d]\w*")
PARAMETER = re.compile(r"hydra\.sweeper\.params(?:\[\d+\])?\.((\+{1,2}(?!hydra\b))?[^\W\d_][^\s=]*)")
"""A key that a sweep varies; Hydra's keys without a sign are rejected, with the cure, when the sweep is planned."""
SWEEPS_FOLDER = re.compile(r"outputs/(sweeps/)?(?!(artifacts|sweeps|runs)$)[\w.-]*[\w-]")
"""A plain name for a folder next to the folders named by time; ``artifacts`` contains the files of a store."""
LAUNCHER_SETTING = re.compile(r"hydra\.launcher\.(?:ray\.(?:init\.|remote\.)?)?([A-Za-z]\w*)")
CLUSTER_NAMES = ("partition", "qos", "account", "constraint", "exclude", "gres", "comment", "mem_per_cpu", "name")
"""Keys of a launcher with texts that select resources of a cluster."""
CLUSTER_NAME = re.compile(r"[\w.,:@+*\[\]-]*")
"""Slurm scripts contain these texts, in which a line break would end the comment and start a command."""
HYDRA_KEY = re.compile(r"hydra($|[.\[])")
FREE_SETTING = re.compile(
    r"hydra\.(mode|sweeper\.(sampler|pruner)([.\[].*)?|sweeper\.(?!params|storage)[A-Za-z]\w*(\[\d+\])*)", re.DOTALL
)
"""Settings with any value. The names in a sampler or pruner are checked like those of an experiment."""
OWN_PLUGINS = (
    "bakeoff.pipeline.sweep.plugin.",
    "bakeoff.pipeline.commands.search.command.",
    "bakeoff.pipeline.sweep.launcher.",
)
BASIC_LAUNCHER = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
MAX_REPEATED = 1_000_000
"""The maximum product of the numbers of references in texts, each of which may repeat a text that repeats others."""


def read_trust(given: str | Sequence[str] = "") -> tuple[str, ...]:
    """Return the packages that the user trusts: the given packages and those named by the environment.

    Parameters
    ----------
    given : str or sequence of str
        The value of ``trust=`` on the command line, such as ``[mine,theirs]``, or the names in a Python call.

    Raises
    ------
    UserError
        A name cannot be the name of a package.

    Examples
    --------
    >>> read_trust("[mine, theirs]"), read_trust("mine"), read_trust(["mine"]), read_trust()
    (('mine', 'theirs'), ('mine',), ('mine',), ())
    """
    named = read_list(given) if isinstance(given, str) else given
    names = [*named, *read_list(os.environ.get(TRUST_VARIABLE, ""))]
    for name in names:
        if not _PACKAGE.fullmatch(str(name)):
            raise UserError(f"{TRUST_KEY}: {name!r} is not the name of a package; write names such as [mine,theirs].")
    return tuple(dict.fromkeys(names))


def read_trust_of_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the packages trusted by the arguments of a command or by the environment.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides; the last ``trust=`` takes precedence.

    Raises
    ------
    UserError
        A name cannot be the name of a package.
    """
    given = [word.partition("=")[2] for word in words if is_trust_word(word)]
    return read_trust(given[-1] if given else "")


def add_trust_of_environment(words: Sequence[str]) -> list[str]:
    """Return the words of an experiment or sweep, with all trusted packages in one word, including the environment's.

    As a word, they are recorded with the run and passed to workers and other machines like all other words.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides.

    Raises
    ------
    UserError
        A name cannot be the name of a package.
    """
    names = read_trust_of_words(words)
    others = [word for word in words if not is_trust_word(word)]
    # Hydra's parser takes no overrides after a flag.
    return [f"{TRUST_KEY}=[{','.join(names)}]", *others] if names else others


def is_trust_word(word: str) -> bool:
    """Whether an override sets the trusted packages.

    Examples
    --------
    >>> is_trust_word("trust=[mine]"), is_trust_word("++trust.0=mine"), is_trust_word("trusted=1")
    (True, True, False)
    """
    return find_part(word) == TRUST_KEY


def leave_out_current_folder() -> None:
    """Import Hydra's package of plugins without the one in the current folder.

    Hydra imports every module of this namespace package, whatever it composes. The current folder is on the import path
    because it contains user-defined parts, so somebody else's ``hydra_plugins/`` folder in it would run.
    """
    here = Path.cwd().resolve()
    elsewhere = [entry for entry in sys.path if Path(entry).resolve() != here]
    found = PathFinder.find_spec(PLUGIN_PACKAGE, elsewhere)
    spec = found or ModuleSpec(PLUGIN_PACKAGE, None, is_package=True)
    package: Any = sys.modules.setdefault(PLUGIN_PACKAGE, importlib.util.module_from_spec(spec))
    # The path of a namespace package is recomputed whenever the import path changes.
    package.__path__ = list(spec.submodule_search_locations or ())


def require_allowed_files(files: Sequence[tuple[str, Mapping[Any, Any]]], words: Sequence[str]) -> None:
    """Reject files with settings that only the command may contain, or with references that multiply texts.

    Parameters
    ----------
    files : sequence of (str, mapping)
        The names and the contents of the user's files, from the root of the configuration; nothing is resolved.
    words : sequence of str
        The words of the command.

    Raises
    ------
    UserError
    """
    values = [(name, path, value) for name, content in files for path, value in walk(content)]
    counts = [value.count("${") for _, _, value in values if isinstance(value, str)]
    if math.prod(max(count, 1) for count in counts) > MAX_REPEATED:
        names = ", ".join(name for name, _ in files)
        raise UserError(f"{names}: texts with several references ${{...}} would multiply; write the values out.")
    given = read_trust_of_words(words)
    for name, path, value in values:
        key = name_key(path)
        if not (_is_trusted(value, given) if key == TRUST_KEY else _is_allowed(key, value)):
            raise UserError(
                f"{key} is set in {name}, but may only be set on the command line: remove it from the file and, if it "
                f"is intended, add {key}=VALUE to the command."
            )


def require_own_classes(hydra: Mapping[str, Any]) -> None:
    """Reject composed settings that would make Hydra call code that is not shipped with bakeoff.

    Parameters
    ----------
    hydra : mapping
        Plain values.

    Raises
    ------
    UserError
    """
    if hydra.get("callbacks"):
        raise UserError("hydra.callbacks is not supported, because Hydra would call arbitrary code; remove the key.")
    for part in ("sweeper", "launcher"):
        target = str(hydra[part]["_target_"])
        if not target.startswith(OWN_PLUGINS) and target != BASIC_LAUNCHER:
            raise UserError(f"hydra.{part}._target_={target} is not part of bakeoff; remove the key.")


def _is_trusted(trust: Any, given: Sequence[str]) -> bool:
    """Return whether the command trusts all packages in a file; a reference would hide names from its readers."""
    return isinstance(trust, list) and set(map(str, trust)) <= set(given)


def _is_allowed(key: str, value: Any) -> bool:
    """Return whether a file may contain a value at a key."""
    if not HYDRA_KEY.match(key) or isinstance(value, Mapping | list | tuple):
        return True
    if key == "hydra.sweep.dir":
        return SWEEPS_FOLDER.fullmatch(str(value)) is not None
    if parameter := PARAMETER.fullmatch(key):
        return not is_trust_word(parameter[1])
    if setting := LAUNCHER_SETTING.fullmatch(key):
        is_cluster_name = setting[1] in CLUSTER_NAMES and CLUSTER_NAME.fullmatch(str(value)) is not None
        return is_cluster_name or not isinstance(value, str)
    return FREE_SETTING.fullmatch(key) is not None
