"""The words that mean true or false, which are the same wherever a value is one or the other.

YAML 1.1 reads ``no`` as false in a file; on the command line it is a text, which Python would take for true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.pipeline.errors import UserError

WORDS: Mapping[str, bool] = {
    "true": True, "yes": True, "on": True, "y": True, "1": True,
    "false": False, "no": False, "off": False, "n": False, "0": False,
}  # fmt: skip
"""What a text in lower case means."""


def read_boolean(key: str, value: Any) -> bool:
    """Return the Boolean that a value means.

    Parameters
    ----------
    key : str
        For the message.
    value : object
        A Boolean, 0 or 1, or one of the words.

    Raises
    ------
    UserError

    Examples
    --------
    >>> [read_boolean("resume", value) for value in (True, "no", "OFF", 1)]
    [True, False, False, True]
    """
    if isinstance(value, bool):
        return value
    is_number = isinstance(value, int) and value in (0, 1)
    word = str(value).strip().lower() if is_number or isinstance(value, str) else ""
    if word in WORDS:
        return WORDS[word]
    shown = "null" if value is None else repr(value)
    raise UserError(f"{key}={shown} must be true or false; yes, no, on, off, 1 and 0 are read as well.")
