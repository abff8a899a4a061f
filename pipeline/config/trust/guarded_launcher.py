"""The keys of a launcher: some are shell commands, addresses of machines that code is sent to, or paths."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bakeoff.pipeline.config.options import CONF, read_option

BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
LAUNCHER_GROUP = "hydra/launcher"
PLAIN_TEXTS = ("partition", "qos", "account", "constraint", "exclude", "gres", "comment", "mem_per_cpu", "name")
"""Keys whose texts choose among what a cluster has."""
PLAIN_TEXT = re.compile(r"[\w.,:@+*\[\]-]*")
"""Slurm's scripts hold the texts: a line break would end the comment, and begin a command."""

IsGiven = Callable[[str, Any, Any], bool]
"""Whether (key, value, shipped value): the value is what the command makes of the shipped one."""


def find_strange_launcher_key(launcher: Mapping[str, Any], words: Sequence[str], is_given: IsGiven) -> str:
    """Return a key of a launcher whose value neither bakeoff ships nor the command gives; empty if there is none.

    Numbers, and names such as that of a partition, may stand in a file.

    Parameters
    ----------
    launcher : mapping
        Plain, not resolved.
    words : sequence of str
        Of the command.
    is_given : callable
    """
    target = str(launcher.get("_target_"))
    if target == BASIC and len(launcher) == 1:
        return ""
    shipped = _read_shipped().get(target)
    if shipped is None:
        # A launcher of another installed package is one that the command chooses.
        is_chosen = any(word.lstrip("+").startswith((LAUNCHER_GROUP, "hydra.launcher._target_")) for word in words)
        return "" if is_chosen else "_target_"
    return _find_strange_key(launcher, shipped, "", is_given)


def _find_strange_key(node: Mapping[str, Any], shipped: Mapping[str, Any], prefix: str, is_given: IsGiven) -> str:
    for name, value in node.items():
        key = f"{prefix}{name}"
        own = shipped.get(name)
        if isinstance(value, Mapping) and isinstance(own, Mapping) and own:
            found = _find_strange_key(value, own, f"{key}.", is_given)
            if found:
                return found
        elif value != own and not _is_plain(str(name), value) and not is_given(key, value, own):
            return key
    return ""


def _is_plain(name: str, value: Any) -> bool:
    if isinstance(value, str):
        return name in PLAIN_TEXTS and PLAIN_TEXT.fullmatch(value) is not None
    return value is None or isinstance(value, bool | int | float)


def _read_shipped() -> dict[str, Mapping[str, Any]]:
    """Return the shipped launchers: the class -> the keys of its file."""
    names = [file.stem for file in sorted((CONF / LAUNCHER_GROUP).glob("*.yaml"))]
    options = [read_option(LAUNCHER_GROUP, name) for name in names]
    return {BASIC: {"_target_": BASIC}, **{str(option["_target_"]): option for option in options}}
