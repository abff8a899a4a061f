"""Identity of a run: a hash of everything that decides its result, and of nothing else.

Two runs with the same hash have the same scores. So the hash covers the settled configuration without its cosmetic
keys, the data, the seed, the versions of the numerical libraries, and the code of the learner and of all that it
imports (`bakeoff.pipeline.source_code`). Code is hashed as syntax trees without docstrings, so that comments and
formatting do not count; and the code of the support vector machine does not count for k nearest neighbours.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bakeoff.pipeline.code_surroundings import SourceFile, list_surroundings, looks_like_file
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.notebook_code import list_notebook_code
from bakeoff.pipeline.source_code import (
    CACHED,
    OWN_PACKAGE,
    collect_imports,
    find_source,
    get_package,
    get_package_version,
    get_version,
    hash_file,
    hash_module,
    hash_text,
    is_installed,
    is_of_user,
    keep_syntax,
    list_imports,
)
from bakeoff.pipeline.text.secrets import expand_public_references

DECISIVE_KEYS = (
    "preprocessing", "learner", "tuning", "pruning", "balance", "target", "calibration", "threshold", "evaluation",
    "seed",
)  # fmt: skip
"""Keys of the settled configuration that decide the result; the dataset is represented by its digest."""
CORE_MODULES = (
    "bakeoff.pipeline.experiment",
    "bakeoff.pipeline.stages.scoring",
    "bakeoff.pipeline.stages.splitting",
    "bakeoff.pipeline.stages.tuning",
    "bakeoff.pipeline.stages.pruning",
)
"""Modules that every result depends on."""
HASHED_BY_VERSION = {"numpy": "numpy", "sklearn": "scikit-learn"}
"""Packages that are identified by their version instead of their code, and the names under which they are installed."""
LIBRARIES = {"xgboost": ("xgboost", "xgboost-cpu"), "lightgbm": ("lightgbm",)}
"""Packages of extras that learners use, and the names under which they may be installed."""
TARGET_KEY = "_target_"


def hash_config(spec: Mapping[str, Any], dataset_digest: str) -> str:
    """Return a fingerprint of everything that decides a run's result: 16 hexadecimal digits.

    Parameters
    ----------
    spec : mapping
        The settled configuration; the order of its keys, and where the run is stored, do not count.
    dataset_digest : str
        Represents the data, wherever the file is.
    """
    decisive = {key: spec[key] for key in DECISIVE_KEYS}
    decisive["dataset"] = dataset_digest
    decisive["code"] = hash_config_code(spec)
    # A setting that an environment variable has decides the result; a secret does not, and nobody can guess it.
    text = expand_public_references(json.dumps(decisive, sort_keys=True, default=str))
    return hash_text(text)


def hash_config_code(spec: Mapping[str, Any]) -> str:
    """Return a fingerprint of the code that decides a run's result, without the code that loads the data.

    The content of files that the configuration names, such as ``learner.vocabulary=words.txt``, counts as code.
    """
    parts = [spec[key] for key in DECISIVE_KEYS]
    code = hash_code(frozenset(_iter_targets(parts)))
    files = sorted({f"file {name} {hash_file(Path(name))}" for name in _iter_files(parts)})
    return hash_text("\n".join([code, *files])) if files else code


def hash_code(targets: frozenset[str]) -> str:
    """Return a fingerprint of the code of classes and functions, of what it reads, and of the core modules.

    Parameters
    ----------
    targets : frozenset of str
        Dotted names.

    Examples
    --------
    >>> majority, mean, svm = (
    ...     hash_code(frozenset({f"bakeoff.learners.{name}"}))
    ...     for name in ("MajorityClassifier", "MeanRegressor", "SVC")
    ... )
    >>> majority == mean, majority == svm
    (True, False)
    """
    traced = trace_code(targets)
    # Variables and files may change while the process runs, as in a notebook.
    surroundings = [line for module in traced.user_modules for line in list_surroundings(module)]
    return hash_text("\n".join([*traced.lines, *surroundings, *list_notebook_code(targets)]))


@dataclass(frozen=True)
class TracedCode:
    """The code that some targets depend on.

    Attributes
    ----------
    lines : tuple of str
        A fingerprint of each module, and the versions of libraries.
    user_modules : tuple of str
        The modules of the user among them.
    files : tuple of SourceFile
        Of these modules.
    """

    lines: tuple[str, ...]
    user_modules: tuple[str, ...]
    files: tuple[SourceFile, ...]

    def has_reloaded(self) -> bool:
        """Return whether code of the user was changed and loaded again.

        Raises
        ------
        UserError
            It was changed and not loaded again: a run would be stored as one of code that did not run.
        """
        changed = [file for file in self.files if file.has_changed()]
        stale = [file for file in changed if file.is_loaded_as_before()]
        if stale:
            raise UserError(
                f"{stale[0].path} was changed after this process had imported it; start the process again (restart "
                "the kernel of a notebook), so that the code that runs is the code that is recorded."
            )
        return bool(changed)


@cache
def trace_code(targets: frozenset[str]) -> TracedCode:
    """Return the code that some targets depend on; once per process, because modules are loaded once.

    Parameters
    ----------
    targets : frozenset of str
        Dotted names.
    """
    target_modules = {module for target in targets if (module := _find_module(target)) is not None}
    packages = {get_package(module) for module in target_modules} | {OWN_PACKAGE}
    hashed_packages = packages - HASHED_BY_VERSION.keys()
    roots = {module for module in target_modules if get_package(module) in hashed_packages}
    modules = sorted(collect_imports(roots | set(CORE_MODULES), hashed_packages))
    lines = [f"{module} {hash_module(module)}" for module in modules]
    keep_syntax()
    user_modules = tuple(module for module in modules if is_of_user(module))
    lines += _list_versions(modules, user_modules, hashed_packages)
    sources = {module: source for module in user_modules if (source := find_source(module)) is not None}
    files = tuple(SourceFile.read(module, source) for module, source in sources.items())
    return TracedCode(tuple(lines), user_modules, files)


def _list_versions(modules: Sequence[str], user_modules: Sequence[str], hashed_packages: Set[str]) -> list[str]:
    """Return a line for each package whose version counts.

    Parameters
    ----------
    modules : sequence of str
        Those that are hashed.
    user_modules : sequence of str
        Those among them that the user has written.
    hashed_packages : set of str
        The packages of the hashed modules.
    """
    lines = [f"{name}=={get_version(name)}" for name in HASHED_BY_VERSION.values()]
    # The version of a library counts for the learners that use it, and the others keep their hashes.
    imported = _list_packages(modules)
    lines += [f"{name}=={get_version(*LIBRARIES[name])}" for name in sorted(imported & LIBRARIES.keys())]
    # What code of the user does depends on what it imports, and that of a plugin is not followed into its last file.
    used = _list_packages(user_modules) | hashed_packages
    installed = {name for name in used if is_installed(name)} - HASHED_BY_VERSION.keys() - LIBRARIES.keys()
    return lines + [f"{name}=={get_package_version(name)}" for name in sorted(installed)]


def _list_packages(modules: Sequence[str]) -> set[str]:
    """Return the packages that modules import."""
    return {get_package(name) for module in modules for name in list_imports(module)}


def require_current_code(spec: Mapping[str, Any]) -> None:
    """Check, before jobs are planned, that the user's code that this process has loaded is the one in its files.

    While jobs run the files may change, because modules are loaded once. Code that was loaded again is read again.

    Parameters
    ----------
    spec : mapping
        The settled configuration of a job.

    Raises
    ------
    UserError
        Code was changed and not loaded again.
    """
    targets = _iter_targets([spec[key] for key in DECISIVE_KEYS])
    if trace_code(frozenset(targets)).has_reloaded():
        forget_code()


def forget_code() -> None:
    """Forget all code that was read, because some of it has changed."""
    for function in (trace_code, *CACHED):
        function.cache_clear()


def _iter_files(node: Any, key: str = "") -> Iterator[str]:
    """Yield the values of a configuration that are paths of files."""
    if isinstance(node, Mapping):
        for name, child in node.items():
            yield from _iter_files(child, str(name))
    elif isinstance(node, list | tuple):
        for child in node:
            yield from _iter_files(child, key)
    elif isinstance(node, str) and key != TARGET_KEY and looks_like_file(node) and Path(node).is_file():
        yield node


def _iter_targets(node: Any) -> Iterator[str]:
    """Yield every ``_target_`` of a configuration, at any depth."""
    if isinstance(node, Mapping):
        if TARGET_KEY in node:
            yield str(node[TARGET_KEY])
        children = list(node.values())
    elif isinstance(node, list | tuple):
        children = list(node)
    else:
        return
    for child in children:
        yield from _iter_targets(child)


def _find_module(target: str) -> str | None:
    """Return the module that defines a class or function, which need not be the one that it is imported from."""
    package, _, name = target.rpartition(".")
    try:
        found = getattr(importlib.import_module(package), name)
    except (ImportError, AttributeError, ValueError):
        return None  # building the object will raise the error
    # The __module__ of an object that is neither, such as a scorer, is that of its class.
    is_definition = inspect.isclass(found) or inspect.isroutine(found)
    return str(getattr(found, "__module__", package)) if is_definition else package
