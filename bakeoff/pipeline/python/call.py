"""Common steps of Python calls: converting arguments to words, preserving the process state, and issuing warnings.

The argument ``dataset`` is also converted to words; tables are written to files and then treated like other datasets.
"""

import hashlib
import os
import shlex
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.config import compose_job, engine, options, trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.identity.source_code import UserModuleFinder, remove_finders
from bakeoff.pipeline.stages.dataset.keys import LIST_KEYS
from bakeoff.pipeline.stages.dataset.typed_table import read_frame
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.text import secrets, wording

NESTING = "__"
"""Replaces a dot in the name of a keyword argument, as in scikit-learn."""
UNSWEPT_KEYS = ("trust", "figures", "space")
"""Keys for which a list is a single value in a sweep."""
COLUMN_KEYS = tuple(f"dataset.{key}" for key in LIST_KEYS)
"""Keys that each job of a sweep needs as a list, so a list of names is one value."""
CONFIG_FLAG = "--config-dir"
MAX_SHOWN_LETTERS = 60


def read_words(words: Sequence[Any], keys: Mapping[str, Any], *, is_sweep: bool = False) -> list[str]:
    """Return the words and keyword arguments of a call as words of a command line, without secrets.

    Parameters
    ----------
    words : sequence of str
        ``KEY=VALUE``, each as a separate string.
    keys : mapping of str to object
        Keyword arguments, as for `make_words`.
    is_sweep : bool
        Whether a list contains one value for each job.

    Raises
    ------
    UserError
        A word is not KEY=VALUE, or a value cannot be written in a configuration.
    """
    for word in words:
        if not isinstance(word, str) or word.startswith("-") or not ("=" in word or word.startswith("~")):
            raise UserError(
                f"{wording.cut_text(repr(word), MAX_SHOWN_LETTERS)} is not a string KEY=VALUE, such as 'learner=knn'."
            )
    return secrets.conceal_words(trust.add_trust_of_environment([*words, *make_words(keys, is_sweep)]))[0]


def make_words(values: Mapping[str, Any], is_sweep: bool = False) -> list[str]:
    """Return keyword arguments as words of a command line.

    Parameters
    ----------
    values : mapping of str to object
        Key -> value, with two underscores or a dot between the parts of a key. A string for a group, such as
        ``learner``, is used unchanged, so that ``"knn,svm"`` and ``"glob(*)"`` have the same meaning as on the command
        line; every other string is a value. A mapping sets several keys of a group.
    is_sweep : bool
        Whether a list contains one value for each job. Lists for `UNSWEPT_KEYS`, and lists of names for `COLUMN_KEYS`,
        are single values. A list of lists contains a list for each job.

    Raises
    ------
    UserError
        A value cannot be written in a configuration.

    Examples
    --------
    >>> make_words({"learner": "knn", "learner__n_neighbors": 3, "evaluation": {"folds": 5}})
    ['learner=knn', 'learner.n_neighbors=3', 'evaluation.folds=5']
    >>> make_words({"learner": ["knn", "svm"], "seed": range(3)}, is_sweep=True)
    ['learner=knn,svm', 'seed=0,1,2']
    """
    words: list[str] = []
    for name, value in values.items():
        key = name.replace(NESTING, ".")
        if key in options.GROUPS and isinstance(value, Mapping):
            nested = {f"{key}.{child}": each for child, each in value.items()}
            words += make_words(nested, is_sweep)
        else:
            words.append(f"{key}={_write_value(key, value, is_sweep)}")
    return words


def _write_value(key: str, value: Any, is_sweep: bool) -> str:
    is_swept = is_sweep and key.split(".")[0] not in UNSWEPT_KEYS
    if not (is_swept and _is_list(value)):
        return _write_one(key, value)
    if key in COLUMN_KEYS and all(isinstance(item, str) for item in value):
        return _write_one(key, value)
    items = list(value)
    if not items:
        raise UserError(f"{key}=[] is empty; give a list with a value for each job.")
    return ",".join(_write_one(key, item) for item in items)


def _write_one(key: str, value: Any) -> str:
    """Return one value in Hydra's grammar."""
    if key in options.GROUPS and isinstance(value, str):
        return value
    return override_text(_to_plain(key, value))


