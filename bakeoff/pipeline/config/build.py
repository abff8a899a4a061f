"""Build objects from a settled configuration: a mapping with a ``_target_`` is a class or function with parameters.

A name is checked as text, imported only here, and its kind is checked before it is called. A constructor defines the
schema of its part: the keys of a learner or a splitter are its parameters. Values are passed unchanged; text that looks
like an interpolation stays text.
"""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, signature
from typing import Any

from bakeoff.pipeline.config.targets import (
    COLUMN_SELECTOR,
    KNOWN_PACKAGES,
    METHODS,
    OWN_PACKAGE,
    TARGET_KEY,
    require_name,
    require_names,
)
from bakeoff.pipeline.errors import (
    MissingPackage,
    UnknownKeys,
    UserError,
    did_you_mean,
    hiding_values,
    require_kind,
    write_install_command,
)
from bakeoff.pipeline.identity.source_code import find_source, get_finder, is_of_user
from bakeoff.pipeline.text.secrets import expand_references

EXTRAS = {"imblearn": "imbalance"}
"""Optional packages, and the extras of bakeoff that install them."""
METRICS_MODULE = "sklearn.metrics"
TRUE_VALUES = ("y_true", "labels_true", "y1")
"""The first parameter of each metric of scikit-learn."""
KIND_MARKS = ("get_params", "get_n_splits", "fit_resample", "sample_independent", "prune")
"""Estimators and kernels have the first; splitters, samplers of rows, and Optuna's samplers and pruners have the
others."""
ABSENT = object()


def build_object(node: Mapping[str, Any], key: str, trust: Sequence[str]) -> Any:
    """Return the object that a part of the configuration describes.

    All names are checked before the first import, and each class before its constructor is called.

    Parameters
    ----------
    node : mapping
        A mapping with a ``_target_``; nested parts may have one too.
    key : str
        The key of the part, which determines the required kind of object.
    trust : sequence of str
        Packages whose classes and functions are all allowed.

    Raises
    ------
    UserError
        A target needs trust, does not exist or is not of the kind its key requires, or an argument is unknown or
        invalid.
    """
    if node.get(TARGET_KEY) is None:
        raise UserError(f"{key} has no _target_: choose an option with {key}=NAME, or set it to the class or function.")
    with hiding_values(json.dumps(node, default=str)):
        try:
            valued = expand_references(node)
        except KeyError as error:
            raise UserError(f"{key} refers to the environment variable {error}, which is not set.") from None
        require_names(valued, key, trust)
        return _build(valued, key, trust)


def _build(node: Any, key: str, trust: Sequence[str]) -> Any:
    """Return a value of the configuration with an object in place of each mapping that describes one."""
    if isinstance(node, list | tuple):
        return [_build(child, f"{key}[{position}]", trust) for position, child in enumerate(node)]
    if not isinstance(node, Mapping):
        return node
    if TARGET_KEY not in node:
        return {name: _build(child, f"{key}.{name}", trust) for name, child in node.items()}
    target = node[TARGET_KEY]
    found = find_target(target, f"{key}.{TARGET_KEY}", trust)
    # Objects of a class with __getattr__ may have methods that the class does not show.
    if inspect.isclass(found) and not hasattr(found, "__getattr__"):
        _require_methods(found, key, target, "it")
    given = {name: child for name, child in node.items() if name != TARGET_KEY}
    require_arguments(found, given, key, target)
    arguments = {str(name): _build(child, f"{key}.{name}", trust) for name, child in given.items()}
    try:
        built = found(**arguments)
    except UserError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        cure = f"change one of the values {given}" if given else f"give its values, as in {key}.KEY=VALUE"
        raise UserError(f"{key} ({target}): {reason.rstrip('.')}; {cure}.") from error
    _require_methods(built, key, target, f"the {type(built).__name__} that it returns")
    return built


