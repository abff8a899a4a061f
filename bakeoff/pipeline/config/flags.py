"""The flags of a command line: those of Hydra, and what they show instead of a run."""

from __future__ import annotations

import os
from argparse import ArgumentError, Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

from bakeoff.pipeline.errors import UserError, did_you_mean
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
    from bakeoff.pipeline.config.engine import make_flag_parser, open_engine

    words = arguments.overrides
    os.environ[TRACEBACK_VARIABLE] = "1"  # Hydra raises its errors instead of printing them
    root = source.root
    with open_engine(source) as engine:
        if arguments.hydra_help:
            engine.hydra_help(config_name=root, args_parser=make_flag_parser(), args=arguments)
        elif arguments.cfg:
            # With --resolve, values replace references.
            with redirect_stdout(StringIO()) as shown:
                engine.show_cfg(
                    config_name=root,
                    overrides=words,
                    cfg_type=arguments.cfg,
                    package=arguments.package,
                    resolve=arguments.resolve,
                )
            print(hide_secrets(shown.getvalue(), " ".join(words)), end="")
        elif arguments.shell_completion:
            engine.shell_completion(config_name=root, overrides=words)
        else:
            engine.show_info(arguments.info, config_name=root, overrides=words)
