"""What a person can mend: a refusal is one or two sentences, never a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """Something that the user can fix: the request cannot be carried out, and this was found before anything ran.

    The message names the key, what was given, what is allowed, and the cure.
    """


def did_you_mean(given: str, allowed: Iterable[str]) -> str:
    """Name the nearest allowed word, else list them all.

    Parameters
    ----------
    given : str
        What was typed.
    allowed : iterable of str
        What could have been.

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
    words = sorted(set(allowed))
    near = get_close_matches(given, words, n=1, cutoff=0.6)
    return f"Did you mean {near[0]!r}?" if near else f"Allowed: {', '.join(words) or 'nothing'}."
