"""The options of each group: the files of ``conf/``, and user-defined ones.

The YAML files in ``conf/`` of the current folder are added to those of bakeoff if it contains a folder named after a
group of options. With a file ``config.yaml`` it is shipped with bakeoff, or belongs to another program that uses Hydra,
and is ignored.

Two groups are for user-defined options only:
``metric``, with names for ``evaluation.metrics``, and ``figure``, with names for ``figures``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

import bakeoff
from bakeoff.pipeline.errors import UserError

CONF = Path(bakeoff.__file__).parent / "conf"
GROUPS = (
    "dataset", "preprocessing", "learner", "space", "tuning", "pruning", "balance", "target", "calibration",
    "threshold", "evaluation", "audit", "tracking", "search", "experiment",
)  # fmt: skip
OWN_FOLDER = "conf"
OWN_GROUPS = ("metric", "figure")
"""Groups without options shipped with bakeoff."""
ALL_GROUPS = frozenset((*GROUPS, *OWN_GROUPS))
ROOT_FILE = "config.yaml"
SUFFIX = ".yaml"


def read_options(group: str) -> dict[str, str]:
    """Return the options of a group, each with the sentence in its first comment.

    Parameters
    ----------
    group : str
        A folder of ``conf/``.
    """
    return read_sentences(sorted((CONF / group).glob("*.yaml")))


def read_sentences(files: Iterable[Path]) -> dict[str, str]:
    """Return the names of the options in files, each with the sentence in its first comment."""
    options = {}
    for file in files:
        lines = file.read_text(errors="replace").splitlines()
        comments = [line for line in lines if line.startswith("#") and "@package" not in line]
        options[file.stem] = comments[0].lstrip("# ") if comments else ""
    return options


def read_option(group: str, name: str) -> dict[str, Any]:
    """Return the keys in the file of a shipped or user-defined option; empty if there is none.

    Parameters
    ----------
    group : str
        A folder of ``conf/``.
    name : str

    Raises
    ------
    UserError
        The file of a user-defined option is not valid YAML.
    """
    file = CONF / group / f"{name}{SUFFIX}"
    if file.is_file():
        keys: dict[str, Any] = yaml.safe_load(file.read_text()) or {}
        return keys
    own = next((file for file in list_own_files(group) if file.stem == name), None)
    return {} if own is None else load_own_file(own)


def find_own_folder() -> Path | None:
    """Return the folder with user-defined options; None if the current folder has none."""
    folder = Path.cwd() / OWN_FOLDER
    return folder if _has_groups(folder) and not (folder / ROOT_FILE).is_file() else None


def require_own_names(folder: Path) -> None:
    """Reject user-defined options with the name of one of bakeoff.

    Parameters
    ----------
    folder : Path
        As `find_own_folder` returns it.

    Raises
    ------
    UserError
    """
    for file in sorted(folder.rglob(f"*{SUFFIX}")):
        inner = file.relative_to(folder)
        if len(inner.parts) > 1 and (CONF / inner).is_file():
            raise UserError(f"{_show(file)} has the name of an option of bakeoff; give the file another name.")


def list_own_files(group: str) -> list[Path]:
    """Return the files of the user-defined options of a group, sorted by name."""
    folder = find_own_folder()
    return [] if folder is None else sorted((folder / group).glob(f"*{SUFFIX}"))


def list_own_names(group: str) -> list[str]:
    """Return the names of the user-defined options of a group."""
    return [file.stem for file in list_own_files(group)]


def read_own_listing(group: str) -> dict[str, str]:
    """Return the user-defined options of a group, each with its sentence, or with the error in its file."""
    files = list_own_files(group)
    sentences = read_sentences(files)
    for file in files:
        try:
            load_own_file(file)
        except UserError as error:
            sentences[file.stem] = str(error)
    return sentences


def read_own_node(group: str, name: str) -> dict[str, Any] | None:
    """Return the keys of a user-defined metric or figure; None if no such name exists.

    Hydra does not compose these files, because they are named in lists.

    Parameters
    ----------
    group : {"metric", "figure"}
    name : str

    Raises
    ------
    UserError
        The file is not valid YAML, contains no ``_target_``, or needs to be composed.
    """
    if name not in list_own_names(group):
        return None
    keys = read_option(group, name)
    file = f"{OWN_FOLDER}/{group}/{name}{SUFFIX}"
    if "_target_" not in keys:
        raise UserError(f"{file} has no _target_: it must name the class or function of the {group}.")
    if "defaults" in keys or "${" in str(keys):
        raise UserError(f"{file} must hold plain values: a {group} can refer neither to files nor to keys.")
    return keys


def load_own_file(file: Path) -> dict[str, Any]:
    """Return the keys in the file of a user-defined option.

    Parameters
    ----------
    file : Path

    Raises
    ------
    UserError
        The file is not valid YAML, or not a mapping; the message contains the line.
    """
    try:
        keys = yaml.safe_load(file.read_text())
    except yaml.YAMLError as error:
        raise UserError(explain_yaml_error(error, _show(file))) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{_show(file)} cannot be read: {error}") from error
    if not isinstance(keys, dict):
        raise UserError(f"{_show(file)} must hold keys with values, one on each line, such as _target_: mine.MyClass.")
    return keys


def explain_yaml_error(error: yaml.YAMLError, name: str = "") -> str:
    """Return a sentence about a YAML error, with the file and the line.

    Parameters
    ----------
    error : yaml.YAMLError
    name : str
        The name of the file; by default the one in the error.

    Examples
    --------
    >>> try:
    ...     yaml.safe_load("k: [1, 2")
    ... except yaml.YAMLError as error:
    ...     print(explain_yaml_error(error, "mine.yaml"))
    mine.yaml, line 1: this is not YAML: expected ',' or ']', but got '<stream end>'.
    """
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or " ".join(str(error).split())
    if mark is None:
        return f"{name or 'a file of options'}: this is not YAML: {problem}."
    file = name or _show(Path(str(mark.name)))
    return f"{file}, line {mark.line + 1}: this is not YAML: {problem}."


def _has_groups(folder: Path) -> bool:
    """Return whether a folder exists and has a subfolder named after a group of options."""
    try:
        with os.scandir(folder) as entries:
            return any(entry.name in ALL_GROUPS and entry.is_dir() for entry in entries)
    except OSError:
        return False


def _show(path: Path) -> str:
    """Return a path relative to the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
