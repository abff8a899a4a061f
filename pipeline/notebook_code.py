"""The code of classes and functions that are defined in a notebook, which has no file: what Python compiled of it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from bakeoff.pipeline.source_code import find_source, hash_text

MAIN = "__main__"
PLAIN_TYPES = (bool, int, float, str, bytes, tuple)


def list_notebook_code(targets: frozenset[str]) -> list[str]:
    """Return a fingerprint of each class or function of a notebook, and of those of the notebook that it uses by name.

    Parameters
    ----------
    targets : frozenset of str
        Dotted names; those of files are left out.
    """
    names = [target.partition(".")[2] for target in targets if target.partition(".")[0] == MAIN]
    if not names or find_source(MAIN) is not None:
        return []
    namespace = vars(sys.modules[MAIN])
    described: dict[str, str] = {}
    unvisited = set(names)
    while unvisited:
        name = unvisited.pop()
        codes = list(_iter_codes(namespace.get(name)))
        used = {each for code in codes for each in _list_names(code)}
        values = _list_values(namespace, used) + [line for base in _list_bases(namespace.get(name)) for line in base]
        described[name] = hash_text("\n".join([*(_describe_code(code) for code in codes), *values]))
        unvisited |= {each for each in used if _is_of_notebook(namespace.get(each))} - described.keys()
    return [f"{MAIN}.{name} {digest}" for name, digest in sorted(described.items())]


def _is_of_notebook(found: Any) -> bool:
    is_definition = inspect.isclass(found) or isinstance(found, FunctionType)
    return is_definition and found.__module__ == MAIN


def _list_values(namespace: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the names that stand for plain values, such as a number, with their values."""
    return [f"{name}={namespace[name]!r}" for name in sorted(names) if isinstance(namespace.get(name), PLAIN_TYPES)]


def _list_bases(found: Any) -> list[list[str]]:
    """Return the plain values of a class and of its base classes in the notebook."""
    bases = [base for base in getattr(found, "__mro__", ()) if base.__module__ == MAIN]
    return [_list_values(vars(base), [name for name in vars(base) if not name.startswith("__")]) for base in bases]


def _iter_codes(found: Any) -> Iterator[CodeType]:
    """Yield the code of a function, or of the methods of a class and of its base classes in the notebook."""
    if isinstance(found, FunctionType):
        yield found.__code__
    if inspect.isclass(found):
        for base in found.__mro__:
            if base.__module__ == MAIN:
                for _, member in sorted(vars(base).items()):
                    yield from _iter_codes(getattr(member, "__func__", getattr(member, "fget", member)))


def _describe_code(code: CodeType) -> str:
    constants = [_describe_code(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return repr((code.co_name, code.co_code, code.co_names, code.co_varnames, constants))


def _list_names(code: CodeType) -> set[str]:
    """Return the names that a function uses, at any depth."""
    nested = [_list_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*nested)
