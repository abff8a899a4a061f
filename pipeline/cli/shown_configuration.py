"""Flags that show what Hydra composes, and run nothing."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import hide_secrets

ACTIONS = ("run", "multirun", "cfg", "info", "shell_completion")
"""Flags of which a command has one at most."""


def shows_only(arguments: Namespace) -> bool:
    """Whether the flags ask for something to be shown."""
    is_help = arguments.help or arguments.hydra_help
    return bool(is_help or arguments.cfg or arguments.info is not None or arguments.shell_completion)


def show(engine: Any, root: str, parser: ArgumentParser, arguments: Namespace) -> None:
    """Print what the flags ask for.

    Parameters
    ----------
    engine : Hydra
    root : str
        The name of the root file.
    parser : ArgumentParser
        Hydra's, whose flags its help lists.
    arguments : Namespace
        The flags and overrides.

    Raises
    ------
    UserError
        The flags ask for several things.
    """
    words = arguments.overrides
    given = [name for name in ACTIONS if getattr(arguments, name) not in (False, None)]
    if len(given) > 1:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UserError(f"{flags} cannot be given together; give one of them.")
    if arguments.help:
        engine.app_help(config_name=root, args_parser=parser, args=arguments)
    elif arguments.hydra_help:
        engine.hydra_help(config_name=root, args_parser=parser, args=arguments)
    elif arguments.cfg:
        # With --resolve, values take the place of references.
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
