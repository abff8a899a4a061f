"""The table of verbs: the subcommands of the command line, their requests, and their help."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.errors import placing_errors

HELP_FLAGS = ("-h", "--help")


@dataclass(frozen=True)
class Verb:
    """A subcommand.

    Attributes
    ----------
    function : str
        The function that runs it, with its module in this package. It returns the exit code.
    request : str
        The class of its request, with its module in `bakeoff.pipeline`; empty for a verb that takes words of Hydra.
    words : str
        Its words, if it takes others than those of the request: then the function gets the words themselves.
    """

    function: str
    request: str = ""
    words: str = ""


VERBS: Mapping[str, Verb] = {
    "check": Verb("parts.check_parts", "parts.part_file.CheckRequest"),
    "compare": Verb("compare.compare_stored_runs", "comparison.request.CompareRequest", "or -m KEY=VALUE,VALUE ..."),
    "explain": Verb("models.explain_model", "explanation.request.ExplainRequest"),
    "figures": Verb("stored_runs.draw_figures", "replay.request.FiguresRequest"),
    "gc": Verb("stored_runs.collect_garbage", "tracking.removal.CollectionRequest"),
    "init": Verb("parts.start_project", "parts.project.ProjectRequest"),
    "inspect": Verb("parts.inspect_data", "inspection.request.InspectRequest"),
    "list": Verb("listing.list_options", "config.requests.ListRequest"),
    "plan": Verb("run.plan_sweep", words="KEY=VALUE,VALUE ..., as for the sweep, with or without -m"),
    "predict": Verb("models.predict_rows", "serving.request.PredictRequest"),
    "replay": Verb("stored_runs.replay_stored_runs", "replay.request.ReplayRequest"),
    "rerun": Verb("run.rerun_failed_jobs", words="--failed [sweep=NAME] [tracking.uri=URI] [KEY=VALUE ...]"),
    "rm": Verb("stored_runs.remove_runs", "tracking.removal.RemovalRequest"),
    "serve": Verb("models.serve_model", "serving.request.ServeRequest"),
    "ship": Verb("models.ship_model", "serving.request.ShipRequest"),
    "ui": Verb("stored_runs.serve_ui", "tracking.views.PagesRequest"),
}


def load_verb(verb: str) -> Callable[[Any], int]:
    """Import the module of a verb and return its function."""
    module, _, name = VERBS[verb].function.partition(".")
    function: Callable[[Any], int] = getattr(importlib.import_module(f"bakeoff.pipeline.cli.{module}"), name)
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
    if any(word in HELP_FLAGS for word in words) or (verb == "compare" and not words):
        print(format_help(verb))
        return 0
    function = load_verb(verb)
    request = load_request(verb)
    with placing_errors(verb):
        if request is None or VERBS[verb].words:
            return function(words)
        from bakeoff.pipeline.config.requests import read_request

        return function(read_request(verb, request, words))


def format_help(verb: str) -> str:
    """Return the description of a verb, and the words that it accepts."""
    summary = (inspect.getdoc(load_verb(verb)) or "").partition("\n\n")[0]
    request = load_request(verb)
    if request is None:
        return f"bakeoff {verb} {VERBS[verb].words}\n\n{summary}"
    # It imports packages, which a folder of that name in the current one must not replace.
    from bakeoff.pipeline.config.requests import format_arguments, format_usage

    usage = " ".join([format_usage(verb, request), VERBS[verb].words]).strip()
    return f"{usage}\n\n{summary}\n\n{format_arguments(request)}"
