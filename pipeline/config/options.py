"""The options of each group of ``conf/``, and the first comment of each YAML, which says what it is."""

from __future__ import annotations

from pathlib import Path

import bakeoff

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
