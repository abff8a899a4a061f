"""The help of the whole command, and the verb ``help``."""

import textwrap
from collections.abc import Sequence

from bakeoff.pipeline.cli.verbs import VERBS, format_help
from bakeoff.pipeline.config.options import LISTED, METRIC_LIST, read_listing
from bakeoff.pipeline.errors import UserError, did_you_mean

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
    listings = {group: read_listing(group) for group in LISTED if group != METRIC_LIST}
    counts = [f"{group} {len(shipped) + len(own)}" for group, (shipped, own) in listings.items()]
    groups = textwrap.fill(", ".join(counts), LINE_LETTERS, initial_indent=INDENT, subsequent_indent=INDENT)
    usages = {f"bakeoff {verb} {command.usage}": command.sentence for verb, command in VERBS.items()}
    lines = "\n".join(f"{usage:<{USAGE_LETTERS}}{sentence}" for usage, sentence in usages.items())
    return f"{OPENING}{lines}{ENDING}{groups}\n{NEXT_STEPS}"
