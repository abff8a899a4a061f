"""The verbs of the command line: each is found in the table of commands, and imported when it is called."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bakeoff.pipeline.commands import COMMANDS, Command
from bakeoff.pipeline.errors import placing_errors

HELP_FLAGS = ("-h", "--help")


HELP = "help"
VERBS: Mapping[str, Command] = {
    **COMMANDS,
    HELP: Command("VERB", "describe a verb and its words", "cli.help.show_help", words="[VERB ...]"),
}


def load(name: str) -> Any:
    """Import a module of `bakeoff.pipeline` and return the function or class with this dotted name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(f"bakeoff.pipeline.{module}"), attribute)


def run_verb(verb: str, words: Sequence[str]) -> int:
    """Run a verb, or print its help, and return the exit code.

    Raises
    ------
    UserError
        The request is invalid; the message begins with the verb.
    """
    if any(word in HELP_FLAGS for word in words) or (verb == "compare" and not words):
        print(format_help(verb))
        return 0
    called = VERBS[verb]
    run: Callable[[Any], int] = load(called.function)
    with placing_errors(verb):
        if called.words:
            return run(words)
        from bakeoff.pipeline.config.requests import read_request

        return run(read_request(verb, load(called.request), words))


def format_help(verb: str) -> str:
    """Return the description of a verb and the words that it accepts."""
    called = VERBS[verb]
    summary = (inspect.getdoc(load(called.function)) or "").partition("\n\n")[0]
    if not called.request:
        return f"bakeoff {verb} {called.words}\n\n{summary}"
    # The verb imports packages, which a folder of the same name in the current folder must not replace.
    from bakeoff.pipeline.config.requests import format_arguments, format_usage

    request = load(called.request)
    usage = f"{format_usage(verb, request)} {called.words}".strip()
    return f"{usage}\n\n{summary}\n\n{format_arguments(request)}"
