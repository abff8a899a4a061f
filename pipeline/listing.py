"""``bakeoff list``: what can be chosen, a line each, read from the first comment of each YAML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bakeoff
from bakeoff.pipeline.refusal import Refusal, did_you_mean

CONF = Path(bakeoff.__file__).parent / "conf"
GROUPS = (
    "dataset", "preprocessing", "learner", "space", "tuning", "pruning", "evaluation", "tracking", "search",
    "experiment",
)  # fmt: skip


def options(group: str) -> dict[str, str]:
    """Return the options of a group: name -> one sentence.

    Parameters
    ----------
    group : str
        A folder of ``conf/``.
    """
    found = {}
    for file in sorted((CONF / group).glob("*.yaml")):
        comments = [line for line in file.read_text().splitlines() if line.startswith("#") and "@package" not in line]
        found[file.stem] = comments[0].lstrip("# ") if comments else ""
    return found


def print_options(words: Sequence[str]) -> int:
    """Print the options of the named group, or of all; return the exit code.

    Raises
    ------
    Refusal
        No such group.
    """
    for group in words:
        if group not in GROUPS:
            raise Refusal(f"list {group}: no such group. {did_you_mean(group, GROUPS)}")
    for group in words or GROUPS:
        entries = options(group)
        width = max(map(len, entries), default=0)
        print(f"{group}=")
        for name, sentence in entries.items():
            print(f"  {name:<{width}}  {sentence}")
    return 0
