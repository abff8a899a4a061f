"""The arguments of a command line: its subcommands, called verbs, and Hydra's flags, in any order."""

from __future__ import annotations

import importlib
import inspect
import os
from argparse import ArgumentError, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.errors import UserError, did_you_mean, placing_errors
from bakeoff.pipeline.text.secrets import hide_secrets

if TYPE_CHECKING:
    from bakeoff.pipeline.config.engine import ConfigSource


VERSION_FLAG = "--version"
MULTIRUN_FLAGS = ("-m", "--multirun")


def read_flags(words: Sequence[str]) -> Namespace:
    """Return the flags of a command line, with its other words under ``overrides``.

    Parameters
    ----------
    words : sequence of str

    Raises
    ------
    UserError
        A flag does not exist, has an invalid value, or would read a pickle.

    Examples
    --------
    >>> arguments = read_flags(["learner=knn", "--cfg", "job", "dataset=iris"])
    >>> arguments.overrides, arguments.cfg
    (['learner=knn', 'dataset=iris'], 'job')
    """
    from bakeoff.pipeline.config.engine import make_flag_parser

    parser = make_flag_parser()
    parser.exit_on_error = False
    try:
        arguments, unknown = parser.parse_known_intermixed_args(words)
    except ArgumentError as error:
        raise UserError(f"{error}.") from None
    if unknown:
        known = parser._option_string_actions
        raise UserError(
            f"{unknown[0]} is not a flag. {did_you_mean(unknown[0], known)} Values are written as KEY=VALUE."
        )
    if arguments.experimental_rerun is not None:
        raise UserError(
            "--experimental-rerun reads a pickle, which may run code; `bakeoff rerun --failed` runs stored jobs again, "
            "and `bakeoff replay RUN` repeats a run."
        )
    return arguments


def find_source(arguments: Namespace) -> ConfigSource:
    """Return the configuration files that the flags specify."""
    from bakeoff.pipeline.config.engine import ROOT_NAME, ConfigSource

    root = os.path.abspath(arguments.config_path) if arguments.config_path else ""
    return ConfigSource(root, arguments.config_name or ROOT_NAME, arguments.config_dir)


TRACEBACK_VARIABLE = "HYDRA_FULL_ERROR"
"""Hydra's environment variable; 1 shows the tracebacks of errors that no message explains."""


def shows_tracebacks() -> bool:
    """Whether the user asks for the tracebacks of errors."""
    return os.environ.get(TRACEBACK_VARIABLE) == "1"


def shows_only(arguments: Namespace) -> bool:
    """Whether the flags request output instead of a run."""
    others = (arguments.hydra_help, arguments.cfg, arguments.shell_completion)
    return any(others) or arguments.info is not None


def show(arguments: Namespace, source: ConfigSource) -> None:
    """Print the requested output.

    Parameters
    ----------
    arguments : Namespace
        The flags and overrides.
    source : ConfigSource
        The configuration files.

    Raises
    ------
    UserError
        The configuration is invalid.
    """
    from bakeoff.pipeline.config.engine import explain_error, make_flag_parser, open_engine

    words = arguments.overrides
    os.environ[TRACEBACK_VARIABLE] = "1"  # Hydra raises its errors instead of printing them
    root = source.root
    try:
        with open_engine(source) as engine:
            if arguments.hydra_help:
                engine.hydra_help(config_name=root, args_parser=make_flag_parser(), args=arguments)
            elif arguments.cfg:
                _show_configuration(engine, root, arguments)
            elif arguments.shell_completion:
                engine.shell_completion(config_name=root, overrides=words)
            else:
                engine.show_info(arguments.info, config_name=root, overrides=words)
    except Exception as error:
        raise explain_error(error) from None


def _show_configuration(engine: Any, root: str, arguments: Namespace) -> None:
    # With --resolve, values replace references.
    with redirect_stdout(StringIO()) as shown:
        engine.show_cfg(
            config_name=root,
            overrides=arguments.overrides,
            cfg_type=arguments.cfg,
            package=arguments.package,
            resolve=arguments.resolve,
        )
    print(hide_secrets(shown.getvalue(), " ".join(arguments.overrides)), end="")


HELP_FLAGS = ("-h", "--help")


@dataclass(frozen=True)
class Verb:
    """A subcommand.

    Attributes
    ----------
    function : str
        The function that runs the verb, with its module in `bakeoff.pipeline`; it returns the exit code.
    request : str
        The request class, with its module in `bakeoff.pipeline`; empty for a verb without one.
    words : str
        The words of the verb if they differ from those of the request; the function then receives the words themselves.
    """

    function: str
    request: str = ""
    words: str = ""


VERBS: Mapping[str, Verb] = {
    "ablate": Verb("cli.difference.ablate_run", "comparison.request.AblateRequest", "[KEY=VALUE ...]"),
    "check": Verb("cli.parts.check_parts", "parts.project.CheckRequest"),
    "compare": Verb(
        "cli.compare.compare_stored_runs", "comparison.request.CompareRequest", "or -m KEY=VALUE,VALUE ..."
    ),
    "diff": Verb("cli.difference.diff_runs", "comparison.request.DiffRequest", "[KEY=VALUE ...]"),
    "explain": Verb("cli.models.explain_model", "explanation.request.ExplainRequest"),
    "figures": Verb("cli.stored_runs.draw_figures", "replay.request.FiguresRequest"),
    "gc": Verb("cli.stored_runs.collect_garbage", "tracking.removal.CollectionRequest"),
    "help": Verb("cli.help.show_help", words="[VERB ...]"),
    "init": Verb("cli.parts.start_project", "parts.project.ProjectRequest"),
    "inspect": Verb("cli.parts.inspect_data", "inspection.request.InspectRequest"),
    "list": Verb("cli.listing.list_items", "config.requests.ListRequest", "or GROUP=OPTION"),
    "paper": Verb("cli.paper.write_study", "paper.request.PaperRequest"),
    "plan": Verb(
        "cli.run.plan_sweep",
        words="[seal=NAME metrics=NAME] KEY=VALUE,VALUE ..., as in a sweep, with or without -m",
    ),
    "predict": Verb("cli.models.predict_rows", "serving.request.PredictRequest"),
    "replay": Verb("cli.stored_runs.replay_stored_runs", "replay.request.ReplayRequest"),
    "rerun": Verb("cli.run.rerun_failed_jobs", words="--failed [sweep=NAME] [tracking.uri=URI] [KEY=VALUE ...]"),
    "rm": Verb("cli.stored_runs.remove_runs", "tracking.removal.RemovalRequest"),
    "schema": Verb("cli.listing.write_schema", "config.requests.SchemaRequest"),
    "serve": Verb("cli.models.serve_model", "serving.request.ServeRequest"),
    "ship": Verb("cli.models.ship_model", "serving.request.ShipRequest"),
    "ui": Verb("cli.stored_runs.serve_ui", "tracking.views.PagesRequest"),
    "verify": Verb("cli.paper.verify_study", "paper.request.VerifyRequest"),
    "work": Verb("cli.work.work_by_hand", "work.request.WorkRequest"),
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
