"""Rendering a template with the style sheet and the script that all pages share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MAX_INLINE_COLUMNS = 6
"""In wider tables, notes stand below what they belong to."""
NO_FILTERS: Mapping[str, Callable[[Any], str]] = {}


def render_template(
    file: Path, values: Mapping[str, Any], filters: Mapping[str, Callable[[Any], str]] = NO_FILTERS
) -> str:
    """Return a page: a template of Jinja, filled with values.

    Parameters
    ----------
    file : Path
        The template; it may insert ``style`` and ``script``, use the filters ``breakable`` and ``typeset``, and
        import the macro ``table`` of ``table.html``, which shows a `Table`.
    values : mapping of str to object
    filters : mapping of str to callable
        Further filters.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([file.parent, FOLDER]),
        # Names of users may hold any letters; nothing but what a template declares safe is inserted as it is.
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"breakable": make_breakable, "typeset": typeset}
    environment.globals["max_inline_columns"] = MAX_INLINE_COLUMNS
    environment.filters |= dict(filters)
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    script = (FOLDER / "sort.js").read_text(encoding="utf-8")
    return environment.get_template(file.name).render(style=style, script=script, **values)


def make_breakable(text: str) -> Any:
    """Return an escaped text that browsers may break after `_`, `=` and `/`, since names may be long."""
    from markupsafe import Markup, escape

    pieces = re.split(r"(?<=[_=/])(?=\w)", text)
    # Each piece is escaped, so that the joined text holds no markup but the breaks.
    return Markup("<wbr>").join(escape(piece) for piece in pieces)


def typeset(number: str) -> str:
    """Return a number as text, with the sign of a minus for its hyphens.

    Examples
    --------
    >>> typeset("-0.5000")
    '−0.5000'
    """
    return number.replace("-", "−")
