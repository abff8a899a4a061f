"""Identity of a run: a hash of everything that decides its result, and of nothing else.

Two runs with the same hash have the same scores. So the hash covers the settled configuration without its cosmetic
keys, the data, the seed, the versions of the numerical libraries, and the code of the learner and of all that it
imports. Code is hashed as syntax trees without docstrings, so that comments and formatting do not count; and the code
of the support vector machine does not count for k nearest neighbours.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

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
OWN_PACKAGE = "bakeoff"
HASHED_BY_VERSION = {"numpy": "numpy", "sklearn": "scikit-learn"}
"""Packages that are identified by their version instead of their code, and the names under which they are installed."""
LIBRARIES = {"xgboost": ("xgboost", "xgboost-cpu"), "lightgbm": ("lightgbm",)}
"""Packages of extras that learners use, and the names under which they may be installed."""
HASH_BYTES = 8


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
    return _hash_text(json.dumps(decisive, sort_keys=True, default=str))


def hash_config_code(spec: Mapping[str, Any]) -> str:
    """Return a fingerprint of the code that decides a run's result, without the code that loads the data."""
    targets = _iter_targets([spec[key] for key in DECISIVE_KEYS])
    return hash_code(frozenset(targets))


@cache
def hash_code(targets: frozenset[str]) -> str:
    """Return a fingerprint of the code of classes and functions, and of the core modules.

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
    target_modules = {module for target in targets if (module := _find_module(target)) is not None}
    packages = {_get_package(module) for module in target_modules} | {OWN_PACKAGE}
    hashed_packages = packages - HASHED_BY_VERSION.keys()
    # The code of a user's learner includes everything that it imports from its own package.
    roots = {module for module in target_modules if _get_package(module) in hashed_packages}
    modules = _collect_imports(roots | set(CORE_MODULES), hashed_packages)
    lines = [f"{module} {_hash_module(module)}" for module in sorted(modules)]
    lines += [f"{name}=={_get_version(name)}" for name in HASHED_BY_VERSION.values()]
    # The version of a library counts for the learners that use it, and the others keep their hashes.
    imported = {_get_package(name) for module in modules for name in _list_imports(module)}
    lines += [f"{name}=={_get_version(*LIBRARIES[name])}" for name in sorted(imported & LIBRARIES.keys())]
    return _hash_text("\n".join(lines))


def _iter_targets(node: Any) -> Iterator[str]:
    """Yield every ``_target_`` of a configuration, at any depth."""
    if isinstance(node, Mapping):
        if "_target_" in node:
            yield str(node["_target_"])
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


def _get_package(module: str) -> str:
    return module.split(".")[0]


def _collect_imports(roots: set[str], packages: set[str]) -> set[str]:
    """Return the modules and all that they import, at any depth, from the given packages."""
    collected: set[str] = set()
    unvisited = roots
    while unvisited:
        collected |= unvisited
        imported = {name for module in unvisited for name in _list_imports(module)}
        unvisited = {name for name in imported if _get_package(name) in packages} - collected
    return collected


@cache
def _parse_module(module: str) -> ast.Module:
    """Return the syntax tree of a module, without docstrings; an empty one if it has no source."""
    source = _find_source(module)
    tree = ast.parse("" if source is None else source.read_text())
    for node in _walk_statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return tree


def _walk_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the statements in it, at any depth."""
    # `ast.walk` would also visit the expressions, which are nine of ten nodes and contain no statements.
    yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            yield from _walk_statements(child)


@cache
def _find_source(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


@cache
def _list_imports(module: str) -> frozenset[str]:
    """Return the modules that a module imports; ``from a import b`` imports a.b if that is a module, else a."""
    imported: set[str] = set()
    for node in _walk_statements(_parse_module(module)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            # In other packages the search would import them, and their version identifies their code anyway.
            submodules: set[str] = set()
            if _get_package(node.module) == OWN_PACKAGE:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                submodules = {name for name in names if _find_source(name)}
            imported |= submodules or {node.module}
    return frozenset(imported)


@cache
def _hash_module(module: str) -> str:
    return _hash_text(ast.dump(_parse_module(module)))


def _get_version(*distributions: str) -> str:
    """Return the version of the first of some distributions that is installed."""
    for name in distributions:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "unknown"


def _hash_text(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=HASH_BYTES).hexdigest()
