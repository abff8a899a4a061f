"""Whether a command line describes a run or a sweep, and notes about its words."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from bakeoff.pipeline.cli.arguments import MULTIRUN_FLAGS
from bakeoff.pipeline.config.words import RUN_WORD, SWEEP_WORD
from bakeoff.pipeline.errors import UserError

FLAG_PREFIX = "-"
DELETING_PREFIX = "~"


def read_mode(words: Sequence[str]) -> tuple[list[str], bool]:
    """Return the words, one that requests a sweep replaced by the flag, and whether they request a sweep.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides.

    Raises
    ------
    UserError
        The words request both a sweep and a single run.
    """
    modes = {word.lstrip("+") for word in words} & {SWEEP_WORD, RUN_WORD}
    has_flag = any(word in MULTIRUN_FLAGS for word in words)
    is_sweep = has_flag or SWEEP_WORD in modes
    if RUN_WORD in modes and is_sweep:
        raise UserError(f"{RUN_WORD} asks for a single run, and {MULTIRUN_FLAGS[0]} for a sweep; give one of the two.")
    others = [word for word in words if word.lstrip("+") != SWEEP_WORD]
    needs_flag = is_sweep and not has_flag
    return ([MULTIRUN_FLAGS[1], *others] if needs_flag else others), is_sweep


def note_repeated_keys(words: Sequence[str]) -> list[str]:
    """Return a sentence for each key that is given several values one after the other, of which the last one counts.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides.

    Examples
    --------
    >>> note_repeated_keys(["seed=1", "dataset=iris", "seed=2"])
    ['seed is given 2 times (seed=1 seed=2), and the last one counts.']
    """
    given = [word for word in words if "=" in word and not word.startswith((FLAG_PREFIX, DELETING_PREFIX))]
    keys = Counter(_find_key(word) for word in given)
    sentences = []
    for key, count in keys.items():
        same = [word for word in given if _find_key(word) == key]
        if len(set(same)) > 1:
            sentences.append(f"{key} is given {count} times ({' '.join(same)}), and the last one counts.")
    return sentences


def print_notes(sentences: Sequence[str]) -> None:
    """Print sentences about the command line to standard error."""
    for sentence in sentences:
        print(f"note: {sentence}", file=sys.stderr)


def _find_key(word: str) -> str:
    return word.lstrip("+").partition("=")[0]
