"""The table of verbs: the subcommands of the command line."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence

VERBS: Mapping[str, str] = {
    "check": "check_files",
    "compare": "compare_stored_runs",
    "explain": "explain_model",
    "figures": "draw_figures",
    "gc": "collect_garbage",
    "init": "start_project",
    "inspect": "inspect_data",
    "list": "list_options",
    "plan": "plan_sweep",
    "predict": "predict_file",
    "replay": "replay_stored_runs",
    "rerun": "rerun_failed_jobs",
    "rm": "remove_runs",
    "serve": "serve_model",
    "ship": "ship_model",
    "ui": "serve_ui",
}
"""Each verb is a module of this package; its function takes the arguments after the verb and returns the exit code."""


def load_verb(verb: str) -> Callable[[Sequence[str]], int]:
    """Import the module of a verb and return its function."""
    module = importlib.import_module(f"bakeoff.pipeline.cli.{verb}")
    function: Callable[[Sequence[str]], int] = getattr(module, VERBS[verb])
    return function
