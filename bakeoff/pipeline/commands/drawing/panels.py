"""The style of every figure: colours, panels, titles, legends, marks of classes, scores and columns, and SVG output.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish; classes also differ in the shape of
their markers. Equal figures produce identical SVG, because it contains no date or random id.
"""

import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from io import BytesIO
from textwrap import TextWrapper, fill
from typing import Any

import numpy as np
from cycler import cycler
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from bakeoff.pipeline.stages.dataset import Column
from bakeoff.pipeline.stages.dataset.clock import CLOCK
from bakeoff.pipeline.text.wording import MAX_SHORT, cut_text

CLASS_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#F0E442", "#999999")
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "<", ">")
TEXT_COLOUR = "#222222"
MUTED_COLOUR = "#6b6b6b"
GRID_COLOUR = "#e5e5e5"
LIGHT_INK, DARK_INK = "#fefefe", "#111111"
"""The colours of text on a coloured ground, which is the same on light and on dark pages."""
LUMINANCE_WEIGHTS = (0.2126, 0.7152, 0.0722)
MAX_DARK_LUMINANCE = 0.4
"""Text on a ground of at most this luminance is light."""
OTHER_COLOUR = "#b8b8b8"
"""The colour of bars and lines that are not the subject of the figure."""

FONT_POINTS = 9.5
NOTE_POINTS = 8.5
HEADING_POINTS = 11.5
NOTE_LINE_POINTS = 12
LETTERS_PER_INCH = 12.0
TITLE_LETTERS_PER_INCH = 9.0
NOTE_LETTERS_PER_INCH = 14.0
NAME_LETTERS_PER_INCH = 6.0
MARGIN_INCHES = 0.4
"""The room for numbers on the left of a panel."""
GAP_LETTERS = 4
DECIMAL_LETTERS = 3
"""The room after a tick, and for its decimals."""
MAX_TICKS = 9
HANDLE_LETTERS = 8
"""The width of a legend mark, in letters."""
NAME_LETTERS = 28
"""Longer names of classes, columns and values are truncated or broken into lines."""
PHONE_INCHES = 3.38
"""The width of a figure whose smallest text has 11 pixels on a page of 390 pixels."""
ROOM: ContextVar[float] = ContextVar("ROOM", default=math.inf)
"""The width in inches that a figure may have."""

STYLE: Any = {
    "font.family": "sans-serif",
    # Panels are laid out for the first font. The second is equally wide and the others are narrower, so nothing is cut
    # off.
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "font.size": FONT_POINTS,
    "text.color": TEXT_COLOUR,
    "axes.prop_cycle": cycler(color=CLASS_COLOURS),
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED_COLOUR,
    "axes.labelcolor": TEXT_COLOUR,
    "axes.axisbelow": True,
    # Numbers are written as in tables: without powers of ten, and without an offset.
    "axes.formatter.limits": (-5, 15),
    "axes.formatter.useoffset": False,
    "xtick.color": MUTED_COLOUR,
    "ytick.color": MUTED_COLOUR,
    "grid.color": GRID_COLOUR,
    "legend.frameon": False,
    # User-defined names may contain a dollar sign, which would otherwise begin a formula.
    "text.parse_math": False,
    # A file matplotlibrc in the current folder may ask for LaTeX, which would run for each text.
    "text.usetex": False,
    # Text remains text in SVG, so that it can be searched and the file is several times smaller.
    "svg.fonttype": "none",
}
"""Matplotlib's settings while a figure is drawn."""


@contextmanager
def in_style() -> Iterator[None]:
    """Draw in the common style, without warnings about letters missing from the font, which browsers replace."""
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


@contextmanager
def narrowed() -> Iterator[None]:
    """Draw figures for a phone, with fewer panels side by side and in narrower ones."""
    token = ROOM.set(PHONE_INCHES)
    try:
        yield
    finally:
        ROOM.reset(token)


def is_narrowed() -> bool:
    """Return whether a figure is drawn for a phone."""
    return ROOM.get() == PHONE_INCHES


