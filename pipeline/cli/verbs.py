"""The table of verbs: the subcommands of the command line, their requests, and their help."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bakeoff.pipeline.errors import placing_errors

HELP_FLAGS = ("-h", "--help")


@dataclass(frozen=True)
class Verb:
    """A subcommand: a module of this package.

    Attributes
    ----------
    function : str
        The function of the module, which takes the words after the verb and returns the exit code.
    request : str
        The class of its request, with its module in `bakeoff.pipeline`; empty for a verb that takes words of Hydra.
    words : str
        Its words, if it has no request, or takes others beside those of the request.
    """

    function: str
    request: str = ""
    words: str = ""


VERBS: Mapping[str, Verb] = {
    "check": Verb("print_findings", "parts.part_file.CheckRequest"),
    "compare": Verb("compare_stored_runs", "comparison.request.CompareRequest", "or -m KEY=VALUE,VALUE ..."),
    "explain": Verb("explain_model", "explanation.request.ExplainRequest"),
    "figures": Verb("draw_figures", "replay.request.FiguresRequest"),
    "gc": Verb("collect_garbage", "tracking.removal.CollectionRequest"),
    "init": Verb("start_project", "parts.project.ProjectRequest"),
    "inspect": Verb("inspect_data", "inspection.request.InspectRequest"),
    "list": Verb("list_options", "config.listing.ListRequest"),
    "plan": Verb("plan_sweep", words="KEY=VALUE,VALUE ..., as for the sweep, with or without -m"),
    "predict": Verb("predict_rows", "serving.request.PredictRequest"),
    "replay": Verb("replay_stored_runs", "replay.request.ReplayRequest"),
    "rerun": Verb("rerun_failed_jobs", words="--failed [sweep=NAME] [tracking.uri=URI] [KEY=VALUE ...]"),
    "rm": Verb("remove_runs", "tracking.removal.RemovalRequest"),
    "serve": Verb("serve_model", "serving.request.ServeRequest"),
    "ship": Verb("ship_model", "shipping.request.ShipRequest"),
    "ui": Verb("serve_ui", "tracking.open_pages.PagesRequest"),
}


def load_verb(verb: str) -> Callable[[Sequence[str]], int]:
    """Import the module of a verb and return its function."""
    module = importlib.import_module(f"bakeoff.pipeline.cli.{verb}")
    function: Callable[[Sequence[str]], int] = getattr(module, VERBS[verb].function)
    return function


def load_request(verb: str) -> type | None:
    """Import the class of a verb's request and return it; None if it has none."""
    if not VERBS[verb].request:
        return None
    module, _, name = VERBS[verb].request.rpartition(".")
    request: type = getattr(importlib.import_module(f"bakeoff.pipeline.{module}"), name)
    return request


def run_verb(verb: str, words: Sequence[str]) -> int:
    """Run a verb, or print its help, and return the exit code.

    Raises
    ------
    UserError
        Its message begins with the verb.
    """
    function = load_verb(verb)
    if any(word in HELP_FLAGS for word in words) or (verb == "compare" and not words):
        print(format_help(verb))
        return 0
    with placing_errors(verb):
        return function(words)


def format_help(verb: str) -> str:
    """Return what a verb does, and the words that it takes."""
    summary = (inspect.getdoc(load_verb(verb)) or "").partition("\n\n")[0]
    request = load_request(verb)
    if request is None:
        return f"bakeoff {verb} {VERBS[verb].words}\n\n{summary}"
    # It imports packages, which a folder of that name in the current one must not replace.
    from bakeoff.pipeline.config.requests import format_arguments, format_usage

    usage = " ".join([format_usage(verb, request), VERBS[verb].words]).strip()
    return f"{usage}\n\n{summary}\n\n{format_arguments(request)}"
