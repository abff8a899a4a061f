"""The keys of a YAML file with their defaults and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_COMMENT = re.compile(r"^\s*#\s*(.*?)\s*$")
_TRAILING_COMMENT = re.compile(r"(?:^|\s)#\s*(.*?)\s*$")


@dataclass(frozen=True)
class Key:
    """A key at the top of a file.

    Attributes
    ----------
    name : str
    default : str
        Its value, as the file spells it.
    comment : str
        The comment behind the value.
    introduction : str
        The comment lines above the key, which begin a new part of the file.
    is_plain : bool
        Whether the value is on the line of its key.
    """

    name: str
    default: str
    comment: str
    introduction: str
    is_plain: bool


def read_keys(file: Path) -> list[Key]:
    """Return the keys at the top of a file, without those of Hydra that say what else is composed.

    Parameters
    ----------
    file : Path
    """
    text = file.read_text(encoding="utf-8")
    return [key for key in _iterate_keys(text) if key.name != "defaults"]


def read_body(file: Path) -> str:
    """Return the text of a file without the sentence at its top.

    Parameters
    ----------
    file : Path
    """
    lines = file.read_text(encoding="utf-8").splitlines()
    first = next((row for row, line in enumerate(lines) if _is_body(line)), len(lines))
    return "\n".join(lines[first:]).strip()


def list_targets(file: Path) -> list[str]:
    """Return the dotted names that a file gives as ``_target_``, at any depth.

    Parameters
    ----------
    file : Path
    """
    return list(_iterate_targets(yaml.safe_load(file.read_text(encoding="utf-8"))))


def _iterate_keys(text: str) -> Iterator[Key]:
    root = yaml.compose(text)
    if not isinstance(root, yaml.MappingNode):
        return
    lines = text.splitlines()
    for name, value in root.value:
        row = name.start_mark.line
        is_plain = _is_plain(name, value)
        column = value.end_mark.column if is_plain else name.end_mark.column + 1
        trailing = _TRAILING_COMMENT.search(lines[row][column:])
        yield Key(
            name=name.value,
            default=_spell(value, text),
            comment=trailing.group(1) if trailing else "",
            introduction=_read_introduction(lines, row),
            is_plain=is_plain,
        )


def _is_plain(name: yaml.Node, value: yaml.Node) -> bool:
    is_block = isinstance(value, yaml.CollectionNode) and not value.flow_style
    return not is_block and value.end_mark.line == name.start_mark.line


def _spell(value: yaml.Node, text: str) -> str:
    return text[value.start_mark.index : value.end_mark.index].strip()


def _read_introduction(lines: list[str], row: int) -> str:
    """Return the comment lines directly above a key; those at the top of the file are its sentence."""
    above: list[str] = []
    while row > 0 and (match := _COMMENT.match(lines[row - 1])):
        row -= 1
        above.insert(0, match.group(1))
    return " ".join(above) if row > 0 else ""


def _is_body(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


def _iterate_targets(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("_target_"), str):
            yield node["_target_"]
        for value in node.values():
            yield from _iterate_targets(value)
    elif isinstance(node, list):
        for value in node:
            yield from _iterate_targets(value)
