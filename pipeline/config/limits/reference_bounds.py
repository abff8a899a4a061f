"""Interpolations that would grow without bound, or without end: their size is computed before they are resolved."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omegaconf import DictConfig, OmegaConf

from bakeoff.pipeline.errors import UserError

MAX_RESOLVED_SIZE = 10_000_000
"""Characters and values of a configuration, its interpolations resolved."""
MAX_CHAIN = 100
"""Values that refer to one another, each to the next."""
REFERENCE = re.compile(r"\$\{(?:oc\.[\w.]+:)?\s*([^${}:,]+?)\s*(?:,[^${}]*)?\}")
"""An interpolation whose key is written out, as in ``${a.b}``, ``${.a}``, ``${a[0]}`` and ``${oc.select:a}``."""
Path = tuple[str, ...]


def require_bounded_references(composed: DictConfig) -> None:
    """Reject a configuration whose interpolations refer to one another in a circle, or grow without bound.

    Parameters
    ----------
    composed : DictConfig
        With its interpolations as they are written.

    Raises
    ------
    UserError
    """
    raw = OmegaConf.to_container(composed, resolve=False)
    ResolvedSizes(raw).measure((), ())


@dataclass(frozen=True)
class ResolvedSizes:
    """The sizes of values after their interpolations are resolved, each of which is computed once.

    Attributes
    ----------
    raw : mapping or sequence
        The configuration.
    """

    raw: Any
    _sizes: dict[Path, int] = field(default_factory=dict)

    def measure(self, path: Path, chain: tuple[Path, ...]) -> int:
        """Return the number of characters and values at a place of the configuration.

        Parameters
        ----------
        path : tuple of str
            Its keys.
        chain : tuple of tuple of str
            The places that led here, each by a reference or as its parent.

        Raises
        ------
        UserError
        """
        if path in self._sizes:
            return self._sizes[path]
        _require_end(path, chain)
        value = self._find(path)
        chain = (*chain, path)
        size = 1
        if isinstance(value, str):
            size += len(value) + sum(self.measure(target, chain) for target in _find_targets(value, path))
        for key in _list_keys(value):
            size += self.measure((*path, key), chain)
        if size > MAX_RESOLVED_SIZE:
            raise UserError(
                f"{'.'.join(path)} would hold more than {MAX_RESOLVED_SIZE:,} characters and values when its "
                "interpolations ${...} are resolved; write the value out."
            )
        self._sizes[path] = size
        return size

    def _find(self, path: Path) -> Any:
        """Return the value of some keys; None if there is none, which is an error of its own."""
        value = self.raw
        for key in path:
            if isinstance(value, Mapping):
                value = value.get(key)
            elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            else:
                return None
        return value


def _require_end(path: Path, chain: Sequence[Path]) -> None:
    """Reject a reference to a value that is being resolved, or a chain of very many references."""
    if path in chain:
        circle = [".".join(each) for each in (*chain[chain.index(path) :], path)]
        raise UserError(f"{circle[0]} refers to itself ({' -> '.join(circle)}); write the value out.")
    if len(chain) > MAX_CHAIN:
        raise UserError(
            f"{'.'.join(chain[0] or chain[1])}: more than {MAX_CHAIN} values refer to one another; write the value out."
        )


def _find_targets(text: str, path: Path) -> list[Path]:
    """Return the places that the interpolations of a text at some place refer to."""
    targets = []
    for reference in REFERENCE.findall(text):
        key = reference.lstrip(".")
        n_dots = len(reference) - len(key)
        # One point is the mapping that holds the text, and each further one the mapping around it.
        base = path[: len(path) - n_dots] if n_dots else ()
        targets.append((*base, *re.findall(r"[^.\[\]'\"]+", key)))
    return targets


def _list_keys(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [str(key) for key in value]
    return [str(place) for place in range(len(value))] if isinstance(value, list) else []
