"""The arguments of verbs: positional words, and values as ``key=value`` like everywhere else."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.paths import expand_home

MULTIRUN_FLAGS = ("-m", "--multirun")


def parse_arguments(
    verb: str, words: Sequence[str], positions: Sequence[str], keys: Sequence[str], rest: str = ""
) -> tuple[list[str], dict[str, str]]:
    """Split the words of a verb into positional arguments and values by key.

    Parameters
    ----------
    verb : str
        Begins each error message.
    words : sequence of str
    positions : sequence of str
        Names of the required arguments, in order.
    keys : sequence of str
        Names of the optional arguments.
    rest : str
        The name of further positional arguments, of which there may be any number; empty if there may be none.

    Raises
    ------
    UserError
        There are too few or too many positional arguments, or a key is unknown or given twice.

    Examples
    --------
    >>> parse_arguments("predict", ["a1", "x.csv", "output=y.csv"], ["MODEL", "FILE"], ["output"])
    (['a1', 'x.csv'], {'output': 'y.csv'})
    """
    for word in words:
        if word.startswith("--"):
            key = word.removeprefix("--").partition("=")[0].replace("-", "_")
            cure = f"write {key}=VALUE" if key in keys else f"its keys are written as KEY=VALUE: {', '.join(keys)}"
            raise UserError(f"{verb}: {word} is not an option of this verb; {cure}.")
    pairs = [word for word in words if "=" in word and not names_file(word, keys)]
    arguments = [word for word in words if word not in pairs]
    reject_repeated_keys(verb, pairs)
    values = dict(word.split("=", 1) for word in pairs)
    for key in values:
        if key not in keys:
            raise UserError(f"{verb}: {key} is not a key. {did_you_mean(key, keys)}")
    has_right_number = len(arguments) == len(positions) or (rest and len(arguments) > len(positions))
    if not has_right_number:
        optional = [f"[{rest} ...]"] if rest else []
        usage = " ".join([*positions, *optional, *(f"[{key}=...]" for key in keys)])
        were_given = "1 argument was given" if len(arguments) == 1 else f"{len(arguments)} arguments were given"
        raise UserError(f"{verb}: {were_given}; usage: bakeoff {verb} {usage}")
    return arguments, values


def names_file(word: str, keys: Sequence[str]) -> bool:
    """Return whether a word is the path of a file or folder with ``=`` in its name, and not a value of a key."""
    is_pair = word.partition("=")[0] in keys
    return "=" in word and not is_pair and expand_home(word).exists()


def reject_repeated_keys(verb: str, pairs: Sequence[str]) -> None:
    """Reject several values of one key, of which all but the last one would be lost.

    Parameters
    ----------
    verb : str
        Begins the error message.
    pairs : sequence of str
        ``KEY=VALUE``.

    Raises
    ------
    UserError
    """
    given: dict[str, str] = {}
    for pair in pairs:
        key = pair.partition("=")[0]
        if given.setdefault(key, pair) != pair:
            raise UserError(f"{verb}: {key} is given twice, as {given[key]} and {pair}; give one of them.")


def read_list(text: str) -> list[str]:
    """Return the items of a list such as ``[age,sex]``, without quotation marks around them.

    Examples
    --------
    >>> read_list("[age, 'body mass']"), read_list("age"), read_list("")
    (['age', 'body mass'], ['age'], [])
    """
    items = [item.strip() for item in text.strip().removeprefix("[").removesuffix("]").split(",")]
    return [item.strip("'\"") for item in items if item]
