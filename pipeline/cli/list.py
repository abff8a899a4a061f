"""``bakeoff list``: the options of each group, each with the first comment of its YAML file."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.config.options import GROUPS, read_options
from bakeoff.pipeline.errors import UserError, did_you_mean


def list_options(words: Sequence[str]) -> int:
    """Print the options of the named groups, or of all groups; return the exit code.

    Parameters
    ----------
    words : sequence of str
        Names of groups.

    Raises
    ------
    UserError
        There is no such group.
    """
    for group in words:
        if group not in GROUPS:
            raise UserError(f"list {group}: there is no such group. {did_you_mean(group, GROUPS)}")
    for group in words or GROUPS:
        sentences = read_options(group)
        width = max(map(len, sentences), default=0)
        print(f"{group}=")
        for name, sentence in sentences.items():
            print(f"  {name:<{width}}  {sentence}")
    return 0
