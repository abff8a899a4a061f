"""``bakeoff compare``: which configuration is better, and how sure that is."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.pipeline.cli.arguments import MULTIRUN_FLAGS, reject_repeated_keys
from bakeoff.pipeline.comparison.request_words import check_values
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.tables.output_file import require_output

USAGE = """\
bakeoff compare RUN RUN ...           runs by their ids, the beginnings of ids, latest or best
bakeoff compare sweep=latest          the jobs of the last sweep, or sweep=NAME
bakeoff compare "filter=..."          the runs that a filter of MLflow selects
bakeoff compare -m KEY=VALUE,VALUE .. all jobs of a sweep; those that are missing run first

base=NAME          configuration, learner, run or registered model that others are marked against; default: the best
metrics=a,b        scores or times, the first of which decides; default: the headline
alpha=0.05         significance level
rope=0.01          differences up to this one are equivalent in practice
pairs=all          every pair, on every dataset; default: the best with each other
choice=none        no row stands for several configurations of a learner
dataset=NAME       of latest and best
to=FORMAT          terminal, csv, json, markdown, latex or html
output=FILE        instead of standard output
keep=false         do not store the comparison as a run
fail_if=worse      exit code 1 if a configuration is significantly worse than the base
tracking.uri=URI, tracking.experiment=NAME
"""
STORE_KEYS = ("tracking.uri", "tracking.experiment")
OWN_KEYS = ("base", "metrics", "alpha", "rope", "pairs", "choice", "to", "output", "keep", "fail_if")
SELECTION_KEYS = ("sweep", "filter", "dataset")
EXIT_WORSE = 1
RUN_WORDS = ("latest", "best")


@dataclass(frozen=True)
class Command:
    """The words of the command, sorted.

    Attributes
    ----------
    runs : tuple of str
        Words that name runs.
    values : dict of str to str
        Of the keys of the comparison.
    sweep_words : tuple of str or None
        The command line of the sweep after ``-m``; None without it.
    text : str
        The whole command.
    """

    runs: tuple[str, ...]
    values: dict[str, str]
    sweep_words: tuple[str, ...] | None
    text: str


def compare_stored_runs(words: Sequence[str]) -> int:
    """Compare runs, write the report, and return the exit code.

    Parameters
    ----------
    words : sequence of str
        As `USAGE` says.

    Raises
    ------
    UserError
        The runs cannot be compared, or a key is wrong.
    """
    if not words or words[0] in ("--help", "-h"):
        print(USAGE, end="")
        return 0
    command = read_command(words)
    check_values(command.values)
    if "output" in command.values:
        from bakeoff.pipeline.tracking.store import list_store_paths

        require_output(command.values["output"], store=list_store_paths(command.values.get("tracking.uri")))
    status = 0
    sweep = ""
    if command.sweep_words is not None:
        status, sweep = run_missing_jobs(command.sweep_words)
        if status not in (0, 1):
            return status
    # NumPy is loaded here, after the sweep has set the number of threads, on which the last bits of scores may depend.
    from bakeoff.pipeline.cli.comparison_report import run_comparison

    is_worse = run_comparison(command.runs, command.values, sweep, command.text, command.sweep_words)
    return EXIT_WORSE if is_worse else status


def read_command(words: Sequence[str]) -> Command:
    """Sort the words of the command.

    Raises
    ------
    UserError
        A key is unknown, or runs are selected in no way or in several.
    """
    text = shlex.join(["bakeoff", "compare", *words])
    is_sweep = any(word in MULTIRUN_FLAGS for word in words)
    own_keys = (*OWN_KEYS, *STORE_KEYS) if is_sweep else (*OWN_KEYS, *STORE_KEYS, *SELECTION_KEYS)
    values = {}
    runs = []
    others = []
    reject_repeated_keys([word for word in words if word.partition("=")[0] in own_keys])
    for word in words:
        key, has_value, value = word.partition("=")
        if has_value and key in own_keys:
            values[key] = value
        elif is_sweep or has_value or word.startswith("-"):
            others.append(word)
        else:
            runs.append(word)
    if is_sweep:
        _require_sweep_alone(words)
        store_words = [f"{key}={values[key]}" for key in STORE_KEYS if key in values]
        return Command((), values, (*others, *store_words), text)
    for word in others:
        key = word.split("=", 1)[0]
        raise UserError(
            f"compare: {key} is not a key of compare. {did_you_mean(key, own_keys)} Jobs are given with -m."
        )
    _require_one_selection(runs, values)
    return Command(tuple(runs), values, None, text)


def run_missing_jobs(words: Sequence[str]) -> tuple[int, str]:
    """Run the jobs of a sweep that are not done; return the exit code and the name of the sweep.

    What the sweep prints goes to standard error, because standard output is for the report.
    """
    from contextlib import redirect_stdout

    from bakeoff.pipeline.cli.run import run_experiments

    names = [""]
    with redirect_stdout(sys.stderr):
        # A sweep with the jobs of an earlier one continues it, and has its name.
        status = run_experiments(words, on_report=lambda report: names.append(report.name))
    return status, names[-1]


def _require_sweep_alone(words: Sequence[str]) -> None:
    """Reject words that name stored runs beside ``-m``, and keys of sweeps after which there is nothing to compare."""
    for word in words:
        if word in RUN_WORDS:
            raise UserError(f"compare: {word} names a run, and -m the jobs of a sweep; give one of the two.")
        key, _, value = word.partition("=")
        if key in ("sweep", "filter"):
            raise UserError(f"compare: {key}= selects stored runs, and -m the jobs of a sweep; give one of the two.")
        if (key, value) in (("tracking", "none"), ("dry_run", "true"), ("hydra/sweeper", "optuna")):
            raise UserError(f"compare: {word} leaves no comparable runs in a store; leave it out.")
        if key == "hydra.sweep.dir":
            raise UserError("compare: the name of the sweep is set by compare; leave out hydra.sweep.dir.")


def _require_one_selection(runs: Sequence[str], values: dict[str, str]) -> None:
    given = [*runs[:1], *(key for key in ("sweep", "filter") if key in values)]
    if not given:
        raise UserError('compare: say which runs: sweep=latest, "filter=...", ids of runs, or -m KEY=VALUE,VALUE.')
    if len(given) > 1:
        raise UserError(f"compare: {' and '.join(given)} select runs in several ways; give one of them.")
