"""The one walk over a configuration, and the keys of what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[Any, ...]
"""The keys and positions that lead to a value."""


def walk(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield a part of a configuration and every value below it, each with its path.

    Parameters
    ----------
    node : object
        Nested mappings and lists.
    path : tuple
        The path of the node.

    Examples
    --------
    >>> [(name_key(path), value) for path, value in walk({"a": [{"b": 1}]}) if value == 1]
    [('a[0].b', 1)]
    """
    yield path, node
    if isinstance(node, Mapping):
        children = list(node.items())
    elif isinstance(node, list | tuple):
        children = list(enumerate(node))
    else:
        return
    for name, child in children:
        yield from walk(child, (*path, name))


def name_key(path: Path) -> str:
    """Return the key that corresponds to a path.

    Examples
    --------
    >>> name_key(("figures", 0, "scores"))
    'figures[0].scores'
    """
    parts = [f"[{name}]" if isinstance(name, int) else f".{name}" for name in path]
    return "".join(parts).removeprefix(".")
