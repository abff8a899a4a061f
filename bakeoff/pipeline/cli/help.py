"""The help of the whole command, and the verb ``help``."""

import textwrap
from collections.abc import Sequence

from bakeoff.pipeline.cli.arguments import VERBS, format_help
from bakeoff.pipeline.config.options import LISTED, METRIC_LIST, read_listing
from bakeoff.pipeline.errors import UserError, did_you_mean

OVERVIEW = """\
bakeoff runs machine-learning experiments that are described in YAML.

bakeoff [KEY=VALUE ...]          run one experiment; with -m, a sweep over comma-separated values
bakeoff plan -m [KEY=VALUE ...]  show the jobs of a sweep and their problems, without running them
bakeoff compare sweep=latest     report which configuration is better, and how certain that is
bakeoff diff A B                 show what changed between two runs, and how much each change mattered
bakeoff ablate RUN               show which options of a run matter
bakeoff paper sweep=NAME         write tables, figures and text of a study, and a capsule that others can verify
bakeoff verify CAPSULE           run the jobs of a capsule again, and compare every score
bakeoff rerun --failed           run failed jobs again
bakeoff list [GROUP ...]         list options, and the runs and models of a store
bakeoff inspect FILE             show the kind of each column of a file, and suspicions
bakeoff work learner=NAME ...    show a calculation by hand on a small table, and print exercises
bakeoff ship RUN as=NAME@ALIAS   fit the procedure of a run on all rows, and register the model
bakeoff predict MODEL FILE       predict with the model of a run, or with a registered one
bakeoff explain MODEL            show which columns the predictions of a model rely on
bakeoff serve MODEL              answer requests for predictions over HTTP
bakeoff figures RUN [NAME ...]   draw figures of a finished run
bakeoff replay RUN               repeat a stored run, and compare every number to the last bit
bakeoff rm RUN ...               delete runs with their artifacts and models
bakeoff gc                       delete what remains of runs that were deleted in MLflow
bakeoff init FOLDER              create a project folder for user-defined datasets, learners and metrics
bakeoff check FILE               test a user-defined part
bakeoff schema                   write a JSON Schema, with which editors check YAML files
bakeoff ui                       open MLflow's pages on the store
bakeoff help VERB                describe a verb and its words
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
    return f"{OVERVIEW}{groups}\n{NEXT_STEPS}"
