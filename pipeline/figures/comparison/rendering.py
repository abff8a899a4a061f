"""Figures as SVG, which stands inside an HTML page or in a file of its own.

Equal figures give equal bytes: there is no date, no version and no random id in them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any, ParamSpec

from bakeoff.pipeline.figures.drawing.panels import RC_PARAMS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: Any = RC_PARAMS | {
    # Text stays text: it can be searched, and the file is several times smaller.
    "svg.fonttype": "none",
    "svg.hashsalt": "bakeoff",
}
"""Matplotlib's settings while a figure of a comparison is drawn and rendered."""
FONTS = "'DejaVu Sans', Verdana, sans-serif"
"""Fonts of SVG: panels are laid out for the first; the second is as wide, and others are narrower: nothing is cut."""
NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}
MAX_NAME_LETTERS = 28
MAX_NAME_LINES = 3
Parameters = ParamSpec("Parameters")


@contextmanager
def _styled() -> Iterator[None]:
    """Draw with `STYLE`, without warnings about letters that the font lacks: browsers take them from another font."""
    from matplotlib import rc_context

    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def in_style(draw: Callable[Parameters, Figure]) -> Callable[Parameters, Figure]:
    """Decorate a function that draws, so that it draws with `STYLE`."""

    @wraps(draw)
    def draw_in_style(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Figure:
        with _styled():
            return draw(*args, **kwargs)

    return draw_in_style


def render_svg(figure: Figure, name: str, description: str) -> str:
    """Return a figure as an SVG element, to be put into a page or into a file.

    Parameters
    ----------
    figure : Figure
    name : str
        The ids of the element begin with it, so that several figures can stand in one page.
    description : str
        What the figure shows, for readers who do not see it.
    """
    file = BytesIO()
    with _styled():
        figure.savefig(file, format="svg", metadata=NO_METADATA)
    element = file.getvalue().decode()
    # An XML declaration and a document type may stand in a file, but not inside a page.
    element = element[element.index("<svg") :]
    element = re.sub(r"<!--.*?-->\s*", "", element, flags=re.DOTALL)
    element = re.sub(r"<metadata>.*?</metadata>\s*", "", element, flags=re.DOTALL)
    element = _move_styles(element)
    element = _rename_ids(element, name)
    label = escape(description, quote=True)
    return element.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).rstrip() + "\n"


def _move_styles(element: str) -> str:
    """Replace the style sheet of an SVG element, which would hold for the whole page, and fonts by a style of it."""
    sheet = re.compile(r"<style[^>]*>\*\{(.*?)\}</style>")
    rules = sheet.search(element)
    style = f"font-family: {FONTS}" + (f"; {rules.group(1)}" if rules is not None else "")
    element = sheet.sub("", element)
    element = re.sub(r'(<text style="[^"]*?)font-family: [^;"]*(; )?', r"\1", element)
    element = re.sub(r' transform="rotate\(-?0 [^"]*"', "", element)
    return element.replace("<svg", f'<svg style="{style}"', 1)


def _rename_ids(element: str, name: str) -> str:
    """Put a name before the ids that are referred to, and remove the others.

    Examples
    --------
    >>> _rename_ids('<path id="a"/><use href="#a"/><g id="b"/>', "ranks")
    '<path id="ranks-a"/><use href="#ranks-a"/><g/>'
    """
    referred = {*re.findall(r'href="#([^"]+)"', element), *re.findall(r"url\(#([^)]+)\)", element)}

    def rename(found: re.Match[str]) -> str:
        return f' id="{name}-{found.group(1)}"' if found.group(1) in referred else ""

    element = re.sub(r' id="([^"]+)"', rename, element)
    element = element.replace('href="#', f'href="#{name}-')
    return element.replace("url(#", f"url(#{name}-")


def wrap_name(name: str, letters: int = MAX_NAME_LETTERS, lines: int = MAX_NAME_LINES) -> str:
    r"""Return a name in lines of at most so many letters, broken at spaces, else after `_`, `=`, `/` or `,`.

    A name that needs more lines ends in an ellipsis.

    Examples
    --------
    >>> wrap_name("knn n_neighbors=15 weights=distance", 16)
    'knn\nn_neighbors=15\nweights=distance'
    >>> wrap_name("sklearn_hist_gradient_boosting", 12, 2)
    'sklearn_\nhist_ gradi…'
    """
    wrapped = [""]
    for word in name.split():
        if wrapped[-1] and len(f"{wrapped[-1]} {word}") <= letters:
            wrapped[-1] += f" {word}"
        else:
            wrapped += _break_word(word, letters)
    wrapped = [line for line in wrapped if line]
    kept = wrapped[:lines]
    if len(wrapped) > lines:
        rest = " ".join(wrapped[lines - 1 :])
        kept[-1] = rest[: letters - 1] + "…"
    return "\n".join(kept)


def _break_word(word: str, letters: int) -> list[str]:
    """Return the lines of a word; a piece without a place to break at is cut."""
    if len(word) <= letters:
        return [word]
    pieces = re.findall(rf"[^,_=/]{{1,{letters - 1}}}[,_=/]?|[,_=/]", word)
    broken = [""]
    for piece in pieces:
        if len(broken[-1] + piece) > letters:
            broken.append("")
        broken[-1] += piece
    return broken
