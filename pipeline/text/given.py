"""Texts as users write them: paths, and values of Hydra's grammar for words that bakeoff composes or prints."""

from __future__ import annotations

import os
import re
from pathlib import Path

OPENING = "${"
INTERPOLATION = re.compile(r"(\\*)\$\{")
"""The beginning of an interpolation, and the backslashes before it, which would escape it."""
MISSING_VALUE = "???"
"""OmegaConf's sign of a value that must be given."""
QUOTE = re.compile(r"(\\*)('|\Z)")
"""A quotation mark or the end, and the backslashes before it, which Hydra would take for escapes."""


def escape_text(text: str) -> str:
    r"""Return a text that OmegaConf resolves to the text that is given.

    Examples
    --------
    >>> print(escape_text("${x}/a.csv"))
    \${x}/a.csv
    >>> print(escape_text("???"))
    ${oc.decode:???}
    """
    if text == MISSING_VALUE:
        return f"${{oc.decode:{text}}}"  # no escape makes it text, but a resolver may return it
    return INTERPOLATION.sub(lambda found: f"{2 * found.group(1)}\\{OPENING}", text)


def quote_text(text: str) -> str:
    r"""Return a text as a quoted value, whatever signs it holds.

    Examples
    --------
    >>> print(quote_text("it's"), quote_text(r"a\b"), quote_text("${x}"))
    'it\'s' 'a\b' '\${x}'
    """
    escaped = QUOTE.sub(lambda found: 2 * found.group(1) + ("\\'" if found.group(2) else ""), escape_text(text))
    return f"'{escaped}'"


def expand_home(given: str | os.PathLike[str]) -> Path:
    """Return a path in which ``~`` and ``~USER`` at the front are home folders, as in a shell.

    A name such as ``~data`` stays if there is no user ``data``, for which ``Path.expanduser`` would raise RuntimeError.

    Examples
    --------
    >>> expand_home("~no_such_user/a.csv")
    PosixPath('~no_such_user/a.csv')
    """
    return Path(os.path.expanduser(given))
