"""The options of each group of ``conf/``, with the sentence that describes each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

import bakeoff

CONF = Path(bakeoff.__file__).parent / "conf"
GROUPS = (
    "dataset", "preprocessing", "learner", "space", "tuning", "pruning", "balance", "target", "calibration",
    "threshold", "evaluation", "audit", "tracking", "search", "experiment",
)  # fmt: skip


def read_options(group: str) -> dict[str, str]:
    """Return the options of a group, and the sentence in the first comment of each: name -> sentence.

    Parameters
    ----------
    group : str
        A folder of ``conf/``.
    """
    return read_sentences(sorted((CONF / group).glob("*.yaml")))


def read_sentences(files: Iterable[Path]) -> dict[str, str]:
    """Return the sentence in the first comment of each file of an option: name -> sentence."""
    options = {}
    for file in files:
        lines = file.read_text(errors="replace").splitlines()
        comments = [line for line in lines if line.startswith("#") and "@package" not in line]
        options[file.stem] = comments[0].lstrip("# ") if comments else ""
    return options


def read_option(group: str, name: str) -> dict[str, Any]:
    """Return the keys of an option as its file has them; empty if bakeoff has no such option.

    Parameters
    ----------
    group : str
        A folder of ``conf/``.
    name : str
    """
    file = CONF / group / f"{name}.yaml"
    if not file.is_file():
        return {}
    keys = yaml.safe_load(file.read_text())
    return keys if isinstance(keys, dict) else {}