def choose_ink(colour: Any) -> str:
    """Return the colour of text on a coloured ground.

    Examples
    --------
    >>> choose_ink("#0072B2"), choose_ink("#F0E442")
    ('#fefefe', '#111111')
    """
    luminance = np.dot(LUMINANCE_WEIGHTS, to_rgb(colour))
    return LIGHT_INK if luminance <= MAX_DARK_LUMINANCE else DARK_INK


def count_letters() -> int:
    """Return how many letters a line of a name may have that leaves room for the bars or the curve beside it."""
    return int(min(NAME_LETTERS, NAME_LETTERS_PER_INCH * ROOM.get()))


def make_panels(
    n: int = 1, max_columns: int = 4, *, width: float, height: float, frame: float = 0.0, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """Create a figure of panels, with as many rows as necessary.

    Parameters
    ----------
    n : int
        The number of panels.
    max_columns : int
        The maximum number of panels side by side.
    width, height : float
        The size in inches of one panel with its title and ticks, which is narrower if there is less room.
    frame : float
        The height in inches above and below all panels, for a heading and a legend.
    **shared
        ``sharex`` and ``sharey``, as in Matplotlib's ``subplots``.
    """
    room = ROOM.get()
    columns = int(max(1, min(n, max_columns, room / width)))
    width = min(width, room)
    rows = -(-n // columns)
    # A figure created without pyplot is in no global list and does not need to be closed.
    figure = Figure((width * columns, height * rows + frame), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))
    panels = figure.subplots(rows, columns, squeeze=False, **shared).ravel().tolist()
    for unused in panels[n:]:
        unused.remove()
    for axes in panels[:n]:
        axes.xaxis.set_major_locator(RoundNumbers(steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.isDefault_majloc = True
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(GroupedNumbers())
            # Categories and other scales replace a default.
            axis.isDefault_majfmt = True
    for axes in panels[:n][-columns:]:
        # A removed panel may have been the one below, with the numbers of a shared axis.
        axes.tick_params(labelbottom=True)
    return figure, panels[:n]


class RoundNumbers(MaxNLocator):
    """As many round numbers as there is room for beside each other on a horizontal axis."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the numbers in a range."""
        axes: Any = self.axis.axes  # type: ignore[union-attr]
        letters = LETTERS_PER_INCH * axes.bbox.width / axes.figure.dpi
        needed = len(f"{max(abs(vmin), abs(vmax)):,.0f}") + GAP_LETTERS
        if vmax - vmin < MAX_TICKS:
            needed += DECIMAL_LETTERS
        nbins = max(1, min(MAX_TICKS, int(letters / needed)))
        self.set_params(nbins=nbins, min_n_ticks=min(nbins, 2))
        return super().tick_values(vmin, vmax)


class GroupedNumbers(ScalarFormatter):
    """Numbers of ticks as in tables: with commas between thousands, from five digits on."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick."""
        whole, point, decimals = super().__call__(x, pos).partition(".")
        if abs(x) >= MAX_SHORT:
            whole = re.sub(r"(?<=\d)(?=(\d{3})+$)", ",", whole)
        return whole + point + decimals


def use_whole_ticks(axes: Axes) -> None:
    """Place ticks at whole numbers if the lines have no others on the horizontal axis."""
    places = np.concatenate([line.get_xdata(orig=False) for line in axes.lines])
    locator = axes.xaxis.get_major_locator()
    if isinstance(locator, MaxNLocator) and not np.mod(places, 1).any():
        locator.set_params(integer=True)


def label_axes(panels: Sequence[Axes], xlabel: str, ylabel: str) -> None:
    """Label the horizontal axes below the last panel of each column, and the vertical axes on the left."""
    columns = panels[0].get_gridspec().ncols  # type: ignore[union-attr]
    lines = wrap_name(xlabel, int(LETTERS_PER_INCH * _measure_panel(panels[0])))
    for axes in panels[-columns:]:
        axes.set_xlabel(lines)
    for axes in panels[::columns]:
        axes.set_ylabel(ylabel)


def _measure_panel(axes: Axes) -> float:
    """Return the width in inches of a panel without the numbers on its left."""
    return axes.figure.get_figwidth() / axes.get_gridspec().ncols - MARGIN_INCHES  # type: ignore[union-attr]


def add_heading(figure: Figure, text: str) -> None:
    """Write a heading above all panels."""
    lines = wrap_name(text, int(TITLE_LETTERS_PER_INCH * figure.get_figwidth()))
    figure.suptitle(lines, x=0.02, ha="left", fontweight="bold", color=TEXT_COLOUR, fontsize=HEADING_POINTS)


def add_title(axes: Axes, title: str, note: str = "") -> None:
    """Write a title above the axes, and a note of one or more smaller lines between the title and the axes.

    Parameters
    ----------
    axes : Axes
    title : str
        The title, which is broken into lines that fit the panel and truncated after the third.
    note : str
    """
    inches = _measure_panel(axes)
    if axes.get_gridspec().ncols == 1:  # type: ignore[union-attr]
        # The names on the left are beside the title.
        names = "\n".join(label.get_text() for label in axes.get_yticklabels())
        inches -= max(map(len, names.split("\n"))) / LETTERS_PER_INCH
    lines = wrap_name(title, int(TITLE_LETTERS_PER_INCH * inches))
    note = "\n".join(fill(line, int(NOTE_LETTERS_PER_INCH * inches)) for line in note.split("\n"))
    note_lines = note.count("\n") + 1 if note else 0
    axes.set_title(lines, loc="left", fontweight="bold", color=TEXT_COLOUR, pad=8 + NOTE_LINE_POINTS * note_lines)
    place: Any = {"xycoords": "axes fraction", "xytext": (0, 5), "textcoords": "offset points"}
    annotation = axes.annotate(note, (0, 1), **place, color=MUTED_COLOUR, fontsize=NOTE_POINTS)
    # A long note may extend into the next panel's margin, but must not make its own panel wider. The title above it
    # takes its room.
    annotation.set_in_layout(not title)


def add_legend(figure: Figure, title: str, marks: Mapping[str, Any]) -> None:
    """Add a legend below the panels, with its title above the marks, in as many lines as the marks need."""
    if not marks:
        return
    labels = [cut_text(label, NAME_LETTERS) for label in marks]
    room = figure.get_figwidth() * LETTERS_PER_INCH
    letters = max(map(len, labels)) + HANDLE_LETTERS
    columns = max(1, min(len(labels), int(room / letters)))
    place: Any = {"loc": "outside lower left", "ncols": columns, "alignment": "left"}
    heading = cut_text(title, int(room))
    figure.legend([*marks.values()], labels, title=heading, **place, columnspacing=1.4, handletextpad=0.5)


def collect_marks(panels: Sequence[Axes]) -> dict[str, Any]:
    """Return the marks of all panels by their labels, which are figure texts because Matplotlib drops "_name"."""
    marks: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        marks |= dict(zip(labels, handles, strict=True))
    return marks


def write_unit(columns: Sequence[Column], name: str) -> str:
    """Return the words that follow the name of a column whose numbers have a unit; empty for others.

    Examples
    --------
    >>> write_unit([Column("area", "numeric", "feature", "", unit="m²")], "area")
    ' in m²'
    """
    unit = next((column.unit for column in columns if column.name == name), "")
    return f" in {'hours' if unit == CLOCK else unit}" if unit else ""


BREAK = "\N{ZERO WIDTH SPACE}"
JOINT = re.compile(r"(?<=_)(?=\w)|(?<=[a-z])(?=[A-Z])")
"""Where a word may be broken that is longer than a line: after an underscore, and before a capital letter."""


class NameWrapper(TextWrapper):
    """Also breaks a line after `BREAK`."""

    wordsep_simple_re = re.compile(f"( +|(?<={BREAK}))")


def wrap_name(name: str, letters: int = NAME_LETTERS) -> str:
    r"""Return a name in at most three lines, the last of which ends in an ellipsis if the name is longer.

    Examples
    --------
    >>> wrap_name("knn n_neighbors=15 weights=distance", 16), wrap_name("decision_tree_regressor", 16)
    ('knn\nn_neighbors=15\nweights=distance', 'decision_tree_\nregressor')
    """
    breakable = re.sub(rf"\S{{{letters + 1},}}", lambda word: JOINT.sub(BREAK, word[0]), name)
    wrapper = NameWrapper(letters, max_lines=3, placeholder=" …", break_on_hyphens=False)
    return wrapper.fill(breakable).replace(BREAK, "")


NO_METADATA: Any = {"Creator": None, "Date": None, "Format": None, "Type": None}
PAGE_COLOURS = {
    "#222222": "ink",
    "#6b6b6b": "muted",
    "#e5e5e5": "grid",
    "#ffffff": "paper",
    "#0072b2": "first",
    "#b8b8b8": "other",
    "#d9d9d9": "other",
}
"""Figure colour -> the page style variable that replaces it, because readers choose a light or a dark page."""
STYLE_SHEET = re.compile(
    r'<svg(.*?) width="[\d.]+pt" height="[\d.]+pt"(.*?)<style type="text/css">\*\{(.*?)\}</style>', flags=re.DOTALL
)
"""The size of a picture, and its style sheet, which would apply to the whole page."""
ROW_NUMBER = re.compile(r' id="row:([\d ]+)"')
"""The numbers of rows of a page's tables, to which a part of a picture belongs."""
CLIPPED_MARK = re.compile(r'<g clip-path="[^"]+">\s*(<use [^>]+/>)\s*</g>')
"""A point, which is drawn whole at the edge of a panel."""
POSITION = re.compile(r' (?:d|x|y)="[^"]+"')
EXCESS_DIGITS = re.compile(r"(?<=\.\d\d)\d+")
LEFT_OUT = re.compile(r'<!--.*?-->\s*|<metadata>.*?</metadata>\s*| id="[\w.]+_\d{1,5}"', flags=re.DOTALL)
"""Comments, and group ids, which nothing refers to and which other pictures on the page also use."""


def render_svg(figure: Figure, name: str, description: str) -> str:
    """Return a figure as an SVG element to be inserted into a page, whose style sheet determines its size.

    Parameters
    ----------
    figure : Figure
    name : str
        The prefix of the ids in the element, which lets a page contain several figures.
    description : str
        A description of the figure for readers who cannot see it.
    """
    file = BytesIO()
    with in_style(), rc_context({"svg.hashsalt": name}):
        figure.savefig(file, format="svg", metadata=NO_METADATA)
    text = file.getvalue().decode()
    # An XML declaration and a document type are allowed in a file, but not inside a page.
    element = LEFT_OUT.sub("", text[text.index("<svg") :])
    element = ROW_NUMBER.sub(r' data-row="\1"', element)
    element = POSITION.sub(lambda found: EXCESS_DIGITS.sub("", found[0]), CLIPPED_MARK.sub(r"\1", element))
    element = STYLE_SHEET.sub(rf'<svg style="--inches: {figure.get_figwidth():.4g};\3"\1\2', element)
    for colour, variable in PAGE_COLOURS.items():
        element = element.replace(f": {colour}", f": var(--{variable}, {colour})")
    label = escape(description, quote=True)
    return element.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def render_for_page(wide: Figure, narrow: Figure, name: str, description: str) -> str:
    """Return a figure as two SVG elements, of which the style sheet shows one.

    Parameters
    ----------
    wide, narrow : Figure
        The figure as it is, and as drawn while `narrowed`.
    name, description : str
        As in `render_svg`.
    """
    elements = render_svg(wide, name, description), render_svg(narrow, f"{name}-narrow", description)
    return '<div class="on-wide">{}</div><div class="on-narrow">{}</div>'.format(*elements)


def render_pdf(figure: Figure) -> bytes:
    """Return a figure as a PDF file with embedded fonts and without a date, so that equal figures are equal files."""
    file = BytesIO()
    # Many publishers refuse the fonts of type 3 that Matplotlib embeds by default.
    with in_style(), rc_context({"pdf.fonttype": 42}):
        figure.savefig(file, format="pdf", metadata={"CreationDate": None, "Creator": "bakeoff", "Producer": None})
    return file.getvalue()


def fix_colours(element: str) -> str:
    r"""Return an SVG element as a file for programs other than browsers, which do not support variables.

    Examples
    --------
    >>> fix_colours('<path style="fill: var(--ink, #222222)"/>')
    '<?xml version="1.0" encoding="utf-8"?>\n<path style="fill: #222222"/>'
    """
    return '<?xml version="1.0" encoding="utf-8"?>\n' + re.sub(r"var\(--\w+, (#\w+)\)", r"\1", element)
