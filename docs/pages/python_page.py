"""The page on the Python interface: what ``import bakeoff`` offers, by its docstrings."""

from __future__ import annotations

from class_sections import format_class
from markdown_text import join_parts

import bakeoff


def has_python_interface() -> bool:
    """Return whether the package exports anything besides its version."""
    return bool(_list_names())


def make_python_page() -> str:
    """Return the page as Markdown."""
    return join_parts(
        [
            "# Python",
            "What `import bakeoff` offers.",
            *(format_class(f"bakeoff.{name}", level=2) for name in _list_names()),
        ]
    )


def _list_names() -> list[str]:
    return [name for name in getattr(bakeoff, "__all__", []) if not name.startswith("_")]
