"""Errors that the user can fix: one or two sentences, printed without a traceback."""

import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from bakeoff.pipeline.text.secrets import hide_secrets

STORE_THREAD = "call of the store"
"""The name of the threads in which the store is called; one that lives on when the command ends waits in vain."""
MIN_SIMILARITY = 0.6
"""The least similarity, from 0 to 1, of a word that `did_you_mean` suggests."""


class UserError(Exception):
    """An error that the user can fix, found before anything ran.

    The message names the key, the value given, the values allowed and the remedy. Secrets in it are hidden.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(hide_secrets(str(message)))


class MissingPackage(UserError):
    """An option needs a package that is not installed; the message names the extra that installs it."""


class StoreError(Exception):
    """The store of runs cannot be read or written, although it could be when the command started.

    The message names the store, the reason and the remedy; the exit code is 1.
    """

    is_sentence = True


class InvalidPredictions(UserError):
    """A fitted learner returns predictions that cannot be scored, such as a label that the dataset lacks."""

    @classmethod
    @contextmanager
    def placed(cls, place: str) -> Iterator[None]:
        """Put the place of the predictions, such as a fold, before the message of such an error in the block."""
        try:
            yield
        except InvalidPredictions as error:
            raise cls(f"{place}: {error}") from error


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
def placing_errors(verb: str) -> Iterator[None]:
    """Put a verb before the messages of errors of the user in the block, unless they begin with it.

    Parameters
    ----------
    verb : str
    """
    try:
        yield
    except UserError as error:
        if str(error).startswith((f"{verb}: ", f"{verb} ")):
            raise
        raise type(error)(f"{verb}: {error}") from error


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
    similar = get_close_matches(given, words, n=1, cutoff=MIN_SIMILARITY)
    if similar:
        return f"Did you mean {similar[0]!r}?"
    return f"Allowed: {', '.join(words) or 'nothing'}."
