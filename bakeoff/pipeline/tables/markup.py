"""Tables and text as Markdown, as LaTeX, and in HTML pages."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bakeoff.pipeline.tables.table import NUMBER, Cell, Table
from bakeoff.pipeline.text import wording

MARKDOWN_SIGNS = re.compile(r"([\\`*#|~]|(?<!\w)_|_(?!\w)|\](?=[(:\[]))")
"""Characters that Markdown interprets; an underscore within a word is not one, and a bracket may begin an interval."""


def render_markdown(table: Table) -> list[str]:
    """Return the lines of a table without its title and footnote."""
    rules = ["---:" if column.kind == NUMBER else "---" for column in table.columns]
    rows = [_join_markdown(map(_write_markdown_cell, row)) for row in (table.columns, *table.rows)]
    return [rows[0], _join_markdown(rules), *rows[1:]]


def render_section(table: Table) -> Iterator[str]:
    """Yield the lines of a table, with its title as a heading and its footnote."""
    yield from (f"## {escape_markdown(table.title)}", "", *render_markdown(table), "")
    if table.footnote:
        yield from (escape_markdown(table.footnote), "")


def escape_markdown(text: str) -> str:
    r"""Return a single-line text that Markdown displays unchanged.

    Examples
    --------
    >>> print(escape_markdown("a_b < c* _d [0, 1] [x](y) &lt;"))
    a_b &lt; c\* \_d [0, 1] [x\](y) &amp;lt;
    """
    escaped = MARKDOWN_SIGNS.sub(r"\\\1", " ".join(text.split()))
    return re.sub(r"&(?=#?\w+;)", "&amp;", escaped).replace("<", "&lt;").replace(">", "&gt;")


def _write_markdown_cell(cell: Cell) -> str:
    escaped = escape_markdown(cell.line)
    return f"**{escaped}**" if cell.is_best else escaped


def _join_markdown(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"$\sim$",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\N{NO-BREAK SPACE}": "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    "µ": r"$\mu$",
    "±": r"$\pm$",
    "–": r"--",
    "−": r"$-$",
    "α": r"$\alpha$",
    "Δ": r"$\Delta$",
    "χ": r"$\chi$",
    "²": r"\textsuperscript{2}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "…": r"\dots{}",
    "×": r"$\times$",
    "•": r"$\bullet$",
}
"""Characters that LaTeX interprets or that its default fonts lack."""
MAX_PAGE_ROWS = 50
"""The maximum number of rows of a table that fits a page."""


def render_latex(table: Table, caption: str) -> list[str]:
    """Return the lines of a table with a caption above and its footnote below it.

    A document needs the package booktabs, and longtable for more than `MAX_PAGE_ROWS` rows, which take several pages.
    """
    sides = "".join("r" if column.kind == NUMBER else "l" for column in table.columns)
    rows = [_join_latex(map(_write_latex_cell, row)) for row in table.rows]
    label = re.sub(r"\W+", "-", table.title, flags=re.ASCII).strip("-")
    title = rf"\caption{{{escape_latex(caption)}}}\label{{tab:{label}}}"
    head = [r"\toprule", _join_latex(map(_write_latex_cell, table.columns)), r"\midrule"]
    is_long = len(rows) > MAX_PAGE_ROWS
    frame, grid = ("center", "longtable") if is_long else ("table", "tabular")
    opening = rf"\begin{{{grid}}}{{@{{}}{sides}@{{}}}}"
    beginning = [title, r"\smallskip", opening, *head]
    if is_long:
        # The caption is on the first page, and the head on each.
        beginning = [r"\setlength{\LTcapwidth}{\textwidth}", opening, rf"{title}\\", *head, r"\endfirsthead"]
        beginning += [*head, r"\endhead"]
    size = r"\centering\footnotesize\setlength{\tabcolsep}{3.5pt}"
    note = [rf"\par\smallskip {escape_latex(table.footnote)}"] if table.footnote else []
    ending = [r"\bottomrule", rf"\end{{{grid}}}", *note, rf"\end{{{frame}}}"]
    return ["", rf"\begin{{{frame}}}", size, *beginning, *rows, *ending]


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX prints unchanged.

    Examples
    --------
    >>> escape_latex("50 % of a_b")
    '50 \\% of a\\_b'
    """
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in " ".join(text.split()))


def _write_latex_cell(cell: Cell) -> str:
    escaped = escape_latex(cell.text)
    # A hyphen before a digit is a minus sign.
    number = f"$-${escaped[1:]}" if cell.kind == NUMBER and escaped.startswith("-") else escaped
    shown = rf"\textbf{{{number}}}" if cell.is_best else number
    note = rf"\,{escape_latex(cell.note)}" if cell.note else ""
    # Without a width, a mark does not move the digits above and below it.
    return shown + note + (rf"\rlap{{\textsuperscript{{{escape_latex(cell.mark)}}}}}" if cell.mark else "")


def _join_latex(cells: Iterable[str]) -> str:
    row = " & ".join(cells)
    # After the end of a row, LaTeX interprets a bracket or a star as an argument.
    shield = "{}" if row.startswith(("[", "*")) else ""
    return rf"{shield}{row} \\"


FOLDER = Path(__file__).parent
MAX_INLINE_COLUMNS = 6
"""The maximum number of columns with notes next to their cells; in wider tables, notes are below them."""
NO_FILTERS: Mapping[str, Callable[[Any], str]] = {}


def render_template(
    file: Path, values: Mapping[str, Any], filters: Mapping[str, Callable[[Any], str]] = NO_FILTERS
) -> str:
    """Return a page rendered from a Jinja template.

    Parameters
    ----------
    file : Path
        The template, which extends ``base.html``, and may use the filters ``breakable`` and ``typeset``, and
        import the macro ``table`` of ``table.html``, which renders a `Table`.
    values : mapping of str to object
    filters : mapping of str to callable
        Further filters.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([file.parent, FOLDER]),
        # User-defined names may contain any characters; only values that a template declares safe are inserted
        # unescaped.
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


def render_plain(file: Path, values: Mapping[str, Any]) -> str:
    """Return a text rendered from a Jinja template, without any escapes; its filters are the functions of `wording`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(file.parent)
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= vars(wording)
    return environment.get_template(file.name).render(values)


def make_breakable(text: str) -> Any:
    """Return an escaped text that browsers may break after `_`, `=` and `/`, because names may be long."""
    from markupsafe import Markup, escape

    pieces = re.split(r"(?<=[_=/])(?=\w)", text)
    # Each piece is escaped, so the joined text contains no markup except the breaks.
    return Markup("<wbr>").join(escape(piece) for piece in pieces)


def typeset(number: str) -> str:
    """Return a number as text, with minus signs instead of hyphens.

    Examples
    --------
    >>> typeset("-0.5000")
    '−0.5000'
    """
    return number.replace("-", "−")
