"""Flags that show what Hydra composes, and run nothing."""

from __future__ import annotations

import os
from argparse import Namespace
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import hide_secrets

if TYPE_CHECKING:
    from bakeoff.pipeline.config.engine import ConfigSource

ACTIONS = ("run", "multirun", "cfg", "info", "shell_completion")
"""Flags of which a command has one at most."""
RAISING_VARIABLE = "HYDRA_FULL_ERROR"
"""With 1, Hydra raises its errors instead of printing them."""


def shows_only(arguments: Namespace) -> bool:
    """Whether the flags ask for something to be shown."""
    is_help = arguments.help or arguments.hydra_help
    return bool(is_help or arguments.cfg or arguments.info is not None or arguments.shell_completion)


def show(arguments: Namespace, source: ConfigSource) -> None:
    """Print what the flags ask for.

    Parameters
    ----------
    arguments : Namespace
        The flags and overrides.
    source : ConfigSource
        The files.

    Raises
    ------
    UserError
        The flags ask for several things, or the configuration is invalid.
    """
    from bakeoff.pipeline.config.engine import make_flag_parser, open_engine, register_schema
    from bakeoff.pipeline.config.messages import explain_error

    words = arguments.overrides
    given = [name for name in ACTIONS if getattr(arguments, name) not in (False, None)]
    if len(given) > 1:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UserError(f"{flags} cannot be given together; give one of them.")
    register_schema()
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
    # With --resolve, values take the place of references.
    with redirect_stdout(StringIO()) as shown:
        engine.show_cfg(
            config_name=root,
            overrides=arguments.overrides,
            cfg_type=arguments.cfg,
            package=arguments.package,
            resolve=arguments.resolve,
        )
    print(hide_secrets(shown.getvalue(), " ".join(arguments.overrides)), end="")
