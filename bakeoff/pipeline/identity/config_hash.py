"""The hash of a job: two jobs with the same hash have the same scores.

It covers the settled configuration without its cosmetic keys, the data, the seed, the versions of the numerical
libraries, the parts of bakeoff's code that affect results, and user-defined code. Those parts are the files of the
learner's family, the stages and the experiment; a test ensures that these folders import only a short list of other
bakeoff modules. For example, an edit of k nearest neighbours changes the hashes of its jobs, but of no others.
"""

import json
import os
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.identity.source_code import (
    MAIN,
    OWN_PACKAGE,
    UserModule,
    find_module,
    find_modules,
    find_source,
    follow_imports,
    forget_code,
    get_finder,
    get_package,
    hash_bytes,
    hash_text,
    is_of_user,
)
from bakeoff.pipeline.text.secrets import expand_public_references
from bakeoff.version import PACKAGE_FOLDER

DECISIVE_KEYS = (
    "preprocessing", "learner", "tuning", "pruning", "balance", "target", "calibration", "threshold", "evaluation",
    "seed",
)  # fmt: skip
"""Keys of the settled configuration that determine the result; the dataset is represented by its digest."""
DISTRIBUTIONS = {"numpy": ("numpy",), "sklearn": ("scikit-learn",)}
"""The packages whose versions affect every job, and the names under which they may be installed."""
TARGET_KEY = "_target_"
SHARED_PLACES = ("pipeline/experiment", "pipeline/stages")
BASE = "base"
"""The folder on which every family of learners is built."""
DEFINITIONS = "definitions"
"""The folder of the algorithms as presented in the lectures, which no job runs."""


def hash_config(spec: Mapping[str, Any], dataset_digest: str, code: str = "") -> str:
    """Return a digest of everything that determines a job's result: 16 hexadecimal digits.

    Parameters
    ----------
    spec : mapping
        The settled configuration; the order of its keys and the location of the store do not affect the hash.
    dataset_digest : str
        The digest of the data, which does not depend on the location of the file.
    code : str
        The result of `hash_config_code` if it is known.
    """
    decisive = _select_decisive(spec)
    decisive["dataset"] = dataset_digest
    decisive["code"] = code or hash_config_code(spec)
    # A setting in an environment variable affects the result; a secret does not, and must not be guessable.
    return hash_text(expand_public_references(json.dumps(decisive, sort_keys=True, default=str)))


def hash_config_code(spec: Mapping[str, Any]) -> str:
    """Return a digest of the code that determines a job's result, and of the files that its configuration names.

    Code in a notebook has no stable digest, so a new value is used each time and no job is mistaken for a finished one.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    """
    get_finder().trust(spec["trust"])
    targets = _list_targets(spec)
    if _list_of_notebook(targets):
        return secrets.token_hex(8)
    modules = find_modules(targets)
    code = follow_imports(modules).values()
    imported = {name for module in code for name in module.imports}
    # ``import bakeoff`` may use every learner.
    ours = {find_module(name) or OWN_PACKAGE for name in imported if get_package(name) == OWN_PACKAGE}
    families = list_families(ours | modules)
    lines = [hash_own_code(families), *_list_versions(targets, imported)]
    lines += [f"{module.name} {module.digest}" for module in code]
    files = {text for key, text in _iter_texts(_select_decisive(spec)) if key != TARGET_KEY and _names_file(text)}
    lines += sorted(f"file {name} {_hash_file(name)}" for name in files)
    return hash_text("\n".join(lines))


def list_families(modules: Iterable[str]) -> frozenset[str]:
    """Return the folders of ``learners/`` that contain the given modules, and the folders they depend on.

    Parameters
    ----------
    modules : iterable of str
        Dotted names; the name of a package above the folders denotes all of them.

    Examples
    --------
    >>> sorted(list_families(["bakeoff.learners.decision_tree.classifier", "sklearn.svm"]))
    ['base', 'decision_tree', 'trees']
    """
    from bakeoff import learners

    families: set[str] = set()
    for module in modules:
        package, *path = module.split(".")
        if package == OWN_PACKAGE and path[:1] in ([], ["learners"]):
            families |= set(path[1:2]) or _list_all_families()
    return frozenset(families | {below for family in families for below in (BASE, *learners.BUILT_ON.get(family, ()))})


