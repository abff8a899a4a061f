"""Whether a command line describes a run or a sweep: by its flags, by ``hydra.mode``, or by a file that it chooses."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from bakeoff.pipeline.cli.arguments import MULTIRUN_FLAGS
from bakeoff.pipeline.config.words.mode_words import RUN_WORD, SWEEP_WORD
from bakeoff.pipeline.errors import UserError

SEARCH_PATH_KEY = "hydra.searchpath"
FLAG_PREFIX = "-"
DELETING_PREFIX = "~"


def read_mode(words: Sequence[str]) -> tuple[list[str], bool]:
    """Return the words, those that request a sweep or a run replaced by flags, and whether they request a sweep.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides.

    Raises
    ------
    UserError
        The words request both a sweep and a single run.
    """
    others = [word for word in words if word.lstrip("+") not in (SWEEP_WORD, RUN_WORD)]
    modes = {word.lstrip("+") for word in words if word not in others}
    has_flag = any(word in MULTIRUN_FLAGS for word in others)
    if RUN_WORD in modes and (has_flag or SWEEP_WORD in modes):
        raise UserError(f"{RUN_WORD} asks for a single run, and {MULTIRUN_FLAGS[0]} for a sweep; give one of the two.")
    if RUN_WORD in modes:
        # With flags, Hydra itself decides, and a file that it reads may ask for a sweep.
        has_flags = any(word.startswith(FLAG_PREFIX) for word in others)
        return ([RUN_WORD, *others] if has_flags else others), False
    is_sweep = has_flag or SWEEP_WORD in modes or asks_for_sweep(others)
    needs_flag = is_sweep and not has_flag
    return ([MULTIRUN_FLAGS[1], *others] if needs_flag else others), is_sweep


def asks_for_sweep(words: Sequence[str]) -> bool:
    """Return whether a file of the user that the words choose asks for a sweep by ``hydra.mode: MULTIRUN``.

    bakeoff's own files do not, so that nothing is composed where the user has none.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides.
    """
    from hydra._internal.utils import get_args_parser

    from bakeoff.pipeline.config.own_options import find_own_folder

    has_search_path = any(word.lstrip("+").startswith(SEARCH_PATH_KEY) for word in words)
    has_config_folder = any(word.startswith(FLAG_PREFIX) for word in words)
    if not has_search_path and not has_config_folder and find_own_folder() is None:
        return False
    arguments = get_args_parser().parse_args(list(words))
    only_shows = arguments.help or arguments.hydra_help or arguments.cfg or arguments.info
    has_other_root = arguments.config_path or arguments.config_name
    if only_shows or has_other_root or arguments.shell_completion:
        return False
    folder = arguments.config_dir
    if folder is not None and not Path(folder).is_dir():
        return False  # Hydra says so
    return _read_file_mode(arguments.overrides, folder)


def _read_file_mode(overrides: Sequence[str], folder: str | None) -> bool:
    """Compose what decides the mode, as Hydra does for every command."""
    from hydra.types import RunMode

    from bakeoff.pipeline.config.engine import ROOT_NAME, open_engine
    from bakeoff.pipeline.config.invocation import split_sweep_words
    from bakeoff.pipeline.config.schema import register_schema

    register_schema()
    # Keys of a learner cannot be composed before each job has chosen its learner.
    sweep_words, _ = split_sweep_words(overrides)
    # The command is composed again to run it, which prints the same notes.
    with redirect_stderr(StringIO()), open_engine(more=folder) as engine:
        return bool(engine.get_mode(ROOT_NAME, sweep_words) == RunMode.MULTIRUN)


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
