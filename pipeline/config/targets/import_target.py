"""From a dotted name, which was checked as text, to the class or function: the one place that imports by name."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bakeoff.pipeline.config.targets.known_targets import COLUMN_SELECTOR, KNOWN_PACKAGES
from bakeoff.pipeline.config.targets.target_names import require_name
from bakeoff.pipeline.errors import MissingPackage, UserError, did_you_mean

EXTRAS = {"imblearn": "imbalance", "xgboost": "xgboost", "lightgbm": "lightgbm"}
"""Packages that need not be installed, and the extras of bakeoff that install them."""
OWN_PACKAGE = "bakeoff"
METRICS_MODULE = "sklearn.metrics"
TRUE_VALUES = ("y_true", "labels_true", "y1")
"""The first parameter of each metric of scikit-learn."""
KIND_MARKS = ("get_params", "get_n_splits", "fit_resample", "sample_independent", "prune")
"""Estimators and kernels have the first; splitters, samplers of rows, and Optuna's samplers and pruners the others."""
ABSENT = object()


def find_target(target: Any, key: str, trust: Sequence[str]) -> Any:
    """Return the class or function of a dotted name; it can be used.

    Parameters
    ----------
    target : object
        The name, and its key in the configuration, for messages.
    key : str
    trust : sequence of str
        Packages that the user trusts.

    Raises
    ------
    UserError
        The name needs trust, does not exist, or needs a package that is not installed.
    """
    found = import_target(target, key, trust)
    _require_installed(getattr(found, "required_package", ""), f"{key}={target!r}", trust)
    return found


def import_target(target: Any, key: str, trust: Sequence[str]) -> Any:
    """Return the class or function of a dotted name, which need not be usable here; parameters as of `find_target`.

    Raises
    ------
    UserError
        The name needs trust, or does not exist.
    """
    require_name(target, key, trust)
    if target.split(".")[0] in trust:
        return _import_trusted(target, key, trust)
    return _import_known(target, key)


def _import_known(target: str, key: str) -> Any:
    """Return a public class or function of the packages that bakeoff knows."""
    key_and_value = f"{key}={target!r}"
    package = target.split(".")[0]
    _require_installed(package, key_and_value, ())
    module, _, name = target.rpartition(".")
    home = _import_module(module, key_and_value)
    try:
        found = getattr(home, name, ABSENT)
    except ImportError as error:  # what scikit-learn calls experimental
        raise UserError(f"{key_and_value} cannot be imported: {' '.join(str(error).split())}") from error
    if found is ABSENT:
        raise UserError(f"{key_and_value} does not exist. {_suggest_member(name, home)}")
    # The table has every name of bakeoff, and of the others the form of their names alone.
    if package != OWN_PACKAGE and not _is_public_part(found, home, target):
        raise UserError(
            f"{key_and_value} is not an estimator, transformer, splitter, kernel or metric; if you trust all code of "
            f"{package}, add trust=[{package}]."
        )
    return found


def _is_public_part(found: Any, home: Any, target: str) -> bool:
    """Return whether a public name is that of a class, or of a metric, which the module itself defines."""
    if target == COLUMN_SELECTOR:
        return True
    name = target.rpartition(".")[2]
    is_public = name in getattr(home, "__all__", (name,))
    is_defined_here = f"{getattr(found, '__module__', '')}.".startswith(f"{home.__name__}.")
    if not is_public or not is_defined_here:
        return False
    if home.__name__ == METRICS_MODULE:
        return inspect.isfunction(found) and next(iter(inspect.signature(found).parameters), "") in TRUE_VALUES
    return inspect.isclass(found) and any(hasattr(found, mark) for mark in KIND_MARKS)


def _import_trusted(target: str, key: str, trust: Sequence[str]) -> Any:
    """Return what a name in a trusted package stands for, if that is of a trusted package itself."""
    key_and_value = f"{key}={target!r}"
    first, *rest = target.split(".")
    found = _import_module(first, key_and_value)
    if found is ABSENT:
        raise UserError(f"{key_and_value} does not exist: no module {first} is installed or in the current folder.")
    for position, name in enumerate(rest):
        owner = found
        is_last = position == len(rest) - 1
        found = _get_member(owner, name, is_last, key_and_value)
        holds_members = inspect.ismodule(found) or inspect.isclass(found)
        if found is ABSENT or not (is_last or holds_members):
            raise UserError(f"{key_and_value} does not exist. {_suggest_member(name, owner)}")
        _require_home(found, key_and_value, trust)
    return found


def _get_member(owner: Any, name: str, is_last: bool, key_and_value: str) -> Any:
    """Return a member of a module or class, or a module of a package that is not imported yet; else `ABSENT`."""
    is_package = inspect.ismodule(owner) and hasattr(owner, "__path__")
    # A function may have the name of its module: mine.profit, in mine.profit.
    member = getattr(owner, name, ABSENT) if is_last or not is_package else ABSENT
    if member is not ABSENT or not is_package:
        return member
    module = _import_module(f"{owner.__name__}.{name}", key_and_value)
    return getattr(owner, name, ABSENT) if module is ABSENT else module


def _suggest_member(name: str, owner: Any) -> str:
    """Return a sentence on the public names of a module or class that are similar to one that it does not have."""
    names = [each for each in getattr(owner, "__all__", dir(owner)) if not each.startswith("_")]
    return did_you_mean(name, names)


def _require_home(found: Any, key_and_value: str, trust: Sequence[str]) -> None:
    """Reject what a trusted module has imported from elsewhere: ``mine.os.system`` is code of os."""
    if inspect.ismodule(found):
        home = found.__name__
    elif inspect.isclass(found) or inspect.isroutine(found):
        # Methods of objects that are not written in Python name no module.
        home = str(getattr(found, "__module__", None) or type(found).__module__)
    else:
        return  # an object that the module has made, such as a scorer
    package = home.split(".")[0]
    if package not in trust:
        raise UserError(
            f"{key_and_value} is outside the trusted packages: it is code of {package}; if you trust all of it, add "
            f"trust=[{package}]."
        )


def _import_module(module: str, key_and_value: str) -> Any:
    """Import a module; `ABSENT` if there is none of that name."""
    try:
        return import_module(module)
    except Exception as error:  # a module of the user may raise any
        if isinstance(error, ModuleNotFoundError) and error.name == module:
            return ABSENT
        raise UserError(f"{key_and_value} cannot be imported: {error}") from error


def _require_installed(package: str, key_and_value: str, trust: Sequence[str]) -> None:
    """Reject a target whose package is an extra that is not installed, or a file of the user with its name.

    Parameters
    ----------
    package : str
        A class names it in ``required_package``; else empty.
    key_and_value : str
        For messages.
    trust : sequence of str
    """
    if package in EXTRAS and find_spec(package) is None:
        raise MissingPackage(f'{key_and_value} needs {package}; install it with pip install ".[{EXTRAS[package]}]".')
    # What this module imports itself would delay every command.
    from bakeoff.pipeline.identity.user_code import find_source, is_of_user

    is_listed = package in (*KNOWN_PACKAGES, *EXTRAS)
    if is_listed and package not in trust and is_of_user(package):
        raise UserError(
            f"{key_and_value} needs the installed package {package}, and {find_source(package)} has its name; rename "
            f"that file or folder, or add trust=[{package}] if it is what you mean."
        )
