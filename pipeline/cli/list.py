"""``bakeoff list``: what can be chosen, a line each, read from the first comment of each YAML."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.config.options import GROUPS, options
from bakeoff.pipeline.errors import UserError, did_you_mean


def print_options(words: Sequence[str]) -> int:
    """Print the options of the named group, or of all; return the exit code.

    Raises
    ------
    UserError
        No such group.
    """
    for group in words:
        if group not in GROUPS:
            raise UserError(f"list {group}: no such group. {did_you_mean(group, GROUPS)}")
    for group in words or GROUPS:
        entries = options(group)
        width = max(map(len, entries), default=0)
        print(f"{group}=")
        for name, sentence in entries.items():
            print(f"  {name:<{width}}  {sentence}")
    return 0