def require_arguments(found: Any, given: Mapping[Any, Any], key: str, target: str) -> None:
    """Reject keys that are not parameters of a class or function, and values that their annotations exclude.

    Estimators that declare parameter constraints check them themselves.

    Parameters
    ----------
    found : callable
    given : mapping
        The arguments, with nested parts that are not built yet.
    key, target : str
        The key of the part and the name of the callable, for messages.

    Raises
    ------
    UserError
    """
    try:
        parameters = signature(found).parameters
    except (TypeError, ValueError):
        return  # built-in classes and functions may have no signature
    takes_more = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
    checks_itself = hasattr(found, "_parameter_constraints")
    unknown = [] if takes_more else [str(name) for name in given if name not in parameters]
    if unknown:
        faults = (f"{key}.{name} is not a key of {target}. {did_you_mean(name, parameters)}" for name in unknown)
        raise UnknownKeys(*faults)
    for name, value in given.items():
        if name in parameters and not checks_itself:
            require_kind(f"{key}.{name}", value, _read_annotation(parameters[name]))


def _read_annotation(parameter: Parameter) -> Any:
    """Return the annotation of a parameter; without one, that of a Boolean default."""
    if parameter.annotation is not Parameter.empty:
        return parameter.annotation
    return bool if isinstance(parameter.default, bool) else ""


def find_target(target: Any, key: str, trust: Sequence[str]) -> Any:
    """Return the class or function with a dotted name, and require that it can be used.

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
    require_name(target, key, trust)
    key_and_value = f"{key}={target!r}"
    package = target.split(".")[0]
    if package not in trust:
        _require_installed(package, key_and_value)
    get_finder().trust(trust)
    module, _, name = target.rpartition(".")
    try:
        home = import_module(module)
        found = getattr(home, name, ABSENT)  # experimental features of scikit-learn raise ImportError
    except SystemExit as error:
        raise UserError(f"{key_and_value} cannot be imported: the module calls sys.exit({error.code!r})") from error
    except Exception as error:  # user-defined modules may raise any exception
        raise UserError(
            f"{key_and_value} cannot be imported: {' '.join(str(error).split())}; correct the name, or the module."
        ) from error
    if found is ABSENT:
        raise UserError(f"{key_and_value} does not exist. {did_you_mean(name, getattr(home, '__all__', dir(home)))}")
    if package in trust:
        _require_home(found, key_and_value, trust)
    # The table lists every name of bakeoff, but only the form of names in other packages.
    elif package != OWN_PACKAGE and not _is_public_part(found, home, target):
        raise UserError(
            f"{key_and_value} is not an estimator, transformer, splitter, kernel or metric; if you trust all code "
            f"in {package}, add trust=[{package}]."
        )
    return found


def _is_public_part(found: Any, home: Any, target: str) -> bool:
    """Return whether a public name refers to a class or metric that the module itself defines."""
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


def _require_home(found: Any, key_and_value: str, trust: Sequence[str]) -> None:
    """Reject objects that a trusted module has imported from elsewhere: ``mine.os.system`` belongs to os."""
    if inspect.ismodule(found):
        home = found.__name__
    elif inspect.isclass(found) or inspect.isroutine(found):
        # Methods of objects implemented outside Python have no module.
        home = str(getattr(found, "__module__", None) or type(found).__module__)
    else:
        return  # an object created by the module, such as a scorer
    package = home.split(".")[0]
    if package not in trust:
        raise UserError(
            f"{key_and_value} is outside the trusted packages: it belongs to {package}; if you trust all of its "
            f"code, add trust=[{package}]."
        )


def _require_installed(package: str, key_and_value: str) -> None:
    """Reject a target whose package is an extra that is not installed or is shadowed by a user's file."""
    if package in EXTRAS and find_spec(package) is None:
        command = write_install_command(EXTRAS[package])
        raise MissingPackage(f"{key_and_value} needs {package}, which is not installed: {command}.")
    if package in KNOWN_PACKAGES and is_of_user(package):
        raise UserError(
            f"{key_and_value} needs the installed package {package}, but {find_source(package)} has the same "
            f"name; rename that file or folder, or add trust=[{package}] if you mean it."
        )


def _require_methods(part: Any, key: str, target: str, subject: str) -> None:
    """Reject a class or an object that is not of the kind its key requires."""
    needed = METHODS.get(re.sub(r"\[\d+\]$", "", key), ())
    for method in needed:
        # scikit-learn's StackingClassifier has predict only after it was fitted, but its class always does.
        if not hasattr(part, method) and not hasattr(type(part), method):
            raise UserError(f"{key}._target_={target!r}: {subject} has no {method}; {key} needs {', '.join(needed)}.")
