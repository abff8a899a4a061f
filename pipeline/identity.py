"""Identity of a run: a hash of all that decides its result, and of nothing else.

Two runs with one hash give the same scores.  So the hash covers the settled configuration less cosmetics, the data,
the seed, the versions of the libraries that compute, and the code: of the learner that is named and of what it imports,
as syntax trees without docstrings, so that comments and formatting do not count, and the support vector machine's code
does not count for k nearest neighbours.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

DECISIVE = ("preprocessing", "learner", "tuning", "pruning", "evaluation", "seed")
"""Parts of the settled configuration that decide; the data stand for the dataset."""
LOOP = (
    "bakeoff.pipeline.experiment",
    "bakeoff.pipeline.stages.scoring",
    "bakeoff.pipeline.stages.splitting",
    "bakeoff.pipeline.stages.tuning",
    "bakeoff.pipeline.stages.pruning",
)
"""Modules through which every result goes."""
OURS = ("bakeoff",)
LIBRARIES = ("numpy", "scikit-learn")


def hash_config(spec: Mapping[str, Any], dataset_digest: str) -> str:
    """Fingerprint what decides a run's result: 16 hexadecimal digits.

    Parameters
    ----------
    spec : mapping
        The settled configuration; where it is stored, and the order of its keys, do not count.
    dataset_digest : str
        Stands for the data, wherever the file lies.
    """
    decisive = {key: spec[key] for key in DECISIVE} | {"dataset": dataset_digest, "code": hash_config_code(spec)}
    return _digest(json.dumps(decisive, sort_keys=True, default=str))


def hash_config_code(spec: Mapping[str, Any]) -> str:
    """Fingerprint the code that decides a run's result; the data's own does not, since the data stand for it."""
    return hash_code(frozenset(_targets([spec[key] for key in DECISIVE])))


@cache
def hash_code(targets: frozenset[str]) -> str:
    """Fingerprint the code behind the named classes and through which every result goes.

    Parameters
    ----------
    targets : frozenset of str
        Dotted names of classes and functions.

    Examples
    --------
    >>> majority, mean, svm = (
    ...     hash_code(frozenset({f"bakeoff.learners.{name}"}))
    ...     for name in ("MajorityClassifier", "MeanRegressor", "SVC")
    ... )
    >>> majority == mean, majority == svm
    (True, False)
    """
    homes = {home for target in targets if (home := _home(target)) is not None}
    packages = {home.split(".")[0] for home in homes}
    modules = set(LOOP) | {home for home in homes if home.split(".")[0] != "sklearn"}
    reached = _reach(modules, (*OURS, *packages - {"sklearn"}))
    texts = [f"{module} {_module_digest(module)}" for module in sorted(reached)]
    return _digest("\n".join([*texts, *(f"{name}=={_version(name)}" for name in LIBRARIES)]))


def _targets(node: Any) -> Iterator[str]:
    """Yield every ``_target_`` of a configuration."""
    if isinstance(node, Mapping):
        yield from [str(node["_target_"])] if "_target_" in node else []
        node = list(node.values())
    if isinstance(node, list | tuple):
        for child in node:
            yield from _targets(child)


def _home(target: str) -> str | None:
    """Return the module where a class is written, which is not always the one that it is imported from."""
    package, _, name = target.rpartition(".")
    try:
        return str(getattr(getattr(importlib.import_module(package), name), "__module__", package))
    except (ImportError, AttributeError, ValueError):  # building it will say so
        return None


def _reach(modules: set[str], packages: tuple[str, ...]) -> set[str]:
    """Return the modules and all that they import, at any depth, from the given packages."""
    reached: set[str] = set()
    while modules:
        reached |= modules
        imported = {name for module in modules for name in _imports(module) if name.split(".")[0] in packages}
        modules = imported - reached
    return reached


@cache
def _tree(module: str) -> ast.Module:
    """Return the syntax of a module, without docstrings; an empty one where there is no source to read."""
    source = _source(module)
    tree = ast.parse("" if source is None else source.read_text())
    for node in _blocks(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return tree


def _blocks(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the statements in it, at any depth; not their expressions, which are nine nodes of ten."""
    yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            yield from _blocks(child)


@cache
def _source(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


@cache
def _imports(module: str) -> frozenset[str]:
    """Return the modules that a module imports: of ``from a import b`` the module a.b if there is one, else a."""
    found: set[str] = set()
    for node in _blocks(_tree(module)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            inner = {f"{node.module}.{name.name}" for name in node.names} if node.module.split(".")[0] in OURS else ()
            found |= {name for name in inner if _source(name)} or {node.module}
    return frozenset(found)


@cache
def _module_digest(module: str) -> str:
    return _digest(ast.dump(_tree(module)))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
