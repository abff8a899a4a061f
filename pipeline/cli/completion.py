"""Completion of verbs and their keys in a shell; Hydra completes the overrides of experiments."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bakeoff.pipeline.cli.verbs import VERBS, load_request

COMPLETION_FLAGS = ("-sc", "--shell-completion")
QUERY = "query="
LINE_VARIABLE = "COMP_LINE"
"""The environment variable with the line that the shell completes."""
WORDS_OF_VERBS = {"plan": ("-m",), "rerun": ("--failed",)}
RUN = "RUN"
NAMES_OF_RUNS = ("best", "latest")
VERBS_OF_EXPERIMENTS = ("compare", "inspect", "plan", "rerun")
"""Verbs that take the overrides of experiments as well."""


def is_query(words: Sequence[str]) -> bool:
    """Whether a shell asks for completions."""
    return any(word in COMPLETION_FLAGS for word in words) and any(word.startswith(QUERY) for word in words)


def complete_verbs() -> bool:
    """Print the verbs, or the words of a verb, that may complete the line; return whether Hydra is to complete it too.

    The line is changed to one that Hydra understands: without the verb, and without its own words.
    """
    line = os.environ.get(LINE_VARIABLE, "")
    command, words, current = _split_line(line)
    if not words:
        verbs = [verb for verb in VERBS if verb.startswith(current)]
        print(" ".join(verbs))
        return True
    verb = words[0]
    if verb not in VERBS:
        return True
    found = [word for word in _list_words(verb) if word.startswith(current)]
    if found:
        print(" ".join(found))
    has_overrides = verb in VERBS_OF_EXPERIMENTS or "=" in current
    own = tuple(_list_words(verb))
    overrides = [word for word in words[1:] if "=" in word and not word.startswith(own)]
    os.environ[LINE_VARIABLE] = " ".join([*command, *overrides, current])
    return has_overrides and not current.startswith("-")


def _split_line(line: str) -> tuple[list[str], list[str], str]:
    """Return the name of the program, the complete words after it, and the word that is being written."""
    complete, _, current = line.rpartition(" ")
    words = complete.split()
    # `python -m bakeoff` is a program of three words.
    n_command = 3 if words[1:2] == ["-m"] and words[0].rpartition("/")[2].startswith("python") else 1
    return words[:n_command], words[n_command:], current


def _list_words(verb: str) -> list[str]:
    """Return the words that a verb takes: its keys, names of runs, and groups to list."""
    if verb == "list":
        from bakeoff.pipeline.config.named_parts import LISTED
        from bakeoff.pipeline.config.requests import MODELS

        return [*LISTED, MODELS]
    from bakeoff.pipeline.config.requests import list_arguments

    request = load_request(verb)
    arguments = [] if request is None else list_arguments(request)
    words = [f"{argument.word}=" for argument in arguments if argument.has_key]
    if any(argument.word == RUN for argument in arguments):
        words += NAMES_OF_RUNS
    return [*words, *WORDS_OF_VERBS.get(verb, ())]