@cache
def hash_own_code(families: frozenset[str], folder: Path = PACKAGE_FOLDER) -> str:
    """Return a digest of the stages, the experiment and families of learners, computed once per process.

    Parameters
    ----------
    families : frozenset of str
    folder : Path
        The folder that contains ``learners`` and ``pipeline``.
    """
    places = sorted([*SHARED_PLACES, *(f"learners/{family}" for family in families)])
    paths = [folder / place for place in places]
    files = [file for path in paths for file in sorted(path.rglob("*.py")) or [path.with_suffix(".py")]]
    # Read as text, so that the line ends of a checkout on Windows make no other code.
    lines = [f"{file.relative_to(folder).as_posix()} {hash_text(file.read_text('utf-8'))}" for file in files]
    return hash_text("\n".join(lines))


def _list_all_families() -> set[str]:
    children = (PACKAGE_FOLDER / "learners").iterdir()
    names = {path.stem for path in children if path.suffix == ".py" or (path / "__init__.py").exists()}
    return names - {"__init__", DEFINITIONS}


def require_current_code(spec: Mapping[str, Any]) -> None:
    """Check, before jobs are planned, that the loaded user-defined code matches its files.

    The files may change while jobs run, because modules are loaded only once. Reloaded code is read again.

    Parameters
    ----------
    spec : mapping
        The settled configuration of a job.

    Raises
    ------
    UserError
        Code was changed but not reloaded, so a run would be stored with code that did not run.
    """
    get_finder().trust(spec["trust"])
    code = follow_imports(find_modules(_list_targets(spec))).values()
    now = [UserModule.read(module.name, module.file) for module in code]
    changed = [(old, new) for old, new in zip(code, now, strict=True) if old.digest != new.digest]
    stale = [old for old, new in changed if old.loaded_spec is not None and old.loaded_spec is new.loaded_spec]
    if stale:
        raise UserError(
            f"{stale[0].file} was changed after this process imported it; restart the process (or the kernel of "
            "the notebook), so that the recorded code is the code that runs."
        )
    if changed:
        forget_code()


def describe_unidentified(spec: Mapping[str, Any]) -> list[str]:
    """Return a message for each class or function of a job that has no identity.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    """
    return [
        f"{target.removeprefix(f'{MAIN}.')} is defined in a notebook, so changes to its code cannot be detected: "
        "its jobs always run again."
        for target in _list_of_notebook(_list_targets(spec))
    ]


def _list_versions(targets: Set[str], imported: Set[str]) -> list[str]:
    """Return a line for each package whose version affects a job."""
    used = set(map(get_package, targets | imported)) - {OWN_PACKAGE} - sys.stdlib_module_names
    installed = {name for name in used if not is_of_user(name)}
    return [f"{name}=={get_package_version(name)}" for name in sorted(DISTRIBUTIONS.keys() | installed)]


@cache
def get_package_version(package: str) -> str:
    """Return the version of the distribution to which a package belongs; ``unknown`` if there is none."""
    for name in DISTRIBUTIONS.get(package) or (package, *sorted(packages_distributions().get(package, []))):
        with suppress(PackageNotFoundError):
            return version(name)
    return "unknown"


def _names_file(text: str) -> bool:
    """Return whether a string with an extension or a slash is the path of a file."""
    return ("/" in text or bool(Path(text).suffix)) and os.path.isfile(text)


def _hash_file(name: str) -> str:
    """Return a digest of the content of a file; empty if it cannot be read."""
    with suppress(OSError):
        return hash_bytes(Path(name).read_bytes())
    return ""


def _list_of_notebook(targets: Set[str]) -> list[str]:
    """Return the classes and functions that are not defined in a file, such as those of a notebook."""
    of_main = [target for target in sorted(targets) if get_package(target) == MAIN]
    return of_main if of_main and find_source(MAIN) is None else []


def _list_targets(spec: Mapping[str, Any]) -> frozenset[str]:
    """Return every ``_target_`` of a configuration, at any depth."""
    return frozenset(text for key, text in _iter_texts(_select_decisive(spec)) if key == TARGET_KEY)


def _select_decisive(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a settled configuration that determines the result, without the dataset."""
    return {key: spec[key] for key in DECISIVE_KEYS}


def _iter_texts(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the strings in a part of a configuration, each with the name of its key."""
    if isinstance(node, str):
        yield key, node
    elif isinstance(node, Mapping):
        for name, child in node.items():
            yield from _iter_texts(child, str(name))
    elif isinstance(node, list | tuple):
        for child in node:
            yield from _iter_texts(child, key)
