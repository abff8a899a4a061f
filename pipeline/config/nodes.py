"""A configuration as a tree of nodes: the walk over it, and bounds on its size.

A mapping of ten lines, in which each line repeats the previous one nine times, expands to a thousand million values,
and so do references that double a text repeatedly. The parser's events are counted one by one, and the size of a
repeated part is known without repeating it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from bakeoff.pipeline.errors import UserError

Path = tuple[Any, ...]
"""The keys and positions that lead to a value."""
MAX_NODES = 100_000
"""Maximum number of keys, values, lists and mappings of a file, with its anchors expanded."""
MAX_DEPTH = 50
"""Maximum depth of nested lists and mappings."""
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML may have been built without its faster C code
MAX_RESOLVED_SIZE = 10_000_000
"""Maximum number of characters and values of a configuration with its interpolations resolved."""
MAX_CHAIN = 100
"""Maximum length of a chain of values that refer to one another."""
REFERENCE = re.compile(r"\$\{(?:oc\.[\w.]+:)?\s*([^${}:,]+?)\s*(?:,[^${}]*)?\}")
"""An interpolation with a literal key, as in ``${a.b}``, ``${.a}``, ``${a[0]}`` and ``${oc.select:a}``."""


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


def load_bounded_yaml(text: str, name: str) -> Any:
    """Return the content of a YAML text.

    Parameters
    ----------
    text : str
    name : str
        Of the file, for messages.

    Raises
    ------
    UserError
        The text is too large.
    yaml.YAMLError
        The text is not valid YAML.
    """
    require_bounded_yaml(text, name)
    return yaml.safe_load(text)


def require_bounded_yaml(text: str, name: str) -> None:
    r"""Reject a YAML text with too many or too deeply nested nodes.

    A text that is not valid YAML passes, because the parser reports the position of the error.

    Parameters
    ----------
    text : str
    name : str
        Of the file, for messages.

    Raises
    ------
    UserError

    Examples
    --------
    >>> require_bounded_yaml("a: &a [1, 2]\nb: [*a, *a]", "small.yaml")
    >>> nine_times = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    >>> require_bounded_yaml("\n".join(["a0: &a0 [1]", *nine_times]), "large.yaml")
    Traceback (most recent call last):
    bakeoff.pipeline.errors.UserError: large.yaml, line 6, brings more than 100,000 values, ...
    """
    sizes: dict[str, int] = {}
    # The anchor of each list or mapping that is open, and the number of nodes in it; the first entry is the file.
    open_nodes: list[tuple[str | None, int]] = [(None, 0)]
    try:
        for event in yaml.parse(text, Loader=LOADER):
            n_nodes = 0
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append((event.anchor, 1))
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, n_nodes = open_nodes.pop()
                if anchor is not None:
                    sizes[anchor] = n_nodes
            elif isinstance(event, yaml.AliasEvent):
                _require_closed(event, open_nodes, name)
                n_nodes = sizes.get(event.anchor, 1)
            elif isinstance(event, yaml.ScalarEvent):
                n_nodes = 1
                if event.anchor is not None:
                    sizes[event.anchor] = 1
            if not n_nodes and len(open_nodes) <= MAX_DEPTH:
                continue
            anchor, n_before = open_nodes[-1]
            open_nodes[-1] = (anchor, n_before + n_nodes)
            place = f"{name}, line {event.start_mark.line + 1},"
            if sum(count for _, count in open_nodes) > MAX_NODES:
                raise UserError(
                    f"{place} brings more than {MAX_NODES:,} values, repeated ones included; remove anchors "
                    "(&NAME, *NAME), or values."
                )
            if len(open_nodes) - 1 > MAX_DEPTH:
                raise UserError(
                    f"{place} opens more than {MAX_DEPTH} lists or mappings inside one another; write fewer."
                )
    except yaml.YAMLError:
        return


def require_bounded_references(raw: Any) -> None:
    """Reject a configuration whose interpolations refer to one another in a circle, or grow without bound.

    Parameters
    ----------
    raw : mapping
        The configuration before its interpolations are resolved.

    Raises
    ------
    UserError
    """
    values = {tuple(map(str, path)): value for path, value in walk(raw)}
    children: dict[Path, list[Path]] = {path: [] for path in values}
    for path in values:
        if path:
            children[path[:-1]].append(path)
    sizes: dict[Path, int] = {}

    def measure(path: Path, chain: tuple[Path, ...]) -> int:
        """Return the number of characters and values at a path that is resolved after those of a chain."""
        if path in sizes:
            return sizes[path]
        if path in chain:
            circle = [".".join(each) for each in (*chain[chain.index(path) :], path)]
            raise UserError(f"{circle[0]} refers to itself ({' -> '.join(circle)}); write the value out.")
        if len(chain) > MAX_CHAIN:
            first = ".".join(chain[0] or chain[1])
            raise UserError(f"{first}: more than {MAX_CHAIN} values refer to one another; write the value out.")
        value = values.get(path)
        text = value if isinstance(value, str) else ""
        inner = [*_find_targets(text, path), *children.get(path, ())]
        sizes[path] = 1 + len(text) + sum(measure(each, (*chain, path)) for each in inner)
        if sizes[path] > MAX_RESOLVED_SIZE:
            raise UserError(
                f"{'.'.join(path)} would hold more than {MAX_RESOLVED_SIZE:,} characters and values when its "
                "interpolations ${...} are resolved; write the value out."
            )
        return sizes[path]

    measure((), ())


def _require_closed(event: Any, open_nodes: list[tuple[str | None, int]], name: str) -> None:
    """Reject a node that contains itself."""
    if event.anchor in [anchor for anchor, _ in open_nodes]:
        raise UserError(
            f"{name}, line {event.start_mark.line + 1}: *{event.anchor} stands inside &{event.anchor}, so that the "
            "value would hold itself; write it out."
        )


def _find_targets(text: str, path: Path) -> list[Path]:
    """Return the paths to which the interpolations of a text at a path refer."""
    targets = []
    for reference in REFERENCE.findall(text):
        key = reference.lstrip(".")
        n_dots = len(reference) - len(key)
        # One dot refers to the mapping that contains the text, and each further dot to its parent.
        base = path[: len(path) - n_dots] if n_dots else ()
        targets.append((*base, *re.findall(r"[^.\[\]'\"]+", key)))
    return targets
