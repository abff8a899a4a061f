"""Hydra's flags among the arguments of a command line, in any order."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.secrets import hide_secrets

if TYPE_CHECKING:
    from bakeoff.pipeline.config.engine import ConfigSource

FLAG_PREFIX = "-"
VERSION_FLAG = "--version"
MULTIRUN_FLAGS = ("-m", "--multirun")
FILE_SUFFIXES = (".yaml", ".yml")
NO_VALUE_PREFIXES = (FLAG_PREFIX, "~", "+")


def read_flags(words: Sequence[str]) -> Namespace:
    """Return the flags of a command line, and under ``overrides`` its other words.

    Parameters
    ----------
    words : sequence of str

    Raises
    ------
    UserError
        There is no such flag, or it would read a pickle, or has no effect.

    Examples
    --------
    >>> arguments = read_flags(["learner=knn", "--cfg", "job", "dataset=iris"])
    >>> arguments.overrides, arguments.cfg
    (['learner=knn', 'dataset=iris'], 'job')
    """
    from bakeoff.pipeline.config.engine import make_flag_parser

    flags: list[str] = []
    overrides: list[str] = []
    for position, word in enumerate(words):
        is_flag = word.startswith(FLAG_PREFIX)
        if is_flag:
            _require_flag(word)
        if is_flag or (position > 0 and _takes_value(words[position - 1], word)):
            flags.append(word)
        else:
            overrides.append(word)
    arguments = make_flag_parser().parse_args([*overrides, *flags])  # after a flag it takes no overrides
    if arguments.experimental_rerun is not None:
        raise UserError(
            "--experimental-rerun reads a pickle, which may run code; `bakeoff rerun --failed` runs stored jobs again, "
            "and `bakeoff replay RUN` repeats a run."
        )
    is_shown = arguments.cfg or arguments.help
    if arguments.resolve and not is_shown:
        raise UserError("--resolve has no effect without --cfg or --help; add --cfg job, or leave it out.")
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
        A folder cannot be read, or is in a package that is not trusted.
    """
    from bakeoff.pipeline.config.engine import ROOT_NAME, ConfigSource
    from bakeoff.pipeline.config.trust import PACKAGE_SCHEME, require_trusted_folder

    root = arguments.config_path or ""
    if root.endswith(FILE_SUFFIXES):
        raise UserError(f"--config-path={root} is a file; name its folder, and the file by --config-name.")
    if root:
        require_trusted_folder("--config-path", root, tuple(trust))
    if root and not root.startswith(PACKAGE_SCHEME):
        root = os.path.abspath(root)
    return ConfigSource(root, arguments.config_name or ROOT_NAME, arguments.config_dir)


def _takes_value(flag: str, following: str) -> bool:
    """Whether a word is a flag, and the next word is its value."""
    if not flag.startswith(FLAG_PREFIX):
        return False
    name, has_value, _ = flag.partition("=")
    is_open = _list_flags()[name].nargs != 0 and not has_value
    return is_open and "=" not in following and not following.startswith(NO_VALUE_PREFIXES)


def _require_flag(word: str) -> None:
    name = word.partition("=")[0]
    known = _list_flags()
    if name not in known:
        raise UserError(f"{word} is not a flag. {did_you_mean(name, known)} Values are written as KEY=VALUE.")


def _list_flags() -> Mapping[str, Any]:
    """Return the flags of Hydra, with the entry of each in its parser."""
    from bakeoff.pipeline.config.engine import make_flag_parser

    flags: Mapping[str, Any] = make_flag_parser()._option_string_actions
    return flags


ACTIONS = ("run", "multirun", "cfg", "info", "shell_completion")
"""Mutually exclusive flags."""
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
        The flags ask for several things, or the configuration is invalid.
    """
    from bakeoff.pipeline.config.engine import make_flag_parser, open_engine
    from bakeoff.pipeline.config.messages import explain_error

    words = arguments.overrides
    given = [name for name in ACTIONS if getattr(arguments, name) not in (False, None)]
    if len(given) > 1:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UserError(f"{flags} cannot be given together; give one of them.")
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
