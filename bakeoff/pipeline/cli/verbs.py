"""The verbs of the command line, and their help: each is found in the table of commands, and imported when called."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bakeoff.pipeline.commands import COMMANDS, Command
from bakeoff.pipeline.errors import UserError, did_you_mean, placing_errors

HELP_FLAGS = ("-h", "--help")
HELP = "help"
VERBS: Mapping[str, Command] = {
    **COMMANDS,
    HELP: Command("VERB", "describe a verb and its words", "cli.verbs.show_help", words="[VERB ...]"),
}
OPENING = """\
bakeoff runs machine-learning experiments that are described in YAML.

bakeoff [KEY=VALUE ...]          run one experiment; with -m, a sweep over comma-separated values
"""
ENDING = """
bakeoff --version                print the version

An experiment chooses an option of each group with GROUP=OPTION, and sets its keys with GROUP.KEY=VALUE. Groups, with
their numbers of options:
"""
NEXT_STEPS = """
bakeoff list learner             list the options of a group, each with a sentence
bakeoff list learner=knn         show the keys of an option with their defaults and allowed values
bakeoff [KEY=VALUE ...] --cfg job  print the composed configuration without running it
bakeoff --hydra-help             list Hydra's flags"""
LINE_LETTERS = 118
USAGE_LETTERS = 33
INDENT = "  "


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


def show_help(words: Sequence[str]) -> int:
    """Print a description of verbs and the words that they accept; without a verb, print an overview.

    Raises
    ------
    UserError
        A word is not a verb.
    """
    for word in words:
        if word not in VERBS:
            raise UserError(f"{word} is not a verb. {did_you_mean(word, VERBS)} For options, use `bakeoff list`.")
    print("\n\n".join(map(format_help, words)) or format_overview())
    return 0


def format_overview() -> str:
    """Return the verbs, the groups of options with their numbers of options, and where to find more."""
    from bakeoff.pipeline.config.options import LISTED, METRIC_LIST, read_listing

    listings = {group: read_listing(group) for group in LISTED if group != METRIC_LIST}
    counts = [f"{group} {len(shipped) + len(own)}" for group, (shipped, own) in listings.items()]
    groups = textwrap.fill(", ".join(counts), LINE_LETTERS, initial_indent=INDENT, subsequent_indent=INDENT)
    usages = {f"bakeoff {verb} {command.usage}": command.sentence for verb, command in VERBS.items()}
    lines = "\n".join(f"{usage:<{USAGE_LETTERS}}{sentence}" for usage, sentence in usages.items())
    return f"{OPENING}{lines}{ENDING}{groups}\n{NEXT_STEPS}"