def _to_plain(key: str, value: Any) -> Any:
    """Convert a value to a type supported by YAML."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(child): _to_plain(key, each) for child, each in value.items()}
    if _is_list(value):
        return [_to_plain(key, each) for each in value]
    raise UserError(
        f"{key} was given a value of type {type(value).__name__}; give the name of an option, a number, a string, "
        f"or a list or mapping of these. For a user-defined class, set {key.split('.')[0]}._target_ and "
        "trust=[PACKAGE]."
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | range | np.ndarray)


def find_source(folder: str | os.PathLike[str] | None) -> engine.ConfigSource:
    """Return the configuration files for a call, with a folder of user-defined options."""
    if folder is None:
        return engine.SHIPPED_FILES
    return engine.ConfigSource(folder=str(wording.expand_home(folder).absolute()))


def write_command(words: Sequence[str], source: engine.ConfigSource, *flags: str) -> str:
    """Return the command that is equivalent to a call."""
    folder = () if source.folder is None else (CONFIG_FLAG, source.folder)
    return shlex.join(["bakeoff", *folder, *flags, *words])


ONE_CALL = RLock()
"""Hydra, MLflow's settings and Python's warnings are global to the process, so calls wait for one another."""


@contextmanager
def own_process_state() -> Iterator[None]:
    """Run a block under the conditions of the command line, and restore the state of the calling process.

    Environment variables, the module search path and Hydra's objects are always restored. Blocks in other threads wait.
    """
    with ONE_CALL, _same_environment(), _search_current_folder(), compose_job.own_hydra_state():
        yield


@contextmanager
def _same_environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _search_current_folder() -> Iterator[None]:
    """Let trusted packages be found in the current folder, as the command line does."""
    UserModuleFinder(os.getcwd()).install()
    try:
        yield
    finally:
        remove_finders()


class BakeoffWarning(UserWarning):
    """A possible reason for wrong numbers, such as omitted data, leaks, or warnings of a learner."""


def warn_of(notes: Iterable[str]) -> None:
    """Issue each note as a warning located at the line that called the bakeoff function calling this one."""
    for note in notes:
        warnings.warn(note, BakeoffWarning, stacklevel=3)


def show_html(headline: str, tables: Iterable[pd.DataFrame], notes: Iterable[str]) -> str:
    """Return a result as an HTML fragment, for notebooks."""
    shown = [table.to_html(float_format="{:.4f}".format) for table in tables]
    listed = [f"<li>{escape(note)}</li>" for note in notes]
    return "\n".join([f"<p><b>{escape(headline)}</b></p>", *shown, "<ul>", *listed, "</ul>"])


FRAMES_FOLDER = Path("outputs") / "frames"
DIGEST_BYTES = 8
DEFAULT_NAME = "frame"
REJECTED_CHARACTERS = "/\\*?[]:\"'"


def describe_data(
    dataset: Any, target: str | None, name: str | None, *, is_sweep: bool = False
) -> tuple[list[str], list[str]]:
    """Return the words that specify the data of a call, and notes on the data; tables are written to files first.

    Parameters
    ----------
    dataset : str, path, table, or None
        The dataset. In a sweep, also a list of option names, or a mapping of names to tables and files.
    target : str or None
        A column of the tables, or the transformation option if the dataset is an option, as on the command line.
    name : str or None
        The name of the dataset if it is a table.
    is_sweep : bool

    Raises
    ------
    UserError
        The data are not a table or cannot be written.
    """
    names = list(dataset) if is_sweep and isinstance(dataset, list | tuple) else [dataset]
    if all(item is None or isinstance(item, str) for item in names):
        words = [f"dataset={','.join(names)}"] if dataset is not None else []
        return words + ([] if target is None else [f"target={target}"]), []
    tables = dataset if is_sweep and isinstance(dataset, Mapping) else {name or DEFAULT_NAME: dataset}
    paths = []
    notes: dict[str, None] = {}
    for each, table in tables.items():
        if isinstance(table, os.PathLike):
            paths.append(os.fspath(table))
            continue
        path, own_notes = write_frame(table, str(each))
        paths.append(str(path))
        notes |= dict.fromkeys(own_notes)
    words = ["dataset=file", f"dataset.path={','.join(map(override_text, paths))}"]
    return words + ([] if target is None else [f"dataset.target={override_text(target)}"]), list(notes)


def write_frame(table: Any, name: str, folder: Path = FRAMES_FOLDER) -> tuple[Path, tuple[str, ...]]:
    """Write a table as a Parquet file, and return its path and notes on content that the file lacks.

    Parameters
    ----------
    table : DataFrame of shape (n, d), or a table of Arrow or polars
        The table, which is not modified.
    name : str
        The name of the dataset.
    folder : Path
        The parent folder: the file is ``<folder>/<digest>/<name>.parquet``, so equal tables have the same path.

    Raises
    ------
    UserError
        The data are not a table, have no rows or have duplicate column names, or the folder cannot be written.
    """
    if not name.strip(" .") or set(name) & set(REJECTED_CHARACTERS):
        raise UserError(
            f"dataset_name={name!r} must be a string without the characters {' '.join(REJECTED_CHARACTERS)}"
        )
    raw = read_frame(table, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".writing-") as temporary:
            written = Path(temporary) / f"{name}.parquet"
            raw.frame.to_parquet(written, index=False)
            with written.open("rb") as stream:
                digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).hexdigest()
            path = folder / digest / written.name
            path.parent.mkdir(exist_ok=True)
            os.replace(written, path)
    except OSError as error:
        raise UserError(f"the table cannot be written to {folder}: {error}") from error
    return path, tuple(raw.notes)
