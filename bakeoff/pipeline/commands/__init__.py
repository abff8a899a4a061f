"""The commands: each is a folder that can be deleted, together with its rows in the table below.

A command imports the rooms below it, and of other commands only those that `MAY_IMPORT` lists.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True)
class Command:
    """Final: a verb of the command line, whose module is imported when it is called.

    Attributes
    ----------
    usage : str
        Its usual words, for the overview.
    sentence : str
        What it does, for the overview.
    function : str
        The function that runs it, with its module in `bakeoff.pipeline`; it returns the exit code.
    request : str
        The class of its request, with its module; empty for a verb without one.
    words : str
        The words of the verb if they differ from those of the request; the function then receives the words themselves.
    pages : str
        The function that returns further pages of ``bakeoff help`` by name, with its module; empty for none.
    """

    usage: str
    sentence: str
    function: str
    request: str = ""
    words: str = ""
    pages: str = ""


COMMANDS: Mapping[str, Command] = {
    "plan": Command(
        "-m [KEY=VALUE ...]",
        "show the jobs of a sweep and their problems, without running them",
        "commands.run.command.plan_sweep",
        words="[seal=NAME metrics=NAME] [difference=0.01,0.05] KEY=VALUE,VALUE ..., as in a sweep, with or without -m; "
        "or OUTCOMES.csv item=NAME difference=0.01, or rates=0.62,0.60 agreement=0.9",
    ),
    "compare": Command(
        "sweep=latest",
        "report which configuration is better, and how certain that is",
        "commands.compare.command.compare_stored_runs",
        "commands.compare.request.CompareRequest",
        "or -m KEY=VALUE,VALUE ...",
    ),
    "accept": Command(
        "RUN line=NAME",
        "keep a run as the champion of a series of tries, or not",
        "commands.accept.command.judge_run",
        "commands.accept.request.AcceptRequest",
    ),
    "doctor": Command(
        "RUN",
        "examine a run or a sweep, and show each finding with its cure",
        "commands.doctor.command.examine",
        "commands.doctor.request.DoctorRequest",
        pages="commands.doctor.command.read_pages",
    ),
    "diff": Command(
        "A B",
        "show what changed between two runs, and how much each change mattered",
        "commands.diff.command.diff_runs",
        "commands.diff.request.DiffRequest",
        "[KEY=VALUE ...]",
    ),
    "ablate": Command(
        "RUN",
        "show which options of a run matter",
        "commands.diff.command.ablate_run",
        "commands.diff.request.AblateRequest",
        "[KEY=VALUE ...]",
    ),
    "paper": Command(
        "sweep=NAME",
        "write tables, figures and text of a study, and a capsule that others can verify",
        "commands.paper.command.write_study",
        "commands.paper.request.PaperRequest",
    ),
    "verify": Command(
        "CAPSULE",
        "run the jobs of a capsule again, and compare every score",
        "commands.paper.command.verify_study",
        "commands.paper.request.VerifyRequest",
    ),
    "reference": Command(
        "make as=NAME",
        "make, list and verify results by which others compare theirs",
        "commands.reference.command.handle_references",
        "commands.reference.request.ReferenceRequest",
    ),
    "watch": Command(
        "CAPSULE",
        "show whether the verdicts of a capsule still hold, and why not",
        "commands.watch.command.watch_verdicts",
        "commands.watch.request.WatchRequest",
    ),
    "rerun": Command(
        "--failed",
        "run failed jobs again",
        "commands.run.command.rerun_failed_jobs",
        words="--failed [sweep=NAME] [tracking.uri=URI] [KEY=VALUE ...]",
    ),
    "list": Command(
        "[GROUP ...]",
        "list options, and the runs and models of a store",
        "commands.store.listing.list_items",
        "commands.store.listing.ListRequest",
        "or GROUP=OPTION",
    ),
    "inspect": Command(
        "FILE",
        "show the kind of each column of a file, and suspicions",
        "commands.inspect.command.inspect_data",
        "commands.inspect.command.InspectRequest",
    ),
    "work": Command(
        "learner=NAME ...",
        "show a calculation by hand on a small table, and print exercises",
        "commands.work.command.work_by_hand",
        "commands.work.request.WorkRequest",
    ),
    "grade": Command(
        "SHEETS ANSWERS",
        "mark the sheets of a class, and follow each slip through",
        "commands.grade.command.grade_answers",
        "commands.grade.request.GradeRequest",
    ),
    "ship": Command(
        "RUN as=NAME@ALIAS",
        "fit the procedure of a run on all rows, and register the model",
        "commands.serve.command.ship_model",
        "commands.serve.command.ShipRequest",
    ),
    "predict": Command(
        "MODEL FILE",
        "predict with the model of a run, or with a registered one",
        "commands.serve.command.predict_rows",
        "commands.serve.command.PredictRequest",
    ),
    "explain": Command(
        "MODEL",
        "show which columns the predictions of a model rely on",
        "commands.explain.command.explain_model",
        "commands.explain.command.ExplainRequest",
    ),
    "serve": Command(
        "MODEL",
        "answer requests for predictions over HTTP",
        "commands.serve.command.serve_model",
        "commands.serve.command.ServeRequest",
    ),
    "figures": Command(
        "RUN [NAME ...]",
        "draw figures of a finished run",
        "commands.figures.command.draw_figures",
        "commands.figures.command.FiguresRequest",
    ),
    "report": Command(
        "RUN",
        "write a page about a finished run, which can be mailed",
        "commands.report.command.report_run",
        "commands.report.command.ReportRequest",
    ),
    "replay": Command(
        "RUN",
        "repeat a stored run, and compare every number to the last bit",
        "commands.replay.command.replay_stored_runs",
        "commands.replay.command.ReplayRequest",
    ),
    "rm": Command(
        "RUN ...",
        "delete runs with their artifacts and models",
        "commands.store.command.remove_runs",
        "commands.store.removal.RemovalRequest",
    ),
    "gc": Command(
        "",
        "delete what remains of runs that were deleted in MLflow",
        "commands.store.command.collect_garbage",
        "commands.store.removal.CollectionRequest",
    ),
    "init": Command(
        "FOLDER",
        "create a project folder for user-defined datasets, learners and metrics",
        "commands.init.command.start_project",
        "commands.init.project.ProjectRequest",
    ),
    "check": Command(
        "FILE",
        "test a user-defined part",
        "commands.init.command.check_parts",
        "commands.init.project.CheckRequest",
    ),
    "schema": Command(
        "",
        "write a JSON Schema, with which editors check YAML files",
        "commands.init.command.write_schema",
        "commands.init.command.SchemaRequest",
    ),
    "ui": Command(
        "",
        "open MLflow's pages on the store",
        "commands.store.command.serve_ui",
        "commands.store.pages.PagesRequest",
    ),
}
"""Each verb, in the order of the overview."""
MAY_IMPORT: Mapping[str, tuple[str, ...]] = {
    "accept": ("compare", "comparison_report", "significance", "repetition"),
    "compare": ("comparison_report", "significance"),
    "comparison_report": ("drawing", "significance"),
    "diff": ("compare", "comparison_report", "explain", "significance", "repetition"),
    "doctor": ("compare", "diff", "comparison_report", "significance", "repetition"),
    "explain": ("drawing", "repetition"),
    "figures": ("drawing", "repetition"),
    "grade": ("work",),
    "init": ("repetition",),
    "items": ("compare", "comparison_report", "significance"),
    "paper": ("compare", "comparison_report", "significance", "repetition"),
    "reference": ("compare", "paper", "comparison_report", "significance", "repetition"),
    "replay": ("repetition",),
    "report": ("figures", "significance", "repetition"),
    "serve": ("repetition",),
    "study": ("compare", "comparison_report", "significance"),
    "watch": ("compare", "paper", "comparison_report", "repetition"),
    "work": ("drawing",),
}
"""The folder of a command -> the folders of other commands that it may import."""
PARTS: Mapping[str, str] = {
    "item": "commands.items.item_comparison",
    "plan": "commands.study.study_size",
    "difference": "commands.study.plan_study",
    "seal": "commands.study.seal",
    "reference": "commands.reference.reference_file",
}
"""A word of a verb -> the module that does its work in the folder of another one, without which the verb works."""


def load(name: str) -> Any:
    """Import a module of `bakeoff.pipeline` and return the function or class with this dotted name."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(f"bakeoff.pipeline.{module}"), attribute)


def load_part(word: str) -> Any:
    """Import the module that does the work of a word.

    Raises
    ------
    UserError
        Its folder and its row were deleted.
    """
    if word not in PARTS:
        raise UserError(
            f"{word}= needs a part of bakeoff that is not installed; install bakeoff again, or omit {word}=."
        )
    return import_module(f"bakeoff.pipeline.{PARTS[word]}")


def read_pages() -> dict[str, str]:
    """Return the pages of ``bakeoff help`` that are not about a verb, by name."""
    return {name: page for each in COMMANDS.values() if each.pages for name, page in load(each.pages)().items()}
