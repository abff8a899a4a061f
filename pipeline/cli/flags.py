"""Hydra's flags among the arguments of a command line, in any order."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.secrets import hide_secrets

if TYPE_CHECKING:
    from bakeoff.pipeline.config.engine import ConfigSource

VERSION_FLAG = "--version"
MULTIRUN_FLAGS = ("-m", "--multirun")


def read_flags(words: Sequence[str]) -> Namespace:
    """Return the flags of a command line, and under ``overrides`` its other words.

    Parameters
    ----------
    words : sequence of str

    Raises
    ------
    UserError
        There is no such flag, or it would read a pickle.

    Examples
    --------
    >>> arguments = read_flags(["learner=knn", "--cfg", "job", "dataset=iris"])
    >>> arguments.overrides, arguments.cfg
    (['learner=knn', 'dataset=iris'], 'job')
    """
    from bakeoff.pipeline.config.engine import make_flag_parser

    parser = make_flag_parser()
    arguments, unknown = parser.parse_known_intermixed_args(words)
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


def find_source(arguments: Namespace, trust: Sequence[str]) -> ConfigSource:
    """Return the files that the flags name.

    Parameters
    ----------
    arguments : Namespace
    trust : sequence of str
        Packages whose code may run: a folder in a package would import it.

    Raises
    ------
    UserError
        The folder is in a package that is not trusted.
    """
    from bakeoff.pipeline.config.engine import ROOT_NAME, ConfigSource
    from bakeoff.pipeline.config.trust import PACKAGE_SCHEME, require_trusted_folder

    root = arguments.config_path or ""
    if root:
        require_trusted_folder("--config-path", root, tuple(trust))
    if root and not root.startswith(PACKAGE_SCHEME):
        root = os.path.abspath(root)
    return ConfigSource(root, arguments.config_name or ROOT_NAME, arguments.config_dir)


RAISING_VARIABLE = "HYDRA_FULL_ERROR"
"""With 1, Hydra raises its errors instead of printing them."""


def shows_only(arguments: Namespace) -> bool:
    """Whether the flags request output instead of a run."""
    is_help = arguments.help or arguments.hydra_help
    return bool(is_help or arguments.cfg or arguments.info is not None or arguments.shell_completion)


def show(arguments: Namespace, source: ConfigSource) -> None:
    """Print the requested output.

    Parameters
    ----------
    arguments : Namespace
        The flags and overrides.
    source : ConfigSource
        The files.

    Raises
    ------
    UserError
        The configuration is invalid.
    """
    from bakeoff.pipeline.config.engine import make_flag_parser, open_engine
    from bakeoff.pipeline.config.messages import explain_error

    words = arguments.overrides
    os.environ[RAISING_VARIABLE] = "1"
    root = source.root
    try:
        with open_engine(source) as engine:
            if arguments.help:
                engine.app_help(config_name=root, args_parser=make_flag_parser(), args=arguments)
            elif arguments.hydra_help:
                engine.hydra_help(config_name=root, args_parser=make_flag_parser(), args=arguments)
            elif arguments.cfg:
                _show_configuration(engine, root, arguments)
            elif arguments.shell_completion:
                engine.shell_completion(config_name=root, overrides=words)
            else:
                engine.show_info(arguments.info, config_name=root, overrides=words)
    except Exception as error:
        raise explain_error(error, words) from None


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
