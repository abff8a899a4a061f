"""The arguments of verbs: positional words, and values as ``key=value`` like everywhere else."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.errors import UserError, did_you_mean

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
        There are too few or too many positional arguments, or a key is unknown.

    Examples
    --------
    >>> parse_arguments("predict", ["a1", "x.csv", "output=y.csv"], ["RUN", "FILE"], ["output"])
    (['a1', 'x.csv'], {'output': 'y.csv'})
    """
    arguments = [word for word in words if "=" not in word]
    values = dict(word.split("=", 1) for word in words if "=" in word)
    for key in values:
        if key not in keys:
            raise UserError(f"{verb}: {key} is not a key. {did_you_mean(key, keys)}")
    has_right_number = len(arguments) == len(positions) or (rest and len(arguments) > len(positions))
    if not has_right_number:
        optional = [f"[{rest} ...]"] if rest else []
        usage = " ".join([*positions, *optional, *(f"[{key}=...]" for key in keys)])
        raise UserError(f"{verb}: {len(arguments)} arguments were given; usage: bakeoff {verb} {usage}")
    return arguments, values
