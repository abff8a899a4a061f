"""The classes that YAML files name, described by their docstrings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from markdown_text import join_parts
from yaml_keys import list_targets

OWN_PREFIX = "bakeoff."


def format_classes(files: Iterable[Path], title: str) -> str:
    """Return a section with a description of each class or function of bakeoff that the files name; empty for none.

    Parameters
    ----------
    files : iterable of Path
    title : str
        The heading of the section.
    """
    names = sorted({name for file in files for name in list_targets(file) if name.startswith(OWN_PREFIX)})
    if not names:
        return ""
    return join_parts([f"## {title}", *(format_class(name, level=3, members=False) for name in names)]).strip()


def format_class(name: str, level: int, members: bool = True) -> str:
    """Return what mkdocstrings replaces by the docstring of a class or function.

    Parameters
    ----------
    name : str
        Its dotted name.
    level : int
        The level of its heading.
    members : bool
        Whether methods are described, too.
    """
    options = [f"heading_level: {level}", *([] if members else ["members: false"])]
    return "\n".join([f"::: {name}", "    options:", *(f"      {option}" for option in options)])
