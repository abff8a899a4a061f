"""Arguments of the verbs: positions first, then ``key=value`` as everywhere else."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.errors import UserError, did_you_mean


def parse(
    verb: str, words: Sequence[str], positions: Sequence[str], keys: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """Split words into the named positions and values by key.

    Parameters
    ----------
    verb : str
        For messages.
    words : sequence of str
    positions : sequence of str
        What must be given, in order.
    keys : sequence of str
        What may be given as ``key=value``.

    Raises
    ------
    UserError
        Too few or too many positions, or an unknown key.

    Examples
    --------
    >>> parse("predict", ["a1", "x.csv", "output=y.csv"], ["RUN", "FILE"], ["output"])
    (['a1', 'x.csv'], {'output': 'y.csv'})
    """
    plain = [word for word in words if "=" not in word]
    values = dict(word.split("=", 1) for word in words if "=" in word)
    for key in values:
        if key not in keys:
            raise UserError(f"{verb}: {key} is not a key. {did_you_mean(key, keys)}")
    if len(plain) != len(positions):
        usage = " ".join([*positions, *(f"[{key}=...]" for key in keys)])
        raise UserError(f"{verb}: {len(plain)} arguments were given; the form is: bakeoff {verb} {usage}")
    return plain, values
