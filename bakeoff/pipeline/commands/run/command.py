"""Commands without a verb, which run an experiment or, with ``-m``, a sweep; ``plan`` and ``rerun``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.commands import load_part
from bakeoff.pipeline.config.requests import divide_words, read_request
from bakeoff.pipeline.config.trust import TRUST_KEY, is_trust_word, read_trust_of_words
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.request import find_status, read_experiments, run_described_sweep, run_sweep
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text import wording

if TYPE_CHECKING:
    from bakeoff.pipeline.sweep.engine import SweepReport

FAILED_FLAG = "--failed"
SIZE_WORDS = ("difference=", "rates=", "item=")
"""Words that begin so ask how large a study must be."""


RUN_KEYS = ("name", "run_id", "metric", "score", "folds", "scores", "notes", "config", "config_hash", "command")
SWEEP_KEYS = ("name", "runs", "tables", "notes", "failures", "command", "tracking")
"""What programs receive of results in Python: all but what is among the artifacts of runs."""


def run_experiments(words: Sequence[str]) -> int | Answer:
    """Run the experiment or the sweep described by a command line, and return its answer, or the exit code.

    Raises
    ------
    UserError
        The command line is invalid, or none of its jobs can run.
    RunFailed
        The run failed.
    """
    experiments = read_experiments(words)
    if experiments is None:
        return 0
    if experiments.is_sweep:
        return answer_sweep(run_described_sweep(experiments), words)
    from bakeoff.pipeline.sweep.request import RunRequest, run_experiment

    finished = run_experiment(RunRequest(experiments.overrides, experiments.source, is_command=True))
    if isinstance(finished, str):
        return Answer("kept_run", lambda: {"run_id": finished})
    return Answer("run", lambda: _describe(finished, words, RUN_KEYS))


def answer_sweep(report: SweepReport | None, words: Sequence[str]) -> int | Answer:
    """Return the answer of a sweep or a plan, given the words of its command; 0 if there is no report."""
    if report is None:
        return 0
    kind = "plan" if report.is_dry_run else "sweep"
    return Answer(kind, lambda: _describe(report, words, SWEEP_KEYS), find_status(report))


def _describe(finished: Any, words: Sequence[str], keys: Sequence[str]) -> dict[str, Any]:
    """Return the result in Python of a run or a sweep."""
    from bakeoff.pipeline.python.run import make_run_result
    from bakeoff.pipeline.python.sweep import make_sweep_result

    make = make_run_result if keys == RUN_KEYS else make_sweep_result
    result = make(finished, (), shlex.join(["bakeoff", *words]))
    return {key: getattr(result, key) for key in keys}


def plan_sweep(words: Sequence[str]) -> int | Answer:
    """Show the jobs of a sweep, their problems and their expected duration, without running them.

    With seal=NAME, the question is sealed: metrics=, base=, alpha=, rope= and the jobs are stored with a digest. With
    difference=0.01, the plan says which differences of this size the study would find; the table of a pilot with
    item=NAME, or rates= and agreement=, say how many items of a test set show it.

    Raises
    ------
    UserError
        The command line is invalid, or the jobs cannot be sealed.
    """
    if any(word.startswith(SIZE_WORDS) for word in words):
        return load_part("difference").plan_study(words)
    if not any(word.startswith("seal=") for word in words):
        return answer_sweep(run_sweep([*words, "dry_run=true"]), ["plan", *words])
    sealing = load_part("seal")
    request, others = sealing.divide_words(words)
    report = run_sweep([*others, "dry_run=true"])
    if report is None or report.is_refused:
        return answer_sweep(report, ["plan", *words])
    digest = sealing.seal_jobs(request, report.plan.jobs)
    print(f"sealed as {request.seal} with SHA-256 {digest}; publish the digest where its date can be checked")
    return Answer("seal", lambda: {"seal": request.seal, "sha256": digest})


def rerun_failed_jobs(words: Sequence[str]) -> int | Answer:
    """Run the jobs of earlier sweeps that failed and have never finished, as listed in the store, as a new sweep.

    Anyone who can write to the store can add a job to it. Trust settings of a job and its words for Hydra are therefore
    dropped: only packages named by this command are trusted. Jobs stored by other users are shown.

    Raises
    ------
    UserError
        ``--failed`` is missing, or there is no store.
    """
    from bakeoff.pipeline.commands.run.rerun import RerunRequest, find_failed_jobs

    if FAILED_FLAG not in words:
        raise UserError(
            "rerun: specify which jobs to run again; usage: bakeoff rerun --failed [sweep=NAME] [KEY=VALUE ...]"
        )
    own, others = divide_words(RerunRequest, words)
    failed, notes = find_failed_jobs(read_request("rerun", RerunRequest, [word.lstrip("+") for word in own]))
    if not failed:
        print("no failed job remains to be run again")
        return 0
    for note in notes:
        print(wording.show_in_line(f"note: {note}"), file=sys.stderr)
    packages = read_trust_of_words(words)
    trust = [f"{TRUST_KEY}=[{','.join(packages)}]"] if packages else []
    others = [word for word in others if word != FAILED_FLAG and not is_trust_word(word)]
    return answer_sweep(run_sweep([*others, *trust], [(*trust, *job) for job in failed]), ["rerun", *words])
