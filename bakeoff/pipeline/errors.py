"""Errors that the user can fix: one or two sentences, printed without a traceback."""

import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from inspect import formatannotation
from textwrap import shorten
from types import NoneType
from typing import Any

from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import cut_middle, join_words, shorten_message

MAX_SEARCHED_LETTERS = 20_000
"""The letters of a message that are searched for secrets; the time grows with the number of secrets and of letters."""
STORE_THREAD = "call of the store"
"""The name of the threads in which the store is called; one that lives on when the command ends waits in vain."""
MIN_SIMILARITY = 0.6
"""The least similarity, from 0 to 1, of a word that `did_you_mean` suggests."""
TYPO = 0.9
"""The least similarity of a word that is misspelled."""
MAX_FAULTS = 5
MAX_FAULT_LETTERS = 110
"""The faults that one message describes, and the letters that each keeps."""


class UserError(Exception):
    """An error that the user can fix, found before anything ran.

    The message names the key, the value given, the values allowed and the remedy. Secrets in it are hidden, and a long
    message is shortened.
    """

    is_sentence = True

    def __init__(self, message: object = "") -> None:
        searched = cut_middle(str(message), MAX_SEARCHED_LETTERS)
        super().__init__(shorten_message(hide_secrets(searched)))


class UnknownKeys(UserError):
    """Keys that nothing takes, each with a sentence; of more than five, the number of the others is given.

    Parameters
    ----------
    *faults : str
        The sentences.
    """

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        shown = [shorten(fault, MAX_FAULT_LETTERS, placeholder=" …") for fault in faults[:MAX_FAULTS]]
        n_more = len(faults) - len(shown)
        rest = [f"{n_more} further keys are unknown."] if n_more else []
        super().__init__(" ".join([*shown, *rest]) if len(faults) > 1 else faults[0])


class MissingPackage(UserError):
    """An option needs a package that is not installed; the message names the extra that installs it."""


class StoreError(Exception):
    """The store of runs cannot be read or written, although it could be when the command started.

    The message names the store, the reason and the remedy; the exit code is 1.
    """

    is_sentence = True


class InvalidPredictions(UserError):
    """A fitted learner returns predictions that cannot be scored, such as a label that the dataset lacks."""


@contextmanager
def hiding_values(configuration: str) -> Iterator[None]:
    """Hide the values of variables in the errors of the user that the block raises.

    Parameters
    ----------
    configuration : str
        Refers to the variables.
    """
    try:
        yield
    except UserError as error:
        shown = hide_secrets(str(error), configuration)
        if shown == str(error):
            raise
        raise type(error)(shown) from None


@contextmanager
def placing_errors(place: str, kind: type[UserError] = UserError) -> Iterator[None]:
    """Put a verb, or a place such as a fold, before the messages of errors in the block, unless they begin with it.

    Parameters
    ----------
    place : str
    kind : type
        The errors.
    """
    try:
        yield
    except kind as error:
        if str(error).startswith((f"{place}: ", f"{place} ")):
            raise
        raise type(error)(f"{place}: {error}") from error


def write_install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra, inside and outside a checkout.

    Parameters
    ----------
    extra : str
        The name of an extra in pyproject.toml.

    Examples
    --------
    >>> write_install_command("arff")
    "pip install 'liac-arff<3,>=2.5'"
    """
    from importlib.metadata import requires  # slow, and rarely needed

    mark = re.compile(rf"extra == ['\"]{extra}['\"]")
    packages = [line.partition(";")[0].strip() for line in requires("bakeoff") or () if mark.search(line)]
    return shlex.join(["pip", "install", *packages])


def require_package(package: str, what: str, extra: str = "") -> None:
    """Reject what needs a package that is not installed; its extra has its name by default.

    Raises
    ------
    UserError
        It names the command that installs the package.

    Examples
    --------
    >>> require_package("numpy", "arithmetic")
    """
    if find_spec(package) is None:
        command = write_install_command(extra or package)
        raise UserError(f"{what} needs the package {package}, which is not installed: {command}.")


def did_you_mean(given: str, allowed: Iterable[str]) -> str:
    """Suggest the most similar allowed word, or list all of them but Python's own, such as ``__file__``.

    Parameters
    ----------
    given : str
        The word that is not allowed.
    allowed : iterable of str

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> did_you_mean("n_neighbours", ["n_neighbors", "weights"])
    "Did you mean 'n_neighbors'?"
    >>> did_you_mean("zzz", ["knn", "svm"])
    'Allowed: knn, svm.'
    """
    words = sorted({word for word in allowed if not word.startswith("__")})
    parts = _split_word(given)
    # roc_curve resembles regression_curves, but is another name of roc.
    related = [word for word in words if _split_word(word) <= parts or parts <= _split_word(word)]
    for candidates, cutoff in ((words, TYPO), (related, 0.0), (words, MIN_SIMILARITY)):
        if similar := get_close_matches(given.lower(), candidates, n=1, cutoff=cutoff):
            return f"Did you mean {similar[0]!r}?"
    return f"Allowed: {', '.join(words) or 'nothing'}."


def _split_word(word: str) -> set[str]:
    """Return the parts of a name, such as roc and curve."""
    return set(re.split(r"[\W_]+", word.lower()))


KINDS: dict[str, tuple[set[type], str]] = {
    "bool": ({bool}, "true or false"),
    "int": ({int}, "a whole number"),
    "float": ({int, float}, "a number"),
    "str": ({str, int, float, bool}, "a single value"),
    "Sequence": ({list, tuple}, "a list ({key}=[{value}])"),
    "Mapping": ({dict}, "a mapping ({key}={{NAME: {value}}})"),
    "None": ({NoneType}, "null"),
}
"""The name of a type in an annotation -> the types of its values in YAML, and what they are called."""
ARGUMENTS = re.compile(r"[\w.]+\.|\[.*?\](?= \||$)")
"""The module of a type, and the types in it, such as ``[str]``."""


def is_whole(value: Any, least: int) -> bool:
    """Return whether a value is an integer of at least `least`; Booleans, which are integers in Python, are not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def require_folds(key: str, folds: Any, verb: str) -> None:
    """Raise UserError unless there are at least 2 inner folds, or 0, which means that the validation part is used."""
    if not is_whole(folds, 0) or folds == 1:
        raise UserError(f"{key}={folds!r} must be 0 ({verb} on the validation part) or an integer of at least 2.")


def require_kind(key: str, value: Any, annotation: Any) -> None:
    """Reject a value of the configuration that is of no type in the annotation of its parameter.

    Text would be treated as true, and as a list of letters.

    Parameters
    ----------
    key : str
    value : object
        A part of the configuration that is not built yet.
    annotation : object
        That of the parameter: a class, another type, or text; unknown types allow any value.

    Raises
    ------
    UserError
    """
    names = ARGUMENTS.sub("", formatannotation(annotation).strip("'")).split(" | ")
    if not KINDS.keys() >= {*names} or any(type(value) in KINDS[name][0] for name in names):
        return
    item = "VALUE" if isinstance(value, list | dict | None) else value
    allowed = join_words([KINDS[name][1].format(key=key, value=item) for name in names], "or")
    if value is None:
        raise UserError(f"{key}=null must be {allowed}; give one, or leave the key out.")
    raise UserError(f"{key}={value!r} must be {allowed}.")


def first_line(error: object) -> str:
    """Return the first line of the message of an error; empty if there is no message."""
    return str(error).strip().partition("\n")[0]


def name_error(error: BaseException) -> str:
    """Return the type of an error and the first line of its message, without its full stop."""
    return f"{type(error).__name__}: {first_line(error).rstrip('.')}"
