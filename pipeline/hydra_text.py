"""Text as a value of Hydra's grammar, for words that bakeoff composes or prints."""

from __future__ import annotations

import re

OPENING = "${"
INTERPOLATION = re.compile(r"(\\*)\$\{")
"""The beginning of an interpolation, and the backslashes before it, which would escape it."""
QUOTE = re.compile(r"(\\*)('|\Z)")
"""A quotation mark or the end, and the backslashes before it, which Hydra would take for escapes."""


def escape_text(text: str) -> str:
    r"""Return a text that OmegaConf resolves to the text that is given.

    Examples
    --------
    >>> print(escape_text("${x}/a.csv"))
    \${x}/a.csv
    """
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
