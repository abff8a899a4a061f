"""YAML that would grow without bound: it is refused before its anchors are written out.

A mapping of ten lines, in which each line repeats the one before it nine times, stands for a thousand million values.
The parser's events are counted one by one; the size of a repeated part is known without repeating it.
"""

from __future__ import annotations

from typing import Any

import yaml

from bakeoff.pipeline.errors import UserError

MAX_NODES = 100_000
"""Keys, values, lists and mappings of a file, its anchors written out."""
MAX_DEPTH = 50
"""Lists and mappings inside one another."""
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML may have been built without its faster C code


def load_bounded_yaml(text: str, name: str) -> Any:
    """Return what a YAML text holds.

    Parameters
    ----------
    text : str
    name : str
        Of the file, for messages.

    Raises
    ------
    UserError
        It is too large.
    yaml.YAMLError
        It is not YAML.
    """
    require_bounded_yaml(text, name)
    return yaml.safe_load(text)


def require_bounded_yaml(text: str, name: str) -> None:
    r"""Reject a YAML text that holds very many nodes, or nodes that are nested very deeply.

    A text that is not YAML passes: the parser that reads it says where it is wrong.

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
            _require_few(event, sum(count for _, count in open_nodes), len(open_nodes) - 1, name)
    except yaml.YAMLError:
        return


def _require_closed(event: Any, open_nodes: list[tuple[str | None, int]], name: str) -> None:
    """Reject a node that holds itself."""
    if event.anchor in [anchor for anchor, _ in open_nodes]:
        raise UserError(
            f"{name}, line {event.start_mark.line + 1}: *{event.anchor} stands inside &{event.anchor}, so that the "
            "value would hold itself; write it out."
        )


def _require_few(event: Any, n_nodes: int, depth: int, name: str) -> None:
    line = event.start_mark.line + 1
    if n_nodes > MAX_NODES:
        raise UserError(
            f"{name}, line {line}, brings more than {MAX_NODES:,} values, repeated ones included; remove anchors "
            "(&NAME, *NAME), or values."
        )
    if depth > MAX_DEPTH:
        raise UserError(
            f"{name}, line {line}, opens more than {MAX_DEPTH} lists or mappings inside one another; write fewer."
        )
