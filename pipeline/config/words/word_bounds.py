"""Words of a command line that Hydra's parser could not read in reasonable time, or at all."""

from __future__ import annotations

from collections.abc import Iterable

from bakeoff.pipeline.errors import UserError

MAX_WORD_CHARACTERS = 50_000
MAX_NESTED_BRACKETS = 50
"""Python's own stack ends the parser at some hundreds."""
SHOWN_CHARACTERS = 40


def require_bounded_words(words: Iterable[str]) -> None:
    """Reject a word that is very long or nested very deeply.

    Parameters
    ----------
    words : iterable of str

    Raises
    ------
    UserError

    Examples
    --------
    >>> require_bounded_words(["learner=knn", "space.n_neighbors=[1,3]"])
    >>> require_bounded_words(["figures=" + "[" * 60])
    Traceback (most recent call last):
    bakeoff.pipeline.errors.UserError: figures has more than 50 brackets inside one another; write fewer.
    """
    for word in words:
        key = word.partition("=")[0][:SHOWN_CHARACTERS]
        if len(word) > MAX_WORD_CHARACTERS:
            raise UserError(
                f"{key} is given {len(word):,} characters, and a word may have {MAX_WORD_CHARACTERS:,}; write the "
                "value into a file conf/experiment/NAME.yaml, and choose experiment=NAME."
            )
        if _measure_nesting(word) > MAX_NESTED_BRACKETS:
            raise UserError(f"{key} has more than {MAX_NESTED_BRACKETS} brackets inside one another; write fewer.")


def _measure_nesting(word: str) -> int:
    """Return the largest number of brackets that are open at the same time."""
    depth = 0
    deepest = 0
    for letter in word:
        if letter in "[{(":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]})":
            depth -= 1
    return deepest
